/** Markdown pages generated from the tables in src/rules, src/dialects and test/laws. */
import { ERROR_ADVICE } from '../console/reference/error-advice.ts';
import { ADMIN_SCHEMAS } from '../src/api/admin/index.ts';
import { type Bound, CHUNK_BOUNDS, CLIENT_BOUNDS, SERVER_BOUNDS } from '../src/platform/http/index.ts';
import {
  ADDED_OPTIONS,
  ADMIN_OPERATIONS,
  adminRow,
  type Cell,
  CONSOLE_OPERATIONS,
  CONVERTED_IMAGE_FIELDS,
  consoleRow,
  DIALECTS,
  type Dialect,
  type EndpointRow,
  ERRORS,
  type ErrorRow,
  INFERENCE_ENDPOINTS,
  type InferenceRow,
  STYLES,
  TOLERANCES,
  VIDEO_ENDPOINTS,
  type VideoRow,
} from '../src/rules/index.ts';
import { RESTRICTED_MODELS } from '../test/laws/field-outcomes.ts';
import {
  clientsOf,
  summarizeExceptions,
  summarizeFields,
  summarizePairs,
  summarizeReplies,
  summarizeTools,
  TOOL_DIALECTS,
} from '../test/laws/field-summary.ts';
import { PROBED_PROVIDERS, summarizeAgents, summarizeProbes } from '../test/laws/probes.ts';
import { REGISTER } from '../test/laws/register.ts';
import { page, table } from './markdown.ts';
import { queryParameters } from './openapi/index.ts';

const CELL: Readonly<Record<Cell['kind'], (cell: Cell) => string>> = {
  native: (cell) => `passed through${fallbackText(cell)}`,
  convert: (cell) => `converted to ${'to' in cell ? cell.to : ''}${fallbackText(cell)}`,
  prefer: (cell) =>
    `passed through if the account supports it, otherwise ${'dialect' in cell && 'to' in cell && cell.to !== cell.dialect ? `converted to ${cell.to}` : 'estimated'}${fallbackText(cell)}`,
  refuse: (cell) =>
    'optIn' in cell && cell.optIn
      ? `rejected; converted to ${cell.optIn.to} for models with the capability \`${cell.optIn.capability}\``
      : 'rejected',
  own: () => 'handled by the gateway',
};

const fallbackText = (cell: Cell): string =>
  'otherwise' in cell && cell.otherwise && cell.otherwise.length > 0
    ? `; converted to ${cell.otherwise.join(' or ')} for accounts that speak only that`
    : '';

export function renderEndpoints(): string {
  const text = Object.values<InferenceRow>(INFERENCE_ENDPOINTS).map((row) => [
    name(row),
    row.about,
    ...STYLES.map((style) => CELL[row.groups[style].kind](row.groups[style])),
    row.doc,
  ]);
  const video = Object.values<VideoRow>(VIDEO_ENDPOINTS).map((row) => [
    name(row),
    row.about,
    row.idempotent ? 'yes' : '',
    row.status ?? '',
    row.doc,
  ]);
  return page(
    'Endpoints',
    'Generated from `src/rules/endpoints.ts`, `src/rules/admin.ts` and `src/rules/console.ts` by `npm run gen`. `G` and `V` are clauses in `docs/contract/`.',
    '## Text, images, models',
    table(['endpoint', 'what it does', ...STYLES.map((style) => `${style} group`), 'rule'], text),
    '## Video, assets, characters',
    'A planned endpoint returns 501 `not_implemented`.',
    table(['endpoint', 'what it does', 'Idempotency-Key', 'status', 'rule'], video),
    '## Admin',
    'Authorized by `Authorization: Bearer $ADMIN_TOKEN`, or by the session of an operator in the console; API keys are rejected. Lists have the form `{"object":"list","data":[...],"has_more","next_cursor"}`; money is decimal strings, times are ISO 8601; unknown fields and parameters are rejected by name.',
    table(
      ['endpoint', 'what it does', 'query'],
      ADMIN_OPERATIONS.map((operation) => [
        `\`${adminRow(operation).method} ${adminRow(operation).path}\``,
        adminRow(operation).about,
        queryParameters(ADMIN_SCHEMAS[operation].query)
          .map((parameter) => parameter.name)
          .join(', '),
      ]),
    ),
    table(
      ['parameter', 'meaning'],
      [...adminParameters()].map(([parameter, description]) => [`\`${parameter}\``, description]),
    ),
    '## Console',
    'The API of the console, by cookie; it changes with the console. `own` operations are about the user of the signed-in person, and operators may read them with `?user=`. Requests other than GET need the header `x-csrf-token` and come from the same origin.',
    table(
      ['endpoint', 'what it does', 'access'],
      CONSOLE_OPERATIONS.map(consoleRow).map(({ method, path, about, access }) => [
        `\`${method} ${path}\``,
        about,
        access,
      ]),
    ),
  );
}

/** A parameter with several meanings, such as `state`, has all of them. */
const adminParameters = (): Map<string, string> => {
  const meanings = new Map<string, Set<string>>();
  for (const { query } of Object.values(ADMIN_SCHEMAS))
    for (const { name, description } of queryParameters(query))
      meanings.set(name, (meanings.get(name) ?? new Set()).add(description));
  return new Map([...meanings].map(([name, texts]) => [name, [...texts].join('<br>')]));
};

const name = (row: EndpointRow): string => `\`${row.method} ${row.path}\`${row.alias ? `<br>\`${row.alias}\`` : ''}`;

/** The README of src/platform/http with its table of bounds. */
export function withBounds(readme: string): string {
  const rows = [SERVER_BOUNDS, CHUNK_BOUNDS, CLIENT_BOUNDS].flatMap((bounds, n) =>
    Object.values<Bound>(bounds).map(({ limit, unit, why }) => [
      ['from clients', 'chunks', 'from servers'][n] ?? '',
      amount(limit, unit),
      why,
    ]),
  );
  return readme.replace(
    /(<!-- bounds: .*-->\n)[\s\S]*(<!-- end of bounds -->)/,
    (_all, begin: string, end: string) => `${begin}${table(['side', 'limit', 'what and why'], rows)}\n${end}`,
  );
}

function amount(limit: number, unit: Bound['unit']): string {
  if (unit === 'ms') return limit % 1_000 === 0 ? `${limit / 1_000} s` : `${limit} ms`;
  if (unit === 'bytes') {
    if (limit >= 2 ** 20) return `${limit / 2 ** 20} MiB`;
    return limit >= 1024 ? `${limit / 1024} KiB` : `${limit} bytes`;
  }
  return limit.toLocaleString('en-US');
}

export function renderErrors(): string {
  const rows = Object.entries<ErrorRow>(ERRORS).map(([code, row]) => [
    `\`${code}\``,
    [row.status].flat().join(' or ') +
      Object.entries(row.statusIn ?? {})
        .map(([where, status]) => `, ${status} on ${where} paths`)
        .join(''),
    row.means,
    code in ERROR_ADVICE ? ERROR_ADVICE[code as keyof typeof ERROR_ADVICE] : '',
    row.only ?? '',
    row.doc,
  ]);
  return page(
    'Errors',
    'Generated from `src/rules/errors.ts` by `npm run gen`. Codes are stable; messages may change. The body has the format of the dialect of the path:',
    table(
      ['path', 'body'],
      [
        ['`/v1/messages*`', '`{"type":"error","error":{"type","message","code"},"request_id"}`'],
        [
          '`/v1beta/*`, `/v1/models/{model}:*`',
          '`{"error":{"code","message","status","details":[{"@type":"...ErrorInfo","reason":CODE}]}}`',
        ],
        ['other `/v1` and root aliases', '`{"error":{"message","type","code","param"}}`'],
        ['video, assets, characters', '`{"error":{"message","type","code"}}`'],
      ],
    ),
    'Every response has `x-request-id`. `x-should-retry: false` means that a retry cannot succeed, `true` that it can after `retry-after`.',
    table(['code', 'status', 'means', 'what to do', 'variant', 'rule'], rows),
  );
}

/** The conversions in the matrix of G 4.1, client first, and those for accounts that speak only chat completions. */
const PAIRS: readonly (readonly [Dialect, Dialect])[] = [
  ['messages', 'responses'],
  ['messages', 'generate'],
  ['chat', 'messages'],
  ['chat', 'generate'],
  ['chat', 'responses'],
  ['responses', 'messages'],
  ['responses', 'generate'],
  ['messages', 'chat'],
  ['responses', 'chat'],
];

/** Without those for accounts that speak only chat completions. */
const MATRIX_PAIRS = PAIRS.filter(([, upstream]) => upstream !== 'chat').length;

export function renderFidelity(): string {
  const sections = PAIRS.map(([client, upstream]) => {
    const rows = summarizeFields({ client, upstream, name: `${client} over ${upstream}`, isOffered: true });
    return `## ${client} client, ${upstream} provider\n\n${table(['field', 'outcome', 'parts dropped', 'parts rejected'], rows)}`;
  });
  return page(
    'Fidelity of conversions',
    "Generated by `npm run gen` from what the conversions do: each member of the SDKs' types of requests and replies is converted alone, in every conversion. `test/laws/fields.test.ts` (`npm run test:all -- --sweeps`) fails for a member that is neither converted nor named nor listed here as left out. When a group uses another dialect than the client, the gateway always converts text, system prompts, roles, tools, tool results, images, files, usage and stop reasons.",
    '## Pairs',
    'Of the fields of a request: how many arrive at the provider, in their own form or another; of how many nothing does, so that they are left out by name, or the request is refused by name. Of the members of a reply: how many the client gets. The grade is by the fields that arrive: A from 75 %, B from 60 %, C from 50 %. Fields that exist only in one dialect count too.',
    table(
      ['conversion', 'grade', 'requests: arrives', 'left out, named', 'refused, named', 'replies: arrives'],
      summarizePairs(),
    ),
    '## Tools that providers run or define',
    'A provider gets the tools of its own dialect as they are. For others, `src/rules/tool-forms.ts` is the table: what a tool becomes, and what happens without it. **refused**: 400 `unsupported_parameter` with the place of the tool, such as `tools[1]`, before anything is sent or charged. **dropped**: named in `x-gateway-dropped`, and no response names the tool. **refused alone**: dropped beside tools that the client runs, else refused. A request that forces a tool is always refused where the provider lacks it. `capabilities.hostedTools` of a model limits what its server has.',
    table(['tool', ...TOOL_DIALECTS, 'elsewhere', 'because'], summarizeTools()),
    "Actions of the computer tool are converted between messages and responses, and from both to generate-content. A triple click becomes two clicks, held keys are pressed once, a wait loses its length, and what has no counterpart (a pressed or released button, the position of the pointer, a click without a place) becomes a screenshot. Several actions of responses are several calls of messages. Responses needs a screenshot in every result, so that a result without one repeats the newest. Toolsets of messages are refused elsewhere. Generate-content has a function for each action, on a desktop with coordinates from 0 to 999, which become pixels of the screen that the client states or shows in its newest screenshot. Its model is not offered `mouse_down`, `mouse_up`, `key_down`, `key_up`, and functions of the client with such names stay the client's. Modifier keys of clicks in the history are left out, and so is the purpose of an action (`intent`) in replies. Gemini before 3 drives browsers only and refuses the tool. What the user should confirm reaches responses clients (`pending_safety_checks`) and is named for others.",
    '## Newest features',
    "**passes**: the provider's own dialect, byte for byte. **for the gateway**: has its effect here, or needs none. **not offered**: 404, because generate-content clients use groups of their own style. `test/e2e/probes.test.ts` sends each to every style.",
    table(['client', 'feature', ...PROBED_PROVIDERS.map((name) => `${name} provider`)], summarizeProbes()),
    '## Agents',
    'What becomes of the requests of coding agents. `test/e2e/probes.test.ts` sends them to every style. Hidden thoughts of another provider are dropped by name; those of the own provider return to it.',
    table(['agent', 'request', ...PROBED_PROVIDERS.map((name) => `${name} provider`)], summarizeAgents()),
    '## Words',
    `**kept**: sent unchanged. **changed**: converted to the form of the provider. **dropped**: not sent, and named in the response header \`x-gateway-dropped\`. **rejected**: 400 with the name of the field, before anything is sent upstream. **carried**: only in a value that the client returns to the provider. Values of one field can have different outcomes. The tables show two models of each provider: that of the demo, which has all capabilities, and one with fewer (${RESTRICTED}). The gateway emulates stop sequences that a model does not accept. What another model (see \`src/rules/model-families.ts\`) or another chat-completions server (see \`src/rules/chat-presets.ts\`) does not support is dropped and named, and so are unknown fields. When client and group use the same dialect, the body passes through unchanged.`,
    'Some options are written by the gateway: fields that the client did not send, or sent in another form. When a provider rejects one of them with 400 or 422, and the client has received nothing, the request is sent again without it: once per call, and never for images. What helped is remembered by account and model until the configuration changes. Errors about a value that the client sent reach the client. Of these options, native chat streams have `stream_options`:',
    table(['provider', 'options'], addedOptionRows()),
    ...sections,
    '## Fields without a trace',
    'Fields of requests that change nothing in the request to the provider and are not named, and why.',
    table(['reason', 'fields', 'conversions'], summarizeExceptions('request')),
    '## Replies',
    'What a client gets of each member of a reply. **dropped**: named as `reply.` and the member or its type, in `x-gateway-dropped` or, in a stream, in a comment before its end. **left out**: not named, for a reason in the last table.',
    ...DIALECTS.map(
      (upstream) =>
        `### ${upstream} provider\n\n${table(['member', ...clientsOf(upstream).map((client) => `${client} client`)], summarizeReplies(upstream))}`,
    ),
    table(['reason', 'members', 'conversions'], summarizeExceptions('reply')),
    '## images client, generate provider',
    'Only for models with the capability `imagesEndpoint`. `response_format` and unknown fields are dropped.',
    table(['field', 'support'], imageFieldRows()),
    '## Replies that deviate',
    'Servers that deviate from the wire format of their dialect. The gateway reads replies of any server in this way.',
    table(['dialect', 'seen from', 'sends', 'read as'], toleranceRows()),
    '## Lossy points',
    'Differences beyond single fields. **carried**: kept for the provider that can read it, in a field that the client sends back or in a cache of the gateway. **never**: does not happen. `test/laws/register.test.ts` tests each point by its number.',
    table(['', 'what happens', 'conversions', 'outcome'], registerRows()),
  );
}

const RESTRICTED = [...new Set(Object.values(RESTRICTED_MODELS))].map((model) => `\`${model}\``).join(', ');

const addedOptionRows = (): string[][] =>
  DIALECTS.map((dialect) => [
    dialect,
    [...new Set(ADDED_OPTIONS[dialect].map(({ option }) => `\`${option}\``))].join(', '),
  ]);

const toleranceRows = (): string[][] =>
  Object.values(TOLERANCES).map(({ dialect, servers, sends, readAs }) => [dialect, servers, sends, readAs]);

const imageFieldRows = (): string[][] =>
  Object.entries(CONVERTED_IMAGE_FIELDS).map(([name, { support, neutral, rejected }]) => [
    `\`${name}\``,
    [support, neutral && `no effect: ${neutral.join(', ')}`, rejected && `rejected: ${rejected.join(', ')}`]
      .filter((word) => word !== undefined)
      .join('; '),
  ]);

const registerRows = (): string[][] =>
  Object.entries(REGISTER).map(([number, { summary, conversions, outcomes }]) => [
    number,
    summary,
    conversions.length === MATRIX_PAIRS ? 'all of the matrix' : conversions.join('<br>'),
    outcomes.join('; '),
  ]);

/** Markdown pages printed from the tables in src/rules. */
import { codecOf, HUB_FIELDS } from '../src/dialects/index.ts';
import {
  ADMIN_ENDPOINTS,
  ADMIN_QUERY,
  type AdminRow,
  type Cell,
  type Dialect,
  type EndpointRow,
  ERRORS,
  type ErrorRow,
  STYLES,
  TEXT_ENDPOINTS,
  type TextRow,
  VIDEO_ENDPOINTS,
} from '../src/rules/index.ts';
import { REGISTER } from '../test/laws/register.ts';

const CELL: Readonly<Record<Cell['kind'], (cell: Cell) => string>> = {
  native: () => 'bytes through',
  convert: (cell) => `converted to ${'to' in cell ? cell.to : ''}`,
  prefer: (cell) => `bytes through where the account has it, else converted to ${'to' in cell ? cell.to : ''}`,
  refuse: () => 'rejected',
  own: () => 'answered by the gateway',
};

export function renderEndpoints(): string {
  const text = Object.values<TextRow>(TEXT_ENDPOINTS).map((row) => [
    name(row),
    row.about,
    ...STYLES.map((style) => CELL[row.groups[style].kind](row.groups[style])),
    row.doc,
  ]);
  const video = Object.values<EndpointRow>(VIDEO_ENDPOINTS).map((row) => [
    name(row),
    row.about,
    row.idempotent ? 'yes' : '',
    row.doc,
  ]);
  return page(
    'Endpoints',
    'Printed from `src/rules/endpoints.ts` and `src/rules/admin.ts` by `npm run gen`. `G` and `V` lead to `docs/contract/`.',
    '## Text, images, models',
    table(['endpoint', 'what it does', ...STYLES.map((style) => `${style} group`), 'rule'], text),
    '## Video, assets, characters',
    table(['endpoint', 'what it does', 'Idempotency-Key', 'rule'], video),
    '## Admin',
    'Opened by `Authorization: Bearer $ADMIN_TOKEN` alone. Lists answer `{"object":"list","data":[...],"has_more","next_cursor"}`; money is decimal strings, times are ISO 8601; unknown fields and parameters are rejected by name.',
    table(
      ['endpoint', 'what it does', 'query'],
      Object.values<AdminRow>(ADMIN_ENDPOINTS).map((row) => [
        `\`${row.method} ${row.path}\``,
        row.about,
        (row.query ?? []).join(', '),
      ]),
    ),
    table(
      ['parameter', 'meaning'],
      Object.entries(ADMIN_QUERY).map(([parameter, about]) => [`\`${parameter}\``, about]),
    ),
  );
}

const name = (row: EndpointRow): string => `\`${row.method} ${row.path}\`${row.alias ? `<br>\`${row.alias}\`` : ''}`;

export function renderErrors(): string {
  const rows = Object.entries<ErrorRow>(ERRORS).map(([code, row]) => [
    `\`${code}\``,
    [row.status].flat().join(' or ') +
      Object.entries(row.statusIn ?? {})
        .map(([where, status]) => `, ${status} on ${where} paths`)
        .join(''),
    row.means,
    row.only ?? '',
    row.doc,
  ]);
  return page(
    'Errors',
    'Printed from `src/rules/errors.ts` by `npm run gen`. The code is the contract; the message is for people. The body has the shape of the dialect of the path:',
    table(
      ['path', 'body'],
      [
        ['`/v1/messages*`', '`{"type":"error","error":{"type","message","code"},"request_id"}`'],
        ['`/v1beta/*`', '`{"error":{"code","message","status","details":[{"@type":"...ErrorInfo","reason":CODE}]}}`'],
        ['other `/v1` and root aliases', '`{"error":{"message","type","code","param"}}`'],
        ['video, assets, characters', '`{"error":{"message","type","code"}}`'],
      ],
    ),
    'Every answer carries `x-request-id`. `x-should-retry: false` says that a retry cannot help.',
    table(['code', 'status', 'means', 'variant', 'rule'], rows),
  );
}

export const renderEnvironment = (rows: readonly { name: string; about: string; fallback: string }[]): string =>
  page(
    'Settings',
    'Printed from `src/config.ts` by `npm run gen`. All are optional. Groups, accounts, models, users and keys are not settings: they live in the database and come from `dragoman apply FILE` (see README).',
    table(
      ['variable', 'default', 'meaning'],
      rows.map(({ name, about, fallback }) => [`\`${name}\``, fallback ? `\`${fallback}\`` : 'empty', about]),
    ),
  );

/** The conversions that the matrix names, client first. */
const PAIRS: readonly (readonly [Dialect, Dialect])[] = [
  ['messages', 'responses'],
  ['messages', 'generate'],
  ['chat', 'messages'],
  ['chat', 'generate'],
  ['chat', 'responses'],
  ['responses', 'messages'],
  ['responses', 'generate'],
];

export function renderFidelity(): string {
  const sections = PAIRS.map(([from, to]) => {
    const names = codecOf(from).client.fieldNames;
    const { support: fate } = codecOf(to).upstream;
    const byName = Map.groupBy(HUB_FIELDS, (field) => names[field]);
    const rows = [...byName].map(([name, fields]) => [
      `\`${name}\``,
      [...new Set(fields.map((field) => FATE[fate[field]]))].join('; '),
    ]);
    return `## ${from} client, ${to} provider\n\n${table(['field', 'what becomes of it'], rows)}`;
  });
  return page(
    'Fidelity of conversions',
    'Printed from the fate tables in `src/dialects` by `npm run gen`. When a group speaks another dialect than the caller, text, system, roles, tools, tool results, images, files, usage and stop reasons always cross. This page says what becomes of the optional fields.',
    '**kept** as it is; **changed** into the form that the other side has; **left out** and named in the answer header `x-gateway-dropped`; **rejected** with 400 and the name of the field, before anything is sent. A model that cannot take a field that is kept (see `src/rules/capabilities.ts`) has it left out and named. Fields that no table knows are left out and named too. Where both sides speak the same dialect nothing is looked at: the bytes pass.',
    ...sections,
    '## Where two dialects do not say the same',
    'Beyond single fields. **carried**: kept for the provider that alone can read it, in a place that the client hands back or in the memory of the gateway. The number is that of the test that proves the line (`test/laws/register.test.ts`).',
    table(['', 'what happens', 'conversions', ''], registerRows()),
  );
}

const registerRows = (): string[][] =>
  Object.entries(REGISTER).map(([number, { story, ways, fate }]) => [
    number,
    story,
    ways.length === PAIRS.length ? 'all' : ways.join('<br>'),
    fate.join('; '),
  ]);

const FATE = { kept: 'kept', changed: 'changed', dropped: 'left out', rejected: 'rejected' } as const;

const page = (title: string, ...parts: string[]): string => `# ${title}\n\n${parts.join('\n\n')}\n`;

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');

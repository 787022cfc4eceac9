/**
 * Blocks of tools that the provider runs: use and result form one hub item.
 * The raw pair is kept, because only its issuer can read it.
 */
import type { HubServerCall, JsonObject, ServerTool } from '../hub/types.ts';
import { foundTools } from '../tools/hosted.ts';
import { digest } from '../wire/ids.ts';
import {
  compact,
  isObject,
  joinedTexts,
  maybeList,
  maybeObject,
  maybeString,
  parseArgs,
  tableOf,
} from '../wire/read.ts';

export const SERVER_USE_TYPES: ReadonlySet<string> = new Set(['server_tool_use', 'mcp_tool_use']);

export const isResultType = (type: string): boolean => type.endsWith('_tool_result') && type !== 'tool_result';

export const serverToolOf = (block: JsonObject): ServerTool =>
  block.type === 'mcp_tool_use' ? 'mcp' : (TOOLS.get(maybeString(block.name) ?? '') ?? 'other');

const TOOLS = tableOf<ServerTool>({
  web_search: 'web_search',
  web_fetch: 'web_fetch',
  code_execution: 'code_exec',
  bash_code_execution: 'code_exec',
  text_editor_code_execution: 'code_exec',
  tool_search_tool_regex: 'tool_search',
  tool_search_tool_bm25: 'tool_search',
  advisor: 'advisor',
});

/**
 * A call without a result is still in progress. Blocks that the
 * gateway made up have nothing that their issuer could read.
 */
export function decodeServerCall(use: JsonObject, result?: JsonObject): HubServerCall {
  const tool = serverToolOf(use);
  const id = maybeString(use.id) ?? '';
  return compact({
    kind: 'server_call' as const,
    id,
    tool,
    issuer: 'messages' as const,
    status: statusOf(result),
    ...failureOf(result),
    ...READERS[tool]?.(use, maybeObject(use.input), result),
    raw: isSynthetic(id) ? undefined : [inOrder(use), ...(result ? [result] : [])],
  });
}

function statusOf(result: JsonObject | undefined): HubServerCall['status'] {
  if (!result) return 'in_progress';
  return isFailed(result) ? 'failed' : 'completed';
}

/** Fixed member order, so that streamed and unary blocks give the same bytes. */
const inOrder = ({ type, id, name, input, ...rest }: JsonObject): JsonObject =>
  compact({ type, id, name, input, ...rest });

/** The shared form of a call, by its tool. */
type CallReader = (use: JsonObject, input: JsonObject, result: JsonObject | undefined) => Partial<HubServerCall>;
const READERS: Partial<Readonly<Record<ServerTool, CallReader>>> = {
  web_search: (_, { query }, result) =>
    compact({ queries: texts(query), sources: result ? sourcesOf(maybeList(result.content)) : undefined }),
  web_fetch(_, { url }, result) {
    const page = maybeObject(maybeObject(result).content);
    const document = maybeObject(page.content);
    const source = { url: page.url ?? url, title: document.title ?? '' };
    return compact({ sources: sourcesOf([source]), output: pageText(maybeObject(document.source)) });
  },
  code_exec: ({ name }, input, result) =>
    compact({
      code: maybeString(input.code) ?? maybeString(input.command) ?? JSON.stringify(input),
      output: result && (name === 'text_editor_code_execution' ? otherOutput(result) : ranOutput(result)),
    }),
  mcp: (use, input, result) =>
    compact({
      mcp: {
        server: maybeString(use.server_name) ?? '',
        name: maybeString(use.name) ?? '',
        args: JSON.stringify(input),
      },
      output: result && joinedTexts(result.content, '\n'),
    }),
  tool_search: (_, { query, pattern }, result) =>
    compact({
      queries: texts(query ?? pattern),
      found: result && foundTools(maybeObject(result.content).tool_references, 'input_schema'),
    }),
  advisor: readOther,
  other: readOther,
};

function readOther(_: JsonObject, input: JsonObject, result: JsonObject | undefined): Partial<HubServerCall> {
  return compact({ code: inputText(input), output: result && otherOutput(result) });
}

/** Results of some tools have no other text when they fail. */
function failureOf(result: JsonObject | undefined): Partial<HubServerCall> {
  const { error_code: code, error_message: message } = maybeObject(maybeObject(result).content);
  return compact({ output: [code, message].filter((text) => typeof text === 'string').join(': ') || undefined });
}

/** Other media of a page are named by their type only. */
const pageText = ({ type, media_type: mime, data, content }: JsonObject): string | undefined =>
  type === 'base64' ? `[${String(mime)}]` : (maybeString(data) ?? (joinedTexts(content, '\n') || undefined));

const inputText = (input: JsonObject): string | undefined =>
  Object.keys(input).length > 0 ? JSON.stringify(input) : undefined;

const texts = (value: unknown): string[] | undefined => (typeof value === 'string' ? [value] : undefined);

/** Of code and of commands. A result that only its issuer can read has no text. */
function ranOutput({ content }: JsonObject): string {
  const { stdout, stderr, error_code: code, return_code: exit } = maybeObject(content);
  const failed = exit === undefined || exit === 0 ? '' : `exit code ${String(exit)}`;
  return [stdout, stderr, code, failed].filter((text) => typeof text === 'string' && text !== '').join('\n');
}

const otherOutput = ({ content }: JsonObject): string => JSON.stringify(content ?? null);

/** A listing of the tools of an MCP server, which is one block. */
export const decodeListing = (block: JsonObject): HubServerCall => ({
  kind: 'server_call',
  id: '',
  tool: 'mcp',
  issuer: 'messages',
  status: 'completed',
  mcp: { server: maybeString(block.mcp_server_name) ?? '', args: '' },
  found: foundTools(block.tools, 'input_schema'),
  raw: [block],
});
export const LISTING_TYPE = 'mcp_tool_listing';

const isFailed = (result: JsonObject): boolean =>
  result.is_error === true || (maybeString(maybeObject(result.content).type) ?? '').endsWith('_error');

const sourcesOf = (entries: readonly unknown[]): { url: string; title: string }[] =>
  entries.flatMap((entry) => {
    const url = maybeString(maybeObject(entry).url);
    return url === undefined ? [] : [{ url, title: maybeString(maybeObject(entry).title) || url }];
  });

/** Required by current clients. Only the code of the provider could call a tool in any other way. */
export const DIRECT_CALLER: JsonObject = { type: 'direct' };

/** Id prefix of blocks that show a client a call at another provider; no messages provider knows its id. */
export const SYNTHETIC_PREFIX = 'srvtoolu_gw';
export const isSynthetic = (id: string): boolean => id.startsWith(SYNTHETIC_PREFIX);

/**
 * The raw blocks of a messages call. A foreign call becomes a synthetic pair,
 * or nothing if this dialect has no block for its tool.
 */
export function encodeServerCall(call: HubServerCall): JsonObject[] {
  if (call.issuer === 'messages') return rawBlocks(call);
  if (call.status === 'in_progress') return [];
  const id = SYNTHETIC_PREFIX + digest(call.id, 20);
  const pair = PAIRS[call.tool]?.(call);
  if (!pair) return [];
  const [use, result] = pair;
  return [
    { ...use, id },
    { ...result, tool_use_id: id },
  ];
}

export const hasBlocksFor = (call: HubServerCall): boolean => PAIRS[call.tool]?.(call) !== undefined;

type EncodePair = (call: HubServerCall) => readonly [use: JsonObject, result: JsonObject] | undefined;

const serverUse = (name: string, input: JsonObject): JsonObject => ({
  type: 'server_tool_use',
  name,
  input,
  caller: DIRECT_CALLER,
});

const failure = (type: string): JsonObject => ({ type, error_code: 'unavailable' });

const PAIRS: Partial<Readonly<Record<ServerTool, EncodePair>>> = {
  web_search({ queries = [], sources = [], status }) {
    const results = sources.map(({ url, title }) => ({
      type: 'web_search_result',
      url,
      title,
      encrypted_content: 'gw1.',
      page_age: null,
    }));
    const content = status === 'failed' ? failure('web_search_tool_result_error') : results;
    return [
      serverUse('web_search', { query: queries.join(' | ') }),
      { type: 'web_search_tool_result', content, caller: DIRECT_CALLER },
    ];
  },
  web_fetch({ sources = [], output = '', status }) {
    const { url, title } = sources[0] ?? { url: '', title: '' };
    const source = { type: 'text', media_type: 'text/plain', data: output };
    const document = { type: 'document', source, title: title || null, citations: { enabled: false } };
    const page = { type: 'web_fetch_result', url, content: document, retrieved_at: null };
    const content = status === 'failed' ? failure('web_fetch_tool_result_error') : page;
    return [serverUse('web_fetch', { url }), { type: 'web_fetch_tool_result', content, caller: DIRECT_CALLER }];
  },
  code_exec({ code = '', output = '', status }) {
    const isFailed = status === 'failed';
    const content = {
      type: 'code_execution_result',
      stdout: isFailed ? '' : output,
      stderr: isFailed ? output : '',
      return_code: isFailed ? 1 : 0,
      content: [],
    };
    return [serverUse('code_execution', { code }), { type: 'code_execution_tool_result', content }];
  },
  /** SDKs of this dialect do not know the block of a listing unless they asked for it. */
  mcp({ mcp, output = '', status }) {
    if (mcp?.name === undefined) return undefined;
    return [
      { type: 'mcp_tool_use', name: mcp.name, server_name: mcp.server, input: parseArgs(mcp.args) },
      {
        type: 'mcp_tool_result',
        is_error: status === 'failed',
        content: [{ type: 'text', text: output, citations: [] }],
      },
    ];
  },
  tool_search({ queries = [], found = [], status }) {
    const references = found.map(({ name }) => ({ type: 'tool_reference', tool_name: name }));
    const result = { type: 'tool_search_tool_search_result', tool_references: references };
    const content = status === 'failed' ? failure('tool_search_tool_result_error') : result;
    return [
      serverUse('tool_search_tool_bm25', { query: queries.join(' ') }),
      { type: 'tool_search_tool_result', content },
    ];
  },
};

const rawBlocks = ({ raw }: HubServerCall): JsonObject[] => maybeList(raw).filter(isObject);

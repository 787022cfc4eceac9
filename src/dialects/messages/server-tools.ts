/**
 * Blocks of tools that the provider runs: a `*_tool_use` and a later `*_tool_result` form one hub item. The raw pair is
 * kept, because only its issuer can read the encrypted parts.
 */
import type { HubServerCall, JsonObject, ServerTool } from '../hub/types.ts';
import { digest } from '../wire/ids.ts';
import { compact, isObject, maybeList, maybeObject, maybeString } from '../wire/read.ts';

export const SERVER_USE_TYPES: ReadonlySet<string> = new Set(['server_tool_use', 'mcp_tool_use']);

export const isResultType = (type: string): boolean => type.endsWith('_tool_result') && type !== 'tool_result';

export const serverToolOf = (block: JsonObject): ServerTool =>
  block.type === 'mcp_tool_use' ? 'mcp' : (TOOLS.get(maybeString(block.name) ?? '') ?? 'other');

const TOOLS: ReadonlyMap<string, ServerTool> = new Map(
  Object.entries<ServerTool>({
    web_search: 'web_search',
    web_fetch: 'web_fetch',
    code_execution: 'code_exec',
    bash_code_execution: 'code_exec',
    text_editor_code_execution: 'code_exec',
    tool_search_tool_regex: 'tool_search',
    tool_search_tool_bm25: 'tool_search',
  }),
);

/** A call without a result is still in progress. */
export function decodeServerCall(use: JsonObject, result?: JsonObject): HubServerCall {
  const tool = serverToolOf(use);
  const query = maybeString(maybeObject(use.input).query);
  const search = tool === 'web_search';
  return compact({
    kind: 'server_call' as const,
    id: maybeString(use.id) ?? '',
    tool,
    issuer: 'messages' as const,
    status: !result ? ('in_progress' as const) : isFailed(result) ? ('failed' as const) : ('completed' as const),
    queries: search && query !== undefined ? [query] : undefined,
    sources: search && result ? sourcesOf(result.content) : undefined,
    raw: result ? [use, result] : [use],
  });
}

const isFailed = (result: JsonObject): boolean =>
  result.is_error === true || (maybeString(maybeObject(result.content).type) ?? '').endsWith('_error');

const sourcesOf = (content: unknown): { url: string; title: string }[] =>
  maybeList(content).flatMap((entry) => {
    const url = isObject(entry) ? maybeString(entry.url) : undefined;
    return url === undefined ? [] : [{ url, title: maybeString(maybeObject(entry).title) ?? url }];
  });

// ---------------------------------------------------------------- encoding

/** Required by current clients. Only the code of the provider could call a tool in any other way. */
export const DIRECT_CALLER: JsonObject = { type: 'direct' };

/** Id prefix of blocks that show a client a search at another provider. The decoder drops such blocks. */
export const SYNTHETIC_PREFIX = 'srvtoolu_gw';
export const isSynthetic = (id: string): boolean => id.startsWith(SYNTHETIC_PREFIX);

/** Returns the raw pair of a messages call. A web search elsewhere becomes a synthetic pair; other foreign calls are dropped. */
export function encodeServerCall(call: HubServerCall): JsonObject[] {
  if (call.issuer === 'messages') return rawBlocks(call);
  if (call.tool !== 'web_search' || call.status === 'in_progress') return [];
  const id = SYNTHETIC_PREFIX + digest(call.id, 20);
  const content =
    call.status === 'failed'
      ? { type: 'web_search_tool_result_error', error_code: 'unavailable' }
      : (call.sources ?? []).map(({ url, title }) => ({
          type: 'web_search_result',
          url,
          title,
          encrypted_content: 'gw1.',
          page_age: null,
        }));
  const query = call.queries?.join(' | ') ?? '';
  return [
    { type: 'server_tool_use', id, name: 'web_search', input: { query }, caller: DIRECT_CALLER },
    { type: 'web_search_tool_result', tool_use_id: id, content, caller: DIRECT_CALLER },
  ];
}

export const rawBlocks = (call: HubServerCall): JsonObject[] =>
  call.issuer === 'messages' ? maybeList(call.raw).filter(isObject) : [];

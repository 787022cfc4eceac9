/** What the tools of a request can make a provider read, search and draw, by the table of hosted tools. */
import {
  CLIENT_TOOL_MEMBERS,
  CLIENT_TOOL_TYPES,
  DEFAULT_TOOL_USES,
  HOSTED_TOOL_MEMBERS,
  type HostedTool,
  hostedToolOfMember,
  hostedToolOfType,
  imageTokens,
  TOOL_PROMPT_TOKENS,
} from '../../rules/index.ts';
import { countIn, type Lever, type MemberMap, objectIn, type Read } from './members.ts';

export interface ToolBounds {
  /** Tokens of definitions and results beside the body; Infinity where only the context limits them. */
  readonly toolInput: number;
  /** The tool whose results only the context limits. */
  readonly openTool: string | undefined;
  /** Calls of other models, each of which reads the whole conversation. */
  readonly ownCalls: number;
  readonly maxSearches: number;
  /** Output tokens beside the limit of the request: pictures that a tool draws, replies of other models. */
  readonly moreOutput: number;
}

export const NO_TOOLS: ToolBounds = { toolInput: 0, openTool: undefined, ownCalls: 0, maxSearches: 0, moreOutput: 0 };
/** Tools that the client runs. */
const CLIENT_TOOLS: ToolBounds = { ...NO_TOOLS, toolInput: TOOL_PROMPT_TOKENS.anyTools };

/** Members of a request that name tools or limit their uses. */
export const TOOL_MEMBERS = ['tools', 'web_search_options', 'mcp_servers', 'max_tool_calls'] as const;
/** Members of a tool on which its bound depends. */
export const LIMITING: ReadonlySet<string> = new Set([
  ...['type', 'max_uses', 'max_content_tokens', 'max_num_results', 'max_tokens', 'size', 'quality', 'partial_images'],
]);

/**
 * Bytes of `tools` that may have more than functions: a type that no schema has, a member of the table, or a tool that begins with a member
 * that no function has.
 */
const HOSTED = new RegExp(
  [
    /"type"\s*:\s*"(?!function"|custom"|object"|string"|number"|integer"|boolean"|array"|null")/.source,
    `"(?:${HOSTED_TOOL_MEMBERS.join('|')})"`,
    /(?:^\s*\[|\]\s*\},)\s*\{\s*"(?!function|name"|type"|description"|parameters|input_schema"|strict"|cache_control")/
      .source,
  ].join('|'),
);
export const mayBeHosted = (tools: Buffer): boolean => HOSTED.test(tools.toString('latin1'));

/** A hosted tool of the request and how often it may be used. */
interface Use {
  readonly path: string;
  readonly tool: MemberMap;
  readonly row: HostedTool;
  readonly uses: number;
  readonly reads: number;
}

/** `read` returns a member of the request, or undefined for tools that are known to run at the client. */
export function toolBoundsOf(read: Read): ToolBounds {
  const uses = usesIn(read);
  if (uses.length === 0) return hasTools(read) ? CLIENT_TOOLS : NO_TOOLS;
  const calls = countIn(read('max_tool_calls'), 'max_tool_calls') ?? Number.POSITIVE_INFINITY;
  const used = uses.map((use) => ({ ...use, uses: Math.min(use.uses, Math.max(0, calls)) }));
  const most = Math.max(0, ...used.filter(({ uses: count }) => count > 0).map(({ reads }) => reads));
  const results = Math.min(sum(used.map(({ uses: count, reads }) => times(count, reads))), times(calls, most));
  return {
    toolInput: TOOL_PROMPT_TOKENS.anyTools + uses.length * TOOL_PROMPT_TOKENS.hosted + results,
    openTool: used.find(({ uses: count, reads }) => count > 0 && reads === Number.POSITIVE_INFINITY)?.path,
    ownCalls: sum(used.map(({ row, uses: count }) => (row.ownCall ? count : 0))),
    maxSearches: Math.min(calls, sum(used.map(({ row, uses: count }) => (row.isBilled ? count : 0)))),
    moreOutput: sum(used.map(({ uses: count, ...use }) => times(count, writtenBy(use)))),
  };
}

const hasTools = (read: Read): boolean => read('tools') !== undefined && read('tools') !== null;

function usesIn(read: Read): Use[] {
  const tools = read('tools');
  const uses = Array.isArray(tools) ? tools.flatMap((tool, n) => usesOf(objectIn(tool) ?? {}, `tools[${n}]`)) : [];
  if (read('web_search_options')) uses.push(useOf({}, hostedToolOfType('web_search'), 'web_search_options'));
  const servers = read('mcp_servers');
  if (Array.isArray(servers) && servers.length > 0) uses.push(useOf({}, hostedToolOfType('mcp'), 'mcp_servers'));
  return uses;
}

/** A tool of generate-content may be several: each of its members is one. */
function usesOf(tool: MemberMap, path: string): Use[] {
  const { type } = tool;
  if (typeof type === 'string' && !CLIENT_TOOL_TYPES.has(type)) {
    const row = hostedToolOfType(type);
    const isAtClient = row.runsIn !== undefined && !/^container/.test(String(objectIn(tool[row.runsIn])?.type ?? ''));
    return isAtClient ? [] : [useOf(tool, row, path)];
  }
  if (type !== undefined || 'name' in tool || 'function' in tool) return [];
  return Object.entries(tool).flatMap(([name, value]) =>
    CLIENT_TOOL_MEMBERS.has(name) || value === null ? [] : [useOf({}, hostedToolOfMember(name), `${path}.${name}`)],
  );
}

function useOf(tool: MemberMap, row: HostedTool, path: string): Use {
  const { readLimit } = row;
  const limit = readLimit && (countIn(tool[readLimit.member], `${path}.${readLimit.member}`) ?? readLimit.byDefault);
  const reads = row.reads === 'context' ? Number.POSITIVE_INFINITY : row.reads;
  return {
    path,
    tool,
    row,
    uses: Math.max(0, Math.ceil(countIn(tool.max_uses, `${path}.max_uses`) ?? DEFAULT_TOOL_USES)),
    reads:
      readLimit && limit !== undefined && limit >= 0 ? Math.min(reads, Math.ceil(limit) * readLimit.tokens) : reads,
  };
}

function writtenBy({ tool, row, path }: Omit<Use, 'uses'>): number {
  if (row.ownCall) return countIn(tool[row.ownCall.member], `${path}.${row.ownCall.member}`) ?? row.ownCall.writes;
  if (tool.type !== 'image_generation') return 0;
  const { size, quality } = tool;
  const partial = countIn(tool.partial_images, `${path}.partial_images`) ?? 0;
  return imageTokens({
    size: typeof size === 'string' ? size : 'auto',
    quality: typeof quality === 'string' ? quality : 'auto',
    partialImages: Math.min(Math.max(partial, 0), 3),
  });
}

/** Members that limit uses and results, where the dialect has them: those of a tool in messages, one for all tools in responses. */
export function toolLevers(read: Read, limitsAll: boolean): Lever<ToolBounds>[] {
  const withMember =
    (name: string, value: unknown): Read =>
    (asked) =>
      asked === name ? value : read(asked);
  const uses = usesIn(read);
  if (limitsAll) {
    const value = countIn(read('max_tool_calls'), 'max_tool_calls') ?? sum(uses.map(({ uses: count }) => count));
    const boundsWith = (count: number): ToolBounds => toolBoundsOf(withMember('max_tool_calls', count));
    return uses.length === 0 ? [] : [{ param: 'max_tool_calls', value, min: 1, boundsWith }];
  }
  const tools = read('tools');
  if (!Array.isArray(tools)) return [];
  return uses.flatMap(({ path, tool, row, uses: count, reads }): Lever<ToolBounds>[] => {
    const index = tools.indexOf(tool);
    if (index < 0) return [];
    const lever = (member: string, value: number, min: number): Lever<ToolBounds> => ({
      param: `${path}.${member}`,
      value,
      min,
      boundsWith: (lower) => toolBoundsOf(withMember('tools', tools.with(index, { ...tool, [member]: lower }))),
    });
    const limit = row.readLimit;
    return [
      ...(limit ? [lever(limit.member, Math.min(reads / limit.tokens, MAX_LIMIT), MIN_RESULT / limit.tokens)] : []),
      lever('max_uses', count, 1),
    ];
  });
}

/** A page of fewer tokens is of no use. */
const MIN_RESULT = 500;
const MAX_LIMIT = 10_000_000;

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
const times = (count: number, each: number): number => (count === 0 || each === 0 ? 0 : count * each);

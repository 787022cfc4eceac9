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
export interface Use {
  readonly path: string;
  readonly tool: MemberMap;
  readonly row: HostedTool;
  readonly uses: number;
  readonly reads: number;
}

/** The hosted tools of a request, as plain data: what would be admitted instead is computed only when the balance is short. */
export interface ToolUses {
  readonly uses: readonly Use[];
  /** The uses of all tools together. */
  readonly calls: number | undefined;
  /** One member limits all tools, as in responses; in messages, each tool has its own. */
  readonly limitsAll: boolean;
}

/** `read` returns a member of the request, or undefined for tools that are known to run at the client. */
export const toolBoundsOf = (read: Read): ToolBounds => toolFactsOf(read, false).bounds;

export function toolFactsOf(
  read: Read,
  limitsAll: boolean,
): { readonly bounds: ToolBounds; readonly toolUses: ToolUses | undefined } {
  const uses = usesIn(read);
  if (uses.length === 0) return { bounds: hasTools(read) ? CLIENT_TOOLS : NO_TOOLS, toolUses: undefined };
  const calls = countIn(read('max_tool_calls'), 'max_tool_calls');
  const isAdvised = uses.length <= MAX_ADVISED_TOOLS;
  return {
    bounds: boundsOfUses(uses, calls),
    toolUses: isAdvised ? { uses: uses.map(withoutContent), calls, limitsAll } : undefined,
  };
}

/** The work of an advice grows with the square of the number of tools. */
const MAX_ADVISED_TOOLS = 32;
const MAX_NAME = 100;

/** Only the members on which the bound depends. */
function withoutContent(use: Use): Use {
  const members = Object.entries(use.tool).filter(([name, value]) => LIMITING.has(name) && typeof value !== 'object');
  return {
    ...use,
    tool: Object.fromEntries(
      members.map(([name, value]) => [name, typeof value === 'string' ? value.slice(0, MAX_NAME) : value]),
    ),
  };
}

function boundsOfUses(uses: readonly Use[], maxCalls: number | undefined): ToolBounds {
  const calls = maxCalls ?? Number.POSITIVE_INFINITY;
  const used = uses.map((use) => ({ ...use, uses: Math.min(use.uses, Math.max(0, calls)) }));
  const most = used.reduce((max, { uses: count, reads }) => (count > 0 ? Math.max(max, reads) : max), 0);
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
export function toolLevers({ uses, calls, limitsAll }: ToolUses): Lever<ToolBounds>[] {
  if (limitsAll) {
    const value = calls ?? sum(uses.map(({ uses: count }) => count));
    return [{ param: 'max_tool_calls', value, min: 1, boundsWith: (count) => boundsOfUses(uses, count) }];
  }
  return uses.flatMap(({ path, tool, row, uses: count, reads }, index): Lever<ToolBounds>[] => {
    // Other members than elements of `tools` have no limits.
    if (tool.type === undefined) return [];
    const lever = (member: string, value: number, min: number): Lever<ToolBounds> => ({
      param: `${path}.${member}`,
      value,
      min,
      boundsWith: (lower) => boundsOfUses(uses.with(index, useOf({ ...tool, [member]: lower }, row, path)), calls),
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

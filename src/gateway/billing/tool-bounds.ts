/** What the tools of a request can make a provider read, search and draw, by the table of hosted tools. */
import * as rules from '../../rules/index.ts';
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
const CLIENT_TOOLS: ToolBounds = { ...NO_TOOLS, toolInput: rules.TOOL_PROMPT_TOKENS.anyTools };

export const TOOL_MEMBERS = ['tools', 'max_tool_calls', ...rules.REQUEST_TOOLS.map(([member]) => member)];
export const LIMITING: ReadonlySet<string> = new Set([
  ...['type', 'max_uses', 'max_content_tokens', 'max_num_results', 'max_tokens', 'size', 'quality', 'partial_images'],
  'frame_count',
]);

export interface PlacedTool {
  readonly path: string;
  readonly tool: unknown;
}

/** A hosted tool of the request and how often it may be used. */
export interface Use {
  readonly path: string;
  readonly tool: MemberMap;
  readonly row: rules.HostedTool;
  readonly uses: number;
  readonly reads: number;
}

/**
 * The hosted tools of a request, as plain data: what would be admitted
 * instead is computed only when the balance is short.
 */
export interface ToolUses {
  readonly uses: readonly Use[];
  readonly calls: number | undefined;
  /** One member limits all tools, as in responses; in messages, each tool has its own. */
  readonly limitsAll: boolean;
}

/** `read` returns a member of the request. `tools`: those that may be hosted, where they are known already. */
export function toolFactsOf(read: Read, limitsAll: boolean, tools: readonly PlacedTool[] = toolsIn(read)) {
  const uses = [...tools.flatMap(({ tool, path }) => usesOf(objectIn(tool) ?? {}, path)), ...requestUses(read)];
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
    toolInput: rules.TOOL_PROMPT_TOKENS.anyTools + uses.length * rules.TOOL_PROMPT_TOKENS.hosted + results,
    openTool: used.find(({ uses: count, reads }) => count > 0 && reads === Number.POSITIVE_INFINITY)?.path,
    ownCalls: sum(used.map(({ row, uses: count }) => (row.ownCall ? count : 0))),
    maxSearches: Math.min(calls, sum(used.map(({ row, uses: count }) => (row.isBilled ? count : 0)))),
    moreOutput: sum(used.map(({ uses: count, ...use }) => times(count, writtenBy(use)))),
  };
}

const hasTools = (read: Read): boolean => read('tools') !== undefined && read('tools') !== null;

/** Members that are tools by themselves. False and an empty list switch none on. */
const requestUses = (read: Read): Use[] =>
  rules.REQUEST_TOOLS.flatMap(([member, row]) => {
    const value = read(member);
    const isOn = Array.isArray(value) ? value.length > 0 : Boolean(value);
    return isOn ? [useOf({}, row, member)] : [];
  });

/** The tools of a parsed request, with those that items of its input add. A single value counts as a list of one. */
function toolsIn(read: Read): PlacedTool[] {
  const input = read('input');
  const added = Array.isArray(input)
    ? input.flatMap((item, n) => flatTools(objectIn(item)?.tools, `input[${n}].tools`))
    : [];
  return [...flatTools(read('tools'), 'tools'), ...added];
}

const flatTools = (tools: unknown, path: string): PlacedTool[] =>
  listOf(tools).flatMap((tool, n): PlacedTool[] => {
    const inner = objectIn(tool);
    return rules.TOOL_GROUP_TYPES.has(inner?.type)
      ? flatTools(inner?.tools, `${path}[${n}].tools`)
      : [{ path: `${path}[${n}]`, tool }];
  });
const listOf = (value: unknown): readonly unknown[] => [value ?? []].flat();

/** A tool of generate-content may be several: each of its members is one. */
function usesOf(tool: MemberMap, path: string): Use[] {
  const { type } = tool;
  if (typeof type === 'string' && !rules.CLIENT_TOOL_TYPES.has(type)) {
    const row = rules.hostedToolOfType(type);
    const isAtClient = row.runsIn !== undefined && !/^container/.test(String(objectIn(tool[row.runsIn])?.type ?? ''));
    return isAtClient ? [] : [useOf(tool, row, path)];
  }
  if (type !== undefined || 'name' in tool || 'function' in tool) return [];
  return Object.entries(tool).flatMap(([name, value]) =>
    rules.CLIENT_TOOL_MEMBERS.has(name) || value === null
      ? []
      : [useOf({}, rules.hostedToolOfMember(name), `${path}.${name}`)],
  );
}

function useOf(tool: MemberMap, row: rules.HostedTool, path: string): Use {
  const { readLimit } = row;
  const limit = readLimit && (countIn(tool[readLimit.member], `${path}.${readLimit.member}`) ?? readLimit.byDefault);
  const reads = row.reads === 'context' ? Number.POSITIVE_INFINITY : row.reads;
  return {
    path,
    tool,
    row,
    uses: Math.max(0, Math.ceil(countIn(tool.max_uses, `${path}.max_uses`) ?? rules.DEFAULT_TOOL_USES)),
    reads:
      readLimit && limit !== undefined && limit >= 0 ? Math.min(reads, Math.ceil(limit) * readLimit.tokens) : reads,
  };
}

function writtenBy({ tool, row, path }: Omit<Use, 'uses'>): number {
  if (row.ownCall) return countIn(tool[row.ownCall.member], `${path}.${row.ownCall.member}`) ?? row.ownCall.writes;
  if (tool.type !== 'image_generation') return 0;
  const { size, quality } = tool;
  const partial = countIn(tool.partial_images, `${path}.partial_images`) ?? 0;
  const frames =
    countIn(tool.frame_count, `${path}.frame_count`) ?? (tool.output_format === 'gif' ? rules.DEFAULT_FRAMES : 1);
  const each = rules.imageTokens({
    size: typeof size === 'string' ? size : 'auto',
    quality: typeof quality === 'string' ? quality : 'auto',
    partialImages: Math.min(Math.max(partial, 0), 3),
  });
  return each * Math.max(1, Math.ceil(frames));
}

/**
 * Members that limit uses and results, where the dialect has them:
 * those of a tool in messages, one for all tools in responses.
 */
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

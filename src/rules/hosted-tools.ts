/**
 * Tools that a provider runs, and the tokens that one use can make a model read, which admission reserves: each figure
 * has its source, or "assumed".
 */

export interface HostedTool {
  /** What `type` begins with, in chat, messages and responses. */
  readonly types?: readonly string[];
  /** The member of a generate-content tool. */
  readonly members?: readonly string[];
  /** Members of a request that are such a tool by themselves. */
  readonly requests?: readonly string[];
  /** Tokens that the results of one use can have. `context`: nothing limits them but the context of the model. */
  readonly reads: number | 'context';
  /** A member of the tool that limits `reads`, in units of so many tokens. */
  readonly readLimit?: { readonly member: string; readonly tokens: number; readonly byDefault?: number };
  /** Each use may be billed too, by `per_search`, `per_file_search` or `per_fetch`. */
  readonly isBilled?: true;
  /** Each use is a call of its own that reads the conversation again and writes this much, or what its member says. */
  readonly ownCall?: { readonly member: string; readonly writes: number };
  /** The provider runs the tool only where this member names a container; else the client does. */
  readonly runsIn?: string;
  readonly source: string;
}

/**
 * Uses of a tool in one request that limits them neither for the tool nor for all tools. Messages providers pause after
 * ten rounds.
 */
export const DEFAULT_TOOL_USES = 10;

/**
 * What a provider adds to the prompt for a request with tools, and for each hosted tool. Documented up to 804 and
 * 1,234.
 */
export const TOOL_PROMPT_TOKENS = { anyTools: 1_000, hosted: 1_500 } as const;

const SNAKE = /[A-Z]/g;
const bothCases = (...names: string[]): string[] =>
  names.flatMap((name) => [name, name.replace(SNAKE, (letter) => `_${letter.toLowerCase()}`)]);

export const HOSTED_TOOLS: readonly HostedTool[] = [
  {
    types: ['web_search'],
    members: bothCases(
      'googleSearch',
      'googleSearchRetrieval',
      'enterpriseWebSearch',
      'exaAiSearch',
      'parallelAiSearch',
    ),
    requests: ['web_search_options', 'web_search', 'enable_search', 'search_parameters', 'search_options'],
    reads: 30_000,
    isBilled: true,
    source: 'assumed: ten results of up to 3,000 tokens; providers state no maximum',
  },
  {
    types: ['web_fetch'],
    reads: 'context',
    readLimit: { member: 'max_content_tokens', tokens: 1 },
    isBilled: true,
    source:
      'messages: `max_content_tokens` limits the text of a page; without it nothing does. A PDF is not limited by it',
  },
  {
    members: bothCases('urlContext'),
    reads: 'context',
    isBilled: true,
    source: 'generate-content: up to 20 addresses of up to 34 MB each',
  },
  {
    types: ['file_search'],
    reads: 'context',
    readLimit: { member: 'max_num_results', tokens: 4_096, byDefault: 20 },
    isBilled: true,
    source: 'responses: at most 50 results, 20 by default, each a chunk of at most 4,096 tokens',
  },
  {
    members: bothCases('fileSearch', 'retrieval'),
    reads: 'context',
    isBilled: true,
    source: 'generate-content: no maximum stated',
  },
  { members: bothCases('googleMaps'), reads: 30_000, isBilled: true, source: 'assumed: as a web search' },
  { types: ['code_interpreter'], reads: 'context', source: 'responses: no maximum stated for the output of code' },
  {
    types: ['code_execution'],
    members: bothCases('codeExecution'),
    reads: 'context',
    source: 'messages, generate-content: no maximum stated for the output of code',
  },
  {
    requests: ['plugins'],
    reads: 'context',
    isBilled: true,
    source: 'chat: a plugin of a router searches the web, or reads documents of any size',
  },
  { types: ['programmatic_tool_calling'], reads: 'context', source: 'responses: code that calls the other tools' },
  {
    types: ['mcp'],
    members: bothCases('mcpServers'),
    requests: ['mcp_servers'],
    reads: 'context',
    source: 'all: the servers decide on the size of their results and of their list of tools',
  },
  {
    types: ['shell'],
    reads: 'context',
    runsIn: 'environment',
    source: 'responses: no maximum stated for the output of commands in a container',
  },
  {
    types: ['tool_search'],
    reads: 0,
    source: 'messages, responses: loads definitions that the request contains, so that its bytes count them',
  },
  {
    types: ['image_generation'],
    reads: 10_000,
    source: 'assumed: its prompt and one picture of at most 8,192 tokens; its output is counted by size and quality',
  },
  {
    types: ['advisor'],
    reads: 0,
    ownCall: { member: 'max_tokens', writes: 32_000 },
    source: 'messages: another model reads the conversation; 32,000 tokens of output are assumed without `max_tokens`',
  },
  {
    types: ['computer', 'browser', 'bash', 'text_editor', 'memory', 'apply_patch', 'local_shell'],
    members: bothCases('computerUse'),
    reads: 0,
    source: 'all: the client runs these and sends the results in its next request',
  },
];

/** A tool of a type that is not listed. */
export const UNKNOWN_TOOL: HostedTool = { reads: 'context', source: 'assumed' };

/** Tools that clients run, with their definition in the request. */
export const CLIENT_TOOL_TYPES: ReadonlySet<unknown> = new Set([undefined, null, 'function', 'custom']);
/** Tools that hold others. */
export const TOOL_GROUP_TYPES: ReadonlySet<unknown> = new Set(['namespace']);
export const CLIENT_TOOL_MEMBERS: ReadonlySet<string> = new Set(bothCases('functionDeclarations'));

/** Members of a request that are tools, with their rows. */
export const REQUEST_TOOLS: readonly (readonly [member: string, HostedTool])[] = HOSTED_TOOLS.flatMap((row) =>
  (row.requests ?? []).map((member) => [member, row] as const),
);

export const hostedToolOfType = (type: string): HostedTool =>
  HOSTED_TOOLS.find(({ types }) => types?.some((begin) => type.startsWith(begin))) ?? UNKNOWN_TOOL;
export const hostedToolOfMember = (name: string): HostedTool =>
  HOSTED_TOOLS.find(({ members }) => members?.includes(name)) ?? UNKNOWN_TOOL;

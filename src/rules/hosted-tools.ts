/** Tools that a provider runs, and the tokens that one use can make a model read, which admission reserves: each figure has its source, or "assumed". */
import { linesOf, withCode, words } from './notation.ts';

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

/** Uses of a tool in one request that limits them neither for the tool nor for all tools. Messages providers pause after ten rounds. */
export const DEFAULT_TOOL_USES = 10;
/** Names of models that search, whatever the request says: routers add a search by a suffix. */
export const SEARCHING_MODEL = /:online$/;

/** What a provider adds to the prompt for a request with tools, and for each hosted tool. Documented up to 804 and 1,234. */
export const TOOL_PROMPT_TOKENS = { anyTools: 1_000, hosted: 1_500 } as const;

const SNAKE = /[A-Z]/g;
const bothCases = (...names: string[]): string[] =>
  names.flatMap((name) => [name, name.replace(SNAKE, (letter) => `_${letter.toLowerCase()}`)]);

const some = (cell: string): readonly string[] | undefined => (cell === '-' ? undefined : words(cell));

/** What a use reads; then `billed`, `limit=MEMBER:TOKENS:DEFAULT`, `calls=MEMBER:WRITES` and `in=MEMBER`. */
function useIn(cell: string): Omit<HostedTool, 'source'> {
  const [reads, ...more] = words(cell);
  const { limit, calls, in: runsIn } = Object.fromEntries(more.map((word) => word.split('=')));
  const [limited, tokens, byDefault] = limit?.split(':') ?? [];
  const [called, writes] = calls?.split(':') ?? [];
  return {
    reads: reads === 'context' ? reads : Number(reads),
    ...(limited && {
      readLimit: { member: limited, tokens: Number(tokens), ...(byDefault && { byDefault: Number(byDefault) }) },
    }),
    ...(more.includes('billed') && { isBilled: true as const }),
    ...(called && { ownCall: { member: called, writes: Number(writes) } }),
    ...(runsIn && { runsIn }),
  };
}

/** A line is `types | members of tools | members of requests | use | source`, with `-` for none. */
export const HOSTED_TOOLS: readonly HostedTool[] = linesOf(`
web_search | googleSearch googleSearchRetrieval enterpriseWebSearch exaAiSearch parallelAiSearch
  | web_search_options web_search enable_search search_parameters search_options
  | 30000 billed | assumed: ten results of up to 3,000 tokens; providers state no maximum
web_fetch | - | - | context billed limit=max_content_tokens:1
  | messages: 'max_content_tokens' limits the text of a page; without it nothing does. A PDF is not limited by it
- | urlContext | - | context billed | generate-content: up to 20 addresses of up to 34 MB each
file_search | - | - | context billed limit=max_num_results:4096:20
  | responses: at most 50 results, 20 by default, each a chunk of at most 4,096 tokens
- | fileSearch retrieval | - | context billed | generate-content: no maximum stated
- | googleMaps | - | 30000 billed | assumed: as a web search
code_interpreter | - | - | context | responses: no maximum stated for the output of code
code_execution | codeExecution | - | context | messages, generate-content: no maximum stated for the output of code
- | - | plugins | context billed | chat: a plugin of a router searches the web, or reads documents of any size
programmatic_tool_calling | - | - | context | responses: code that calls the other tools
mcp | mcpServers | mcp_servers | context | all: the servers decide on the size of their results and of their list of tools
shell | - | - | context in=environment | responses: no maximum stated for the output of commands in a container
tool_search | - | - | 0 | messages, responses: loads definitions that the request contains, so that its bytes count them
image_generation | - | - | 10000
  | assumed: its prompt and one picture of at most 8,192 tokens; its output is counted by size and quality
advisor | - | - | 0 calls=max_tokens:32000
  | messages: another model reads the conversation; 32,000 tokens of output are assumed without 'max_tokens'
computer browser bash text_editor memory apply_patch local_shell | computerUse | - | 0
  | all: the client runs these and sends the results in its next request
`).map((line) => {
  const [types = '-', members = '-', requests = '-', use = '', source = ''] = withCode(line).split(' | ');
  const rows = { types: some(types), members: some(members) && bothCases(...words(members)), requests: some(requests) };
  const known = Object.fromEntries(Object.entries(rows).filter(([, names]) => names !== undefined));
  return { ...known, ...useIn(use), source };
});

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

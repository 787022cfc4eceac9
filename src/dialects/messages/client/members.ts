/** The members of a request that the decoders of this dialect read. */
import type { JsonObject } from '../../hub/types.ts';
import { byType, isDirectCaller, type Members, type MemberTable } from '../../wire/members.ts';

const TEXT: MemberTable = { type: true, text: true, cache_control: true };

/** The texts in a document or a search result are joined, so nothing else of them is read. */
const INNER_TEXTS: Members = byType({ text: { type: true, text: true } });

const INPUT_BLOCKS: Readonly<Record<string, Members>> = {
  text: TEXT,
  image: { type: true, source: true, cache_control: true },
  document: {
    type: true,
    source: byType({ content: { type: true, content: INNER_TEXTS } }),
    title: true,
    context: true,
    citations: { enabled: true },
    cache_control: true,
  },
  search_result: {
    type: true,
    source: true,
    title: true,
    content: INNER_TEXTS,
    citations: { enabled: true },
    cache_control: true,
  },
  tool_reference: { type: true, tool_name: true },
};

const BLOCKS: Members = byType({
  ...INPUT_BLOCKS,
  tool_result: {
    type: true,
    tool_use_id: true,
    is_error: true,
    cache_control: true,
    content: byType(INPUT_BLOCKS),
  },
  tool_addition: {
    type: true,
    tool: byType({ tool_definition: { type: true, definition: (tool) => toolTable(tool) } }),
  },
});

/** Blocks of hosted tools are read as a whole, apart from files of their provider and settings for it. */
const HOSTED: Members = ({ caller }) => ({ ...HOSTED_CONTENT, caller: isDirectCaller(caller) });
const HOSTED_CONTENT: MemberTable = {
  '*': true,
  cache_control: false,
  // Of a text; a document has a setting of this name.
  citations: ({ type }) => type === undefined,
  context: false,
  file_id: false,
  content: () => HOSTED_CONTENT,
  source: () => HOSTED_CONTENT,
  tool_references: () => HOSTED_CONTENT,
};

/** The client returns assistant messages as they are; what only their provider understands is dropped with its block. */
const ASSISTANT_BLOCKS: Members = (block) =>
  /_tool_(?:use|result)$/.test(String(block.type)) ? HOSTED : OWN_BLOCKS(block);
const OWN_BLOCKS = byType({
  // No other provider accepts a citation as input; the text stays.
  text: { '*': true, citations: false },
  tool_use: ({ caller }) => ({
    '*': true,
    cache_control: false,
    toolset_name: false,
    caller: isDirectCaller(caller),
  }),
  // No provider returns these, so the caller wrote them; other providers accept them from the user only.
  image: { type: true },
  document: { type: true },
  search_result: { type: true },
});

const MESSAGES: Members = ({ role }) =>
  role === 'assistant' ? { '*': true, content: ASSISTANT_BLOCKS } : { role: true, content: BLOCKS };

/** A hosted tool that is not listed keeps its raw form, or is rejected or dropped as a whole. */
const toolTable = ({ type }: JsonObject): Members => {
  if (typeof type !== 'string' || type === 'custom') return FUNCTION;
  const family = type.replace(/_\d{8}$/, '');
  return TOOL_TABLES.get(family) ?? true;
};
const FUNCTION: MemberTable = {
  type: true,
  name: true,
  description: true,
  input_schema: true,
  strict: true,
  cache_control: true,
  defer_loading: true,
  allowed_callers: false,
};
const PLAIN: MemberTable = { type: true, name: true, cache_control: true, defer_loading: true };
const DOMAINS: MemberTable = { ...PLAIN, max_uses: true, allowed_domains: true, blocked_domains: true };
const TOOL_TABLES: ReadonlyMap<string, MemberTable> = new Map([
  // Their schema is the published one, which has no place for further options.
  ['bash', PLAIN],
  ['text_editor', PLAIN],
  ['memory', PLAIN],
  ['code_execution', PLAIN],
  ['web_search', { ...DOMAINS, user_location: true }],
  ['web_fetch', DOMAINS],
]);

export const MEMBERS: MemberTable = {
  model: true,
  max_tokens: true,
  messages: MESSAGES,
  system: TEXT,
  tools: toolTable,
  tool_choice: { type: true, name: true, disable_parallel_tool_use: true },
  thinking: { type: true, budget_tokens: true, display: true },
  output_config: { effort: true, format: { type: true, schema: true } },
  output_format: { type: true, schema: true },
  stop_sequences: true,
  temperature: true,
  top_p: true,
  top_k: true,
  stream: true,
  metadata: { user_id: true },
  service_tier: true,
  cache_control: true,
  // Both have their own rules about what is dropped; see context-management.ts and tools/mcp.ts.
  context_management: true,
  mcp_servers: true,
};

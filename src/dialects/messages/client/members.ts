/** The members of a request that the decoders of this dialect read. */
import type { JsonObject } from '../../hub/types.ts';
import { byType, isDirectCaller, type Members, type MemberTable, reads } from '../../wire/members.ts';

const TEXT: MemberTable = reads('type', 'text', 'cache_control');

/** The texts in a document or a search result are joined, so nothing else of them is read. */
const INNER_TEXTS: Members = byType({ text: reads('type', 'text') });

const INPUT_BLOCKS: Readonly<Record<string, Members>> = {
  text: TEXT,
  image: reads('type', 'source', 'cache_control'),
  document: {
    ...reads('type', 'title', 'context', 'cache_control'),
    source: byType({ content: { type: true, content: INNER_TEXTS } }),
    citations: { enabled: true },
  },
  search_result: {
    ...reads('type', 'source', 'title', 'cache_control'),
    content: INNER_TEXTS,
    citations: { enabled: true },
  },
  tool_reference: reads('type', 'tool_name'),
};

const BLOCKS: Members = byType({
  ...INPUT_BLOCKS,
  tool_result: { ...reads('type', 'tool_use_id', 'is_error', 'cache_control'), content: byType(INPUT_BLOCKS) },
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

/**
 * The client returns assistant messages as they are; what only their
 * provider understands is dropped with its block.
 */
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
  ...reads('type', 'name', 'description', 'input_schema', 'strict', 'cache_control', 'defer_loading'),
  allowed_callers: false,
};
const PLAIN: MemberTable = reads('type', 'name', 'cache_control', 'defer_loading');
const DOMAINS: MemberTable = { ...PLAIN, ...reads('max_uses', 'allowed_domains', 'blocked_domains') };
const TOOL_TABLES: ReadonlyMap<string, MemberTable> = new Map([
  // Their schema is the published one, which has no place for further options.
  ['bash', PLAIN],
  ['text_editor', PLAIN],
  ['memory', PLAIN],
  ['code_execution', PLAIN],
  // Other providers take the size of the screen from its pictures.
  ['computer', PLAIN],
  ['web_search', { ...DOMAINS, user_location: true }],
  ['web_fetch', DOMAINS],
]);

export const MEMBERS: MemberTable = {
  model: true,
  max_tokens: true,
  stop_sequences: true,
  temperature: true,
  top_p: true,
  top_k: true,
  stream: true,
  service_tier: true,
  cache_control: true,
  messages: MESSAGES,
  system: TEXT,
  tools: toolTable,
  tool_choice: reads('type', 'name', 'disable_parallel_tool_use'),
  thinking: reads('type', 'budget_tokens', 'display'),
  output_config: { effort: true, format: reads('type', 'schema') },
  output_format: reads('type', 'schema'),
  metadata: { user_id: true },
  // Both have their own rules about what is dropped; see decode-request.ts and tools/mcp.ts.
  context_management: true,
  mcp_servers: true,
};

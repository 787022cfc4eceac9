/** The members of a request that the decoders of this dialect read. */
import type { JsonObject } from '../../hub/types.ts';
import { byType, isDirectCaller, type Members, type MemberTable, reads } from '../../wire/members.ts';

const PARTS: Members = byType({
  input_text: reads('type', 'text', 'prompt_cache_breakpoint'),
  input_image: reads('type', 'image_url', 'file_id', 'detail', 'prompt_cache_breakpoint'),
  input_file: reads('type', 'file_id', 'file_url', 'file_data', 'filename', 'prompt_cache_breakpoint'),
});

const FORMAT: MemberTable = reads('type', 'name', 'schema', 'strict', 'description');

/** A call that the code of a provider made, or that runs while the model goes on, is a plain call elsewhere. */
const withCaller =
  (members: MemberTable): Members =>
  ({ caller }) => ({ '*': true, caller: isDirectCaller(caller), ...members });
const CALL = withCaller({ async: false });
const RESULT = withCaller({ output: PARTS });

/** Items that the provider produced return as they were. */
const ITEMS: Members = (item) => ITEM_TABLES.get(typeOf(item)) ?? true;
const typeOf = ({ type, role }: JsonObject): unknown => type ?? (role === undefined ? undefined : 'message');
const ITEM_TABLES: ReadonlyMap<unknown, Members> = new Map<unknown, Members>([
  // No other provider accepts a citation as input; the text stays.
  [
    'message',
    ({ role }) => ({
      '*': true,
      content: role === 'assistant' ? { '*': true, annotations: false, logprobs: false } : PARTS,
    }),
  ],
  ['function_call', CALL],
  ['custom_tool_call', CALL],
  ['shell_call', withCaller({ environment: ({ type }) => (type === 'local' ? { type: true } : false) })],
  ['shell_call_output', withCaller({ max_output_length: false })],
  ['apply_patch_call', CALL],
  ['function_call_output', RESULT],
  ['custom_tool_call_output', RESULT],
  ['local_shell_call_output', RESULT],
  ['apply_patch_call_output', RESULT],
  // Only its issuer knows what its user has to confirm.
  ['computer_call', { '*': true, pending_safety_checks: false }],
  ['computer_call_output', { '*': true, acknowledged_safety_checks: false }],
  ['additional_tools', { '*': true, tools: () => TOOLS }],
  ['tool_search_output', { '*': true, tools: () => TOOLS }],
  ['configuration_update', { '*': true, reasoning: { effort: true }, text: { format: FORMAT } }],
]);

const FUNCTION: MemberTable = {
  ...reads('type', 'name', 'description', 'parameters', 'strict', 'defer_loading'),
  allowed_callers: false,
};

/** Other hosted tools keep their raw form, and each encoder reports the options that it drops. */
const TOOL_TABLES: Readonly<Record<string, Members>> = {
  function: FUNCTION,
  custom: { ...reads('type', 'name', 'description', 'defer_loading'), format: reads('type', 'syntax', 'definition') },
  // The name becomes part of the tool names, which leaves no place for the description.
  namespace: { type: true, name: true, description: false, tools: () => TOOLS },
  shell: { type: true, environment: { type: true } },
  local_shell: { type: true },
  apply_patch: { type: true },
  // Containers of other providers have no network, so forbidding it needs no field.
  code_interpreter: {
    type: true,
    container: { type: true, file_ids: true, network_policy: byType({ allowlist: { type: true } }) },
  },
  tool_search: reads('type', 'execution'),
  computer: { type: true },
  computer_use_preview: reads('type', 'display_width', 'display_height'),
};
const TOOLS: Members = byType(TOOL_TABLES);

export const MEMBERS: MemberTable = {
  model: true,
  stream: true,
  instructions: true,
  include: true,
  store: true,
  background: true,
  previous_response_id: true,
  truncation: true,
  tool_choice: true,
  parallel_tool_calls: true,
  max_output_tokens: true,
  max_tool_calls: true,
  temperature: true,
  top_p: true,
  top_logprobs: true,
  prompt_cache_key: true,
  metadata: true,
  user: true,
  safety_identifier: true,
  service_tier: true,
  input: ITEMS,
  tools: TOOLS,
  reasoning: reads('effort', 'summary', 'generate_summary'),
  text: { format: FORMAT, verbosity: true },
  prompt_cache_options: { prewarm: true },
  context_management: ({ type }) => (type === 'compaction' ? reads('type', 'compact_threshold') : false),
  // Members of a WebSocket message.
  generate: true,
  stream_id: true,
  type: true,
};

/** The members of a request that the decoders of this dialect read. */
import type { JsonObject } from '../../hub/types.ts';
import { byType, isDirectCaller, type Members, type MemberTable } from '../../wire/members.ts';

const PARTS: Members = byType({
  input_text: { type: true, text: true, prompt_cache_breakpoint: true },
  input_image: { type: true, image_url: true, file_id: true, detail: true, prompt_cache_breakpoint: true },
  input_file: {
    type: true,
    file_id: true,
    file_url: true,
    file_data: true,
    filename: true,
    prompt_cache_breakpoint: true,
  },
});

const FORMAT: MemberTable = { type: true, name: true, schema: true, strict: true, description: true };

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
  ['additional_tools', { '*': true, tools: () => TOOLS }],
  ['tool_search_output', { '*': true, tools: () => TOOLS }],
  ['configuration_update', { '*': true, reasoning: { effort: true }, text: { format: FORMAT } }],
]);

const FUNCTION: MemberTable = {
  type: true,
  name: true,
  description: true,
  parameters: true,
  strict: true,
  defer_loading: true,
  allowed_callers: false,
};

/** Other hosted tools keep their raw form, and each encoder reports the options that it drops. */
const TOOL_TABLES: Readonly<Record<string, Members>> = {
  function: FUNCTION,
  custom: {
    type: true,
    name: true,
    description: true,
    format: { type: true, syntax: true, definition: true },
    defer_loading: true,
  },
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
  tool_search: { type: true, execution: true },
};
const TOOLS: Members = byType(TOOL_TABLES);

export const MEMBERS: MemberTable = {
  model: true,
  stream: true,
  instructions: true,
  input: ITEMS,
  tools: TOOLS,
  tool_choice: true,
  parallel_tool_calls: true,
  reasoning: { effort: true, summary: true, generate_summary: true },
  text: { format: FORMAT, verbosity: true },
  max_output_tokens: true,
  max_tool_calls: true,
  temperature: true,
  top_p: true,
  top_logprobs: true,
  include: true,
  store: true,
  background: true,
  previous_response_id: true,
  prompt_cache_key: true,
  prompt_cache_options: { prewarm: true },
  metadata: true,
  user: true,
  safety_identifier: true,
  service_tier: true,
  truncation: true,
  // Members of a WebSocket message.
  generate: true,
  stream_id: true,
  type: true,
};

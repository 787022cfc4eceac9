/** The members of a request that the decoders of this dialect read. */
import { byType, type Members, type MemberTable } from '../../wire/members.ts';

const PART: MemberTable = {
  type: true,
  prompt_cache_breakpoint: true,
  cache_control: { type: true, ttl: true },
};
const PARTS: Members = byType({
  text: { ...PART, text: true },
  image_url: { ...PART, image_url: { url: true, detail: true } },
  video_url: { ...PART, video_url: { url: true } },
  document_url: { ...PART, document_url: { url: true }, document_name: true },
  file_url: { ...PART, file_url: { url: true }, file_name: true },
  input_audio: { ...PART, input_audio: true },
  file: { ...PART, file: { filename: true, file_id: true, file_data: true } },
});

/** The client returns assistant messages as they are, with whatever else their provider put into them. */
const ASSISTANT: MemberTable = {
  '*': true,
  name: false,
  annotations: false,
  content: { '*': true, prompt_cache_breakpoint: false },
};

const MESSAGES: Members = ({ role }) => {
  if (role === 'assistant') return ASSISTANT;
  return { role: true, content: PARTS, tool_call_id: true, name: role === 'function' };
};

const FUNCTION: MemberTable = { name: true, description: true, parameters: true, strict: true };

/** `audio` and `prediction` are official, but no other dialect has them. */
export const MEMBERS: MemberTable = {
  model: true,
  messages: MESSAGES,
  stream: true,
  stream_options: { include_usage: true },
  max_completion_tokens: true,
  max_tokens: true,
  temperature: true,
  top_p: true,
  seed: true,
  presence_penalty: true,
  frequency_penalty: true,
  logit_bias: true,
  n: true,
  logprobs: true,
  top_logprobs: true,
  stop: true,
  response_format: { type: true, json_schema: { name: true, schema: true, strict: true, description: true } },
  verbosity: true,
  modalities: true,
  image_config: { aspect_ratio: true, image_size: true },
  reasoning_effort: true,
  // Not official: aggregators and open-model servers.
  reasoning: { effort: true, max_tokens: true, enabled: true, exclude: true },
  reasoning_format: true,
  include_reasoning: true,
  tools: byType(
    {
      function: { type: true, function: FUNCTION, cache_control: { type: true, ttl: true } },
      custom: {
        type: true,
        custom: {
          name: true,
          description: true,
          format: { type: true, grammar: { syntax: true, definition: true } },
        },
        cache_control: { type: true, ttl: true },
      },
    },
    'function',
  ),
  functions: FUNCTION,
  tool_choice: true,
  function_call: true,
  parallel_tool_calls: true,
  web_search_options: true,
  store: true,
  metadata: true,
  user: true,
  safety_identifier: true,
  prompt_cache_key: true,
  service_tier: true,
};

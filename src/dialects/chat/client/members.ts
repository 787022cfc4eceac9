/** The members of a request that the decoders of this dialect read. */
import { byType, type Members, type MemberTable, reads } from '../../wire/members.ts';

const PART: MemberTable = { ...reads('type', 'prompt_cache_breakpoint'), cache_control: reads('type', 'ttl') };
const PARTS: Members = byType({
  text: { ...PART, text: true },
  image_url: { ...PART, image_url: reads('url', 'detail') },
  video_url: { ...PART, video_url: { url: true } },
  document_url: { ...PART, document_url: { url: true }, document_name: true },
  file_url: { ...PART, file_url: { url: true }, file_name: true },
  input_audio: { ...PART, input_audio: true },
  file: { ...PART, file: reads('filename', 'file_id', 'file_data') },
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

const FUNCTION: MemberTable = reads('name', 'description', 'parameters', 'strict');

/** `audio` and `prediction` are official, but no other dialect has them. */
export const MEMBERS: MemberTable = {
  model: true,
  stream: true,
  max_completion_tokens: true,
  max_tokens: true,
  n: true,
  stop: true,
  verbosity: true,
  modalities: true,
  reasoning_effort: true,
  temperature: true,
  top_p: true,
  seed: true,
  presence_penalty: true,
  frequency_penalty: true,
  logit_bias: true,
  logprobs: true,
  top_logprobs: true,
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
  messages: MESSAGES,
  stream_options: { include_usage: true },
  response_format: { type: true, json_schema: reads('name', 'schema', 'strict', 'description') },
  image_config: reads('aspect_ratio', 'image_size'),
  // Not official: aggregators and open-model servers.
  reasoning: reads('effort', 'max_tokens', 'enabled', 'exclude'),
  reasoning_format: true,
  include_reasoning: true,
  tools: byType(
    {
      function: { type: true, function: FUNCTION, cache_control: reads('type', 'ttl') },
      custom: {
        type: true,
        custom: { ...reads('name', 'description'), format: { type: true, grammar: reads('syntax', 'definition') } },
        cache_control: reads('type', 'ttl'),
      },
    },
    'function',
  ),
  functions: FUNCTION,
};

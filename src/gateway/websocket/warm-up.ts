/** The response of a turn that generates nothing (`generate: false`): complete as any other, with the settings of its request. */
import type { JsonFrame } from './frames.ts';

type Json = Readonly<Record<string, unknown>>;

/** Settings that a response repeats, with the values that hold without them. */
const SETTINGS: Json = {
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: 'auto',
  store: true,
  temperature: 1,
  tool_choice: 'auto',
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
};

const NO_USAGE = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/** The events of the turn, in order. `created` is in Unix seconds. */
export function warmUpEvents(create: JsonFrame, id: string, created: number): JsonFrame[] {
  const response = {
    id,
    object: 'response',
    created_at: created,
    model: create.model ?? '',
    output: [],
    error: null,
    incomplete_details: null,
    ...settingsOf(create),
  };
  const running = { ...response, status: 'in_progress', completed_at: null, usage: null };
  const completed = { ...response, status: 'completed', completed_at: created, usage: NO_USAGE };
  return [
    { type: 'response.created', response: running },
    { type: 'response.in_progress', response: running },
    { type: 'response.completed', response: completed },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
}

function settingsOf(create: Json): Json {
  const given = Object.entries(SETTINGS).map(([name, value]) => [name, create[name] ?? value]);
  return {
    ...Object.fromEntries(given),
    background: false,
    reasoning: { effort: null, summary: null, ...(create.reasoning as Json | null | undefined) },
    text: { format: { type: 'text' }, verbosity: 'medium', ...(create.text as Json | null | undefined) },
    tools: Array.isArray(create.tools) ? create.tools.map(toolOf) : [],
  };
}

const toolOf = (tool: unknown): unknown =>
  (tool as Json | null)?.type === 'function'
    ? { description: null, parameters: null, strict: null, ...(tool as Json) }
    : tool;

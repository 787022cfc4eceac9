/**
 * Objects and events of the responses dialect as the Open Responses specification requires them: every listed member
 * must be present.
 */
import assert from 'node:assert/strict';
import { z } from 'zod';

const id = z.string().min(1);
const index = z.int().min(0);
const status = z.enum(['in_progress', 'completed', 'incomplete']);

const logprobs = z.array(z.unknown());
const outputText = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.unknown()),
  logprobs,
});
const content = z.discriminatedUnion('type', [
  outputText,
  z.object({ type: z.literal('input_text'), text: z.string() }),
  z.object({ type: z.literal('summary_text'), text: z.string() }),
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
  z.object({
    type: z.literal('input_image'),
    image_url: z.string().nullable(),
    detail: z.enum(['low', 'high', 'auto']),
  }),
  z.object({ type: z.literal('input_file'), filename: z.string() }),
]);

export const itemSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message'),
    id,
    status,
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: z.array(content),
    phase: z.enum(['commentary', 'final_answer']).optional(),
  }),
  z.object({
    type: z.literal('function_call'),
    id,
    call_id: id,
    name: z.string(),
    arguments: z.string(),
    status,
  }),
  z.object({
    type: z.literal('function_call_output'),
    id,
    call_id: id,
    output: z.union([z.string(), z.array(content)]),
    status,
  }),
  z.object({ type: z.literal('reasoning'), id, summary: z.array(content), encrypted_content: z.string().optional() }),
  z.object({ type: z.literal('compaction'), id, encrypted_content: z.string().min(1) }),
]);

const usageSchema = z.object({
  input_tokens: z.int(),
  output_tokens: z.int(),
  total_tokens: z.int(),
  input_tokens_details: z.object({ cached_tokens: z.int() }),
  output_tokens_details: z.object({ reasoning_tokens: z.int() }),
});

const toolSchema = z.object({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().nullable(),
  parameters: z.record(z.string(), z.unknown()).nullable(),
  strict: z.boolean().nullable(),
});

const formatSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().nullable(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean(),
  }),
]);

export const responseSchema = z.object({
  id,
  object: z.literal('response'),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.string(),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(itemSchema),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(toolSchema),
  tool_choice: z.union([z.enum(['none', 'auto', 'required']), z.object({ type: z.string() })]),
  truncation: z.enum(['auto', 'disabled']),
  parallel_tool_calls: z.boolean(),
  text: z.object({ format: formatSchema, verbosity: z.enum(['low', 'medium', 'high']).optional() }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }).nullable(),
  usage: usageSchema.nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.unknown().refine((value) => value !== undefined, 'missing'),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
});
export type ResponseObject = z.infer<typeof responseSchema>;

export const compactionSchema = z.object({
  id,
  object: z.literal('response.compaction'),
  created_at: z.int(),
  output: z.array(itemSchema),
  usage: usageSchema,
});

const snapshot = { response: responseSchema };
const inItem = { item_id: id, output_index: index };
const inPart = { ...inItem, content_index: index };
const inSummary = { ...inItem, summary_index: index };
const EVENTS: Readonly<Record<string, z.ZodRawShape>> = {
  'response.created': snapshot,
  'response.in_progress': snapshot,
  'response.completed': snapshot,
  'response.incomplete': snapshot,
  'response.failed': snapshot,
  'response.output_item.added': { output_index: index, item: itemSchema },
  'response.output_item.done': { output_index: index, item: itemSchema },
  'response.content_part.added': { ...inPart, part: content },
  'response.content_part.done': { ...inPart, part: content },
  'response.output_text.delta': { ...inPart, delta: z.string(), logprobs },
  'response.output_text.done': { ...inPart, text: z.string(), logprobs },
  'response.refusal.delta': { ...inPart, delta: z.string() },
  'response.refusal.done': { ...inPart, refusal: z.string() },
  'response.function_call_arguments.delta': { ...inItem, delta: z.string() },
  'response.function_call_arguments.done': { ...inItem, arguments: z.string() },
  'response.reasoning_summary_part.added': { ...inSummary, part: content },
  'response.reasoning_summary_part.done': { ...inSummary, part: content },
  'response.reasoning_summary_text.delta': { ...inSummary, delta: z.string() },
  'response.reasoning_summary_text.done': { ...inSummary, text: z.string() },
};

/** Asserts that the value has every required member; the message names those that lack or have another type. */
export function assertShape<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  assert.fail(`${z.prettifyError(result.error)}\n${JSON.stringify(value).slice(0, 2_000)}`);
}

/** Asserts the shape and the numbering of the events of one response, and returns the response of the terminal one. */
export function assertEvents(events: readonly Readonly<Record<string, unknown>>[]): ResponseObject {
  for (const [n, event] of events.entries()) {
    const shape = EVENTS[String(event.type)] ?? assert.fail(`unknown event ${JSON.stringify(event).slice(0, 500)}`);
    assertShape(z.object({ type: z.string(), sequence_number: z.literal(n), ...shape }), event);
  }
  const last = events.at(-1) ?? assert.fail('no events');
  assert.match(String(last.type), /^response\.(?:completed|incomplete|failed)$/);
  return last.response as ResponseObject;
}

/** Responses objects. */
import type { Exchange } from '../exchange.ts';
import { type Fault, omitMembers } from '../faults.ts';
import { nowSeconds } from '../ids.ts';
import { type Json, type JsonObject, objectOf, objectsOf } from '../json.ts';
import { decide } from '../model.ts';
import type { NeutralRequest } from '../neutral-request.ts';
import { mint } from '../opaque.ts';
import type { Reply } from '../reply.ts';
import { sendStream } from '../stream.ts';
import { distortUsage, measure, type Usage } from '../usage.ts';
import { type Drawing, makeDrawing } from './drawing.ts';
import { readRequest } from './request.ts';
import { responseStream } from './stream.ts';

export async function createResponse(exchange: Exchange): Promise<void> {
  const { json, fault, state } = exchange;
  const { view, input, history } = readRequest(exchange);
  // A warm-up turn, which exists only on WebSockets.
  const reply = exchange.framing === 'frame' && json.generate === false ? EMPTY_REPLY : decide(view, fault);
  const usage = usageOf(measure(view, reply, state.cache));
  const id = state.ids.next('resp_');
  const drawing = await makeDrawing(exchange, view, reply);
  const output = outputOf(exchange, view, reply, drawing);
  const response = {
    ...responseOf(exchange, { id, reply: reply, output, usage: distortUsage(usage, fault.usage) }),
    ...(drawing && toolUsage(drawing, fault)),
  };
  const replay = () => responseStream(response, fault, drawing?.partials);
  const background = json.background === true;
  const pending = background && json.stream !== true;
  const known = input.map((item) => ({ ...item, id: item.id ?? state.ids.next('msg_') }));
  exchange.store(id, { response, input: known, history: [...history, ...output], background, pending, replay });
  if (json.stream === true) return sendStream(exchange, replay());
  await exchange.sendJson(
    pending ? { ...response, status: 'queued', output: [], usage: null, tool_usage: undefined } : response,
  );
}

const EMPTY_REPLY: Reply = { thoughts: '', text: '', calls: [], stop: 'end' };

interface ResponseParts {
  id: string;
  reply: Reply;
  output: JsonObject[];
  usage: JsonObject | undefined;
}

/** Echoes the settings of the request, with the provider's defaults. */
function responseOf(exchange: Exchange, { id, reply, output, usage }: ResponseParts): JsonObject {
  const { json } = exchange;
  const or = (field: string, fallback: Json): Json => json[field] ?? fallback;
  const incomplete = reply.stop === 'length' || reply.blocked === true;
  return {
    id,
    object: 'response',
    created_at: nowSeconds(),
    completed_at: incomplete ? null : nowSeconds(),
    status: incomplete ? 'incomplete' : 'completed',
    background: or('background', false),
    error: null,
    frequency_penalty: 0,
    incomplete_details: incomplete ? { reason: reply.blocked ? 'content_filter' : 'max_output_tokens' } : null,
    instructions: or('instructions', null),
    max_output_tokens: or('max_output_tokens', null),
    max_tool_calls: or('max_tool_calls', null),
    metadata: or('metadata', {}),
    model: exchange.model,
    output,
    parallel_tool_calls: or('parallel_tool_calls', true),
    presence_penalty: 0,
    previous_response_id: or('previous_response_id', null),
    prompt: or('prompt', null),
    prompt_cache_key: or('prompt_cache_key', null),
    reasoning: { effort: null, summary: null, ...objectOf(json.reasoning) },
    safety_identifier: or('safety_identifier', null),
    service_tier: 'default',
    store: or('store', true),
    temperature: or('temperature', 1),
    text: { verbosity: 'medium', ...objectOf(json.text), format: formatOf(objectOf(objectOf(json.text).format)) },
    tool_choice: or('tool_choice', 'auto'),
    tools: objectsOf(json.tools).map(echoTool),
    top_logprobs: or('top_logprobs', 0),
    top_p: or('top_p', 1),
    truncation: or('truncation', 'disabled'),
    usage,
    user: or('user', null),
    access_programs: null,
  };
}

/** A format and a function have every member in a response, whatever the request leaves out. */
function formatOf(format: JsonObject): JsonObject {
  return format.type === 'json_schema' ? { description: null, strict: false, ...format } : { type: 'text', ...format };
}

function echoTool(tool: JsonObject): JsonObject {
  return tool.type === 'function' ? { description: null, parameters: null, strict: true, ...tool } : tool;
}

/** Apart from the usage of the model. */
function toolUsage({ usage }: Drawing, fault: Fault): JsonObject {
  return omitMembers({ tool_usage: distortUsage({ image_gen: usage }, fault.usage) }, fault);
}

function outputOf(exchange: Exchange, view: NeutralRequest, reply: Reply, drawing?: Drawing): JsonObject[] {
  const { ids } = exchange.state;
  const output: JsonObject[] = [];
  if (reply.thoughts !== '') {
    const id = ids.next('rs_');
    const summary = view.thinking === 'shown' ? [{ type: 'summary_text', text: reply.thoughts }] : [];
    output.push({ id, type: 'reasoning', summary, encrypted_content: mint('reasoning', id) });
  }
  if (drawing) output.push(drawing.item);
  const status = reply.stop === 'length' ? 'incomplete' : 'completed';
  const part = partOf(reply);
  if (part) {
    const phase = reply.calls.length > 0 ? 'commentary' : 'final_answer';
    output.push({ id: ids.next('msg_'), type: 'message', status, role: 'assistant', phase, content: [part] });
  }
  for (const { tool, args } of reply.calls) {
    const shared = { call_id: ids.next('call_'), name: tool.name, status: 'completed' };
    const space = tool.namespace === undefined ? {} : { namespace: tool.namespace };
    output.push(
      tool.freeform
        ? { id: ids.next('ctc_'), type: 'custom_tool_call', ...shared, ...space, input: args }
        : { id: ids.next('fc_'), type: 'function_call', ...shared, ...space, arguments: args },
    );
  }
  return output;
}

function partOf(reply: Reply): JsonObject | undefined {
  if (reply.blocked) return undefined;
  if (reply.refusal !== undefined) return { type: 'refusal', refusal: reply.refusal };
  if (reply.text === '') return undefined;
  return { type: 'output_text', text: reply.text, annotations: [], logprobs: [] };
}

export function usageOf(usage: Usage): JsonObject {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.written },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  };
}

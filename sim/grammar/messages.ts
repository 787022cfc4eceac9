/**
 * The grammar of a messages stream as its clients require it:
 * `message_start ping* (block_start delta* block_stop)* message_delta message_stop`, with strictly sequential blocks.
 */
import { type JsonObject, objectOf } from '../json.ts';
import { blocksOf, count, demand, list, object, parse, type StreamResult, same, text } from './blocks.ts';

export function read(stream: string): StreamResult {
  const state: State = { content: [], stopped: false };
  let result: StreamResult | undefined;
  for (const block of blocksOf(stream, { named: true, comments: false })) {
    demand(result === undefined, `${block.event} after the end`);
    const event = parse(block.data);
    demand(event.type === block.event, 'event name and type differ');
    const step = STEPS.get(text(event, 'type'));
    demand(step !== undefined, `unknown event ${block.event}`);
    result = step(event, state) ?? undefined;
  }
  demand(result !== undefined, 'the stream ends without message_stop');
  return result;
}

interface State {
  message?: JsonObject;
  readonly content: JsonObject[];
  open?: { readonly kind: Kind; block: JsonObject; json: string } | undefined;
  stopped: boolean;
  delta?: JsonObject;
}

type Step = (event: JsonObject, state: State) => StreamResult | undefined;

const STEPS: ReadonlyMap<string, Step> = new Map<string, Step>([
  ['message_start', start],
  ['ping', () => undefined],
  ['content_block_start', openBlock],
  ['content_block_delta', growBlock],
  ['content_block_stop', closeBlock],
  ['message_delta', end],
  ['message_stop', stop],
  ['error', failure],
]);

function start(event: JsonObject, state: State): undefined {
  demand(state.message === undefined, 'a second message_start');
  const message = object(event, 'message');
  demand(/^msg_\S+$/.test(text(message, 'id')), 'the id of a message begins with msg_');
  demand(message.type === 'message' && message.role === 'assistant', 'type and role of a message');
  text(message, 'model');
  demand(list(message, 'content').length === 0, 'content starts empty');
  for (const name of ['stop_reason', 'stop_sequence', 'stop_details', 'container']) {
    demand(message[name] === null, `${name} must be there and null`);
  }
  checkUsage(object(message, 'usage'));
  state.message = message;
}

function checkUsage(usage: JsonObject): void {
  for (const name of ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']) {
    count(usage, name);
  }
}

// ---------------------------------------------------------------- blocks

interface Kind {
  /** Members of a starting block; empty if deltas fill them. */
  readonly begins: JsonObject;
  readonly needs: readonly string[];
  readonly deltas: readonly string[];
}

const call: Kind = { begins: { input: {} }, needs: ['id', 'name'], deltas: ['input_json_delta'] };
const WITHOUT_DELTAS: Kind = { begins: {}, needs: [], deltas: [] };
const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['text', { begins: { text: '' }, needs: [], deltas: ['text_delta', 'citations_delta'] }],
  ['thinking', { begins: { thinking: '', signature: '' }, needs: [], deltas: ['thinking_delta', 'signature_delta'] }],
  ['redacted_thinking', { ...WITHOUT_DELTAS, needs: ['data'] }],
  ['tool_use', call],
  ['server_tool_use', call],
  // Some SDKs read only the start of this block, so the gateway sends it complete.
  ['mcp_tool_use', { ...call, begins: {} }],
  ['compaction', { ...WITHOUT_DELTAS, deltas: ['compaction_delta'] }],
  ['fallback', WITHOUT_DELTAS],
  ['container_upload', WITHOUT_DELTAS],
]);

function openBlock(event: JsonObject, state: State): undefined {
  demand(state.message !== undefined && !state.delta, 'a block outside of the message');
  demand(state.open === undefined, 'a block opens while another is open');
  demand(count(event, 'index') === state.content.length, 'indices count up from zero');
  const block = object(event, 'content_block');
  const type = text(block, 'type');
  const kind =
    KINDS.get(type) ?? (type.endsWith('_tool_result') ? { ...WITHOUT_DELTAS, needs: ['tool_use_id'] } : undefined);
  demand(kind !== undefined, `unknown block ${type}`);
  for (const [name, value] of Object.entries(kind.begins))
    demand(same(block[name], value), `${type} begins with ${name} empty`);
  for (const name of kind.needs) demand(text(block, name) !== '', `${type} needs ${name}`);
  if (type === 'server_tool_use')
    demand(text(block, 'id').startsWith('srvtoolu_'), 'ids of server tools begin with srvtoolu_');
  state.open = { kind, block, json: '' };
}

function growBlock(event: JsonObject, state: State): undefined {
  const { open } = state;
  demand(open !== undefined && count(event, 'index') === state.content.length, 'a delta of a block that is not open');
  const delta = object(event, 'delta');
  const type = text(delta, 'type');
  demand(open.kind.deltas.includes(type), `${type} in a ${String(open.block.type)} block`);
  demand(!(open.block.signature && type === 'thinking_delta'), 'thinking after its signature');
  if (type === 'text_delta') open.block = { ...open.block, text: text(open.block, 'text') + filled(delta, 'text') };
  if (type === 'thinking_delta')
    open.block = { ...open.block, thinking: text(open.block, 'thinking') + filled(delta, 'thinking') };
  if (type === 'signature_delta') open.block = { ...open.block, signature: filled(delta, 'signature') };
  if (type === 'compaction_delta') open.block = { ...open.block, ...delta, type: 'compaction' };
  if (type === 'input_json_delta') open.json += text(delta, 'partial_json');
  if (type === 'citations_delta') {
    const before = Array.isArray(open.block.citations) ? open.block.citations : [];
    open.block = { ...open.block, citations: [...before, object(delta, 'citation')] };
  }
}

function filled(delta: JsonObject, name: string): string {
  const value = text(delta, name);
  demand(value !== '', `an empty ${name}`);
  return value;
}

function closeBlock(event: JsonObject, state: State): undefined {
  const { open } = state;
  demand(open !== undefined && count(event, 'index') === state.content.length, 'a stop of a block that is not open');
  demand(open.block.type !== 'text' || open.block.text !== '', 'an empty text block');
  const isCall = open.kind === call;
  state.content.push(isCall ? { ...open.block, input: inputOf(open.json) } : open.block);
  state.open = undefined;
}

/** The parsed input; empty if the length limit truncated the JSON. */
function inputOf(json: string): JsonObject {
  try {
    return json === '' ? {} : objectOf(JSON.parse(json));
  } catch {
    return {};
  }
}

// ---------------------------------------------------------------- the end

const REASONS = [
  ...['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'pause_turn', 'refusal', 'compaction'],
  'model_context_window_exceeded',
];

function end(event: JsonObject, state: State): undefined {
  demand(state.message !== undefined && state.open === undefined, 'message_delta while a block is open');
  demand(state.delta === undefined, 'a second message_delta');
  const delta = object(event, 'delta');
  const reason = text(delta, 'stop_reason');
  demand(REASONS.includes(reason), `unknown stop reason ${reason}`);
  demand('stop_sequence' in delta && 'stop_details' in delta && 'container' in delta, 'members of the last delta');
  demand((reason === 'stop_sequence') === (typeof delta.stop_sequence === 'string'), 'a stop sequence has its string');
  const calls = state.content.some((block) => block.type === 'tool_use');
  demand(reason !== 'tool_use' || calls, 'tool_use without a call');
  demand(reason !== 'end_turn' || !calls, 'end_turn with a call');
  checkUsage(object(event, 'usage'));
  state.delta = { ...delta, usage: object(event, 'usage') };
}

function stop(_: JsonObject, state: State): StreamResult {
  demand(state.delta !== undefined, 'message_stop before message_delta');
  return { end: 'complete', body: { ...state.message, content: state.content, ...state.delta } };
}

function failure(event: JsonObject): StreamResult {
  const error = object(event, 'error');
  demand(text(error, 'type') !== '' && text(error, 'message') !== '', 'an error has a type and a message');
  return { end: 'error', error };
}

/**
 * The grammar of a chat stream as its clients require it: one head for all chunks, the role first, one finish reason,
 * usage only if requested, and `[DONE]` after success but never after an error.
 */
import type { Json, JsonObject } from '../json.ts';
import { blocksOf, count, demand, list, object, only, parse, type StreamResult, text } from './blocks.ts';

export function read(stream: string, { usage }: { usage: boolean }): StreamResult {
  const state: State = { content: '', reasoning: '', refusal: '', calls: [], images: [] };
  let result: StreamResult | undefined;
  for (const { data } of blocksOf(stream, { named: false, comments: true })) {
    demand(result === undefined, 'an event after the end');
    result = data === '[DONE]' ? complete(state, usage) : readChunk(parse(data), state, usage);
  }
  demand(result !== undefined, 'the stream ends without a terminal event');
  return result;
}

interface State {
  head?: JsonObject;
  content: string;
  reasoning: string;
  refusal: string;
  readonly calls: Call[];
  functionCall?: { name: string; arguments: string };
  annotations?: Json[];
  readonly images: Json[];
  reason?: string;
  usage?: JsonObject;
}
interface Call {
  readonly id: string;
  readonly type: 'function' | 'custom';
  readonly name: string;
  readonly extra?: Json;
  args: string;
}

function readChunk(chunk: JsonObject, state: State, usage: boolean): StreamResult | undefined {
  if ('error' in chunk) return failure(chunk);
  checkHead(chunk, state);
  const choices = list(chunk, 'choices');
  if (choices.length === 0) return takeUsage(chunk, state, usage);
  demand(choices.length === 1, 'exactly one choice');
  demand(usage ? chunk.usage === null : !('usage' in chunk), 'usage is null beside a choice, or absent');
  demand(state.reason === undefined, 'a choice after its finish reason');
  const choice = choices[0] as JsonObject;
  only(choice, ['index', 'delta', 'finish_reason', 'logprobs'], 'a choice');
  demand(choice.index === 0 && choice.logprobs === null, 'index and logprobs of the choice');
  readDelta(object(choice, 'delta'), state);
  if (choice.finish_reason !== null) finish(text(choice, 'finish_reason'), state);
  return undefined;
}

function checkHead(chunk: JsonObject, state: State): void {
  only(chunk, ['id', 'object', 'created', 'model', 'choices', 'usage', 'service_tier'], 'a chunk');
  const head = { id: text(chunk, 'id'), created: count(chunk, 'created'), model: text(chunk, 'model') };
  demand(/^chatcmpl-\S+$/.test(head.id) && chunk.object === 'chat.completion.chunk', 'id and object of a chunk');
  const first = state.head;
  if (first) for (const [name, value] of Object.entries(head)) demand(first[name] === value, `${name} changed`);
  else state.head = head;
}

const DELTA = [
  ...['role', 'content', 'refusal', 'reasoning_content', 'tool_calls', 'function_call', 'annotations'],
  // Not official, but what clients of image models expect.
  'images',
];

function readDelta(delta: JsonObject, state: State): void {
  only(delta, DELTA, 'a delta');
  const first = state.content + state.reasoning + state.refusal === '' && state.calls.length === 0;
  demand(
    'role' in delta ? delta.role === 'assistant' && first : state.head?.role === true,
    'the role comes first, once',
  );
  if (state.head) state.head = { ...state.head, role: true };
  state.content += piece(delta, 'content', 'role' in delta);
  state.reasoning += piece(delta, 'reasoning_content', false);
  state.refusal += piece(delta, 'refusal', false);
  if ('tool_calls' in delta) for (const entry of list(delta, 'tool_calls')) readCall(entry as JsonObject, state);
  if ('function_call' in delta) readLegacy(object(delta, 'function_call'), state);
  if ('images' in delta) for (const entry of list(delta, 'images')) readImage(entry as JsonObject, state);
  if ('annotations' in delta) {
    demand(state.annotations === undefined, 'annotations come once');
    state.annotations = list(delta, 'annotations');
  }
}

function piece(delta: JsonObject, name: string, mayBeEmpty: boolean): string {
  if (!(name in delta)) return '';
  const value = text(delta, name);
  demand(mayBeEmpty || value !== '', `an empty ${name}`);
  return value;
}

function readCall(entry: JsonObject, state: State): void {
  const index = count(entry, 'index');
  const known = state.calls[index];
  const type = 'custom' in entry ? 'custom' : 'function';
  const body = object(entry, type);
  const args = text(body, type === 'custom' ? 'input' : 'arguments');
  if (known) {
    demand(!('id' in entry) && !('name' in body) && known.type === type, 'a later delta only adds arguments');
    known.args += args;
    return;
  }
  demand(index === state.calls.length, 'calls count up from zero');
  const id = text(entry, 'id');
  demand(id !== '' && !state.calls.some((call) => call.id === id), 'a call has a unique id');
  demand(entry.type === type && args === '', 'a call begins with its type and no arguments');
  const name = text(body, 'name');
  demand(name !== '', 'a call has a name');
  state.calls.push({ id, type, name, args, ...(entry.extra_content !== undefined && { extra: entry.extra_content }) });
}

function readImage(entry: JsonObject, state: State): void {
  const url = text(object(entry, 'image_url'), 'url');
  demand(
    entry.type === 'image_url' && /^data:image\/[a-z+]+;base64,./.test(url.slice(0, 64)),
    'an image is a data URL',
  );
  state.images.push(entry);
}

function readLegacy(body: JsonObject, state: State): void {
  const args = text(body, 'arguments');
  if (state.functionCall) state.functionCall.arguments += args;
  else state.functionCall = { name: text(body, 'name'), arguments: args };
}

function finish(reason: string, state: State): void {
  const known = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'];
  demand(known.includes(reason), `unknown finish reason ${reason}`);
  const calls = state.calls.length > 0 || state.functionCall !== undefined;
  demand(reason !== 'stop' || !calls, 'stop with a call');
  demand((reason !== 'tool_calls' && reason !== 'function_call') || calls, 'tool_calls without a call');
  state.reason = reason;
}

function takeUsage(chunk: JsonObject, state: State, wanted: boolean): undefined {
  demand(wanted && state.reason !== undefined && state.usage === undefined, 'one usage chunk at the end, if requested');
  const usage = object(chunk, 'usage');
  const total = count(usage, 'prompt_tokens') + count(usage, 'completion_tokens');
  demand(count(usage, 'total_tokens') === total, 'the total is the sum');
  state.usage = usage;
}

function complete(state: State, usage: boolean): StreamResult {
  demand(state.reason !== undefined, '[DONE] without a finish reason');
  demand(usage === (state.usage !== undefined), 'the usage chunk is missing');
  const { id, created, model } = state.head ?? {};
  const message = {
    role: 'assistant',
    content: state.content,
    reasoning_content: state.reasoning,
    refusal: state.refusal,
    tool_calls: state.calls.map(callOf),
    ...(state.functionCall && { function_call: state.functionCall }),
    annotations: state.annotations ?? [],
    images: state.images,
  };
  const choices = [{ index: 0, message, finish_reason: state.reason, logprobs: null }];
  return {
    end: 'complete',
    body: {
      id,
      object: 'chat.completion',
      created,
      model,
      choices,
      ...(state.usage && { usage: state.usage }),
    } as JsonObject,
  };
}

const callOf = ({ id, type, name, args, extra }: Call): JsonObject =>
  ({
    id,
    type,
    [type]: { name, [type === 'custom' ? 'input' : 'arguments']: args },
    ...(extra !== undefined && { extra_content: extra }),
  }) as JsonObject;

function failure(chunk: JsonObject): StreamResult {
  only(chunk, ['error'], 'an error');
  const error = object(chunk, 'error');
  demand(text(error, 'message') !== '' && text(error, 'type') !== '', 'an error has a message and a type');
  demand('param' in error && 'code' in error, 'an error has param and code, null or not');
  return { end: 'error', error };
}

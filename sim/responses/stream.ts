/** Streams of Responses events. */
import { openaiError, statusFailure } from '../errors.ts';
import type { Fault } from '../faults.ts';
import type { Frame, Stream } from '../frames.ts';
import { type JsonObject, objectsOf, textOf } from '../json.ts';
import { splitArguments, splitWords } from '../stream.ts';

type Emit = (type: string, data: JsonObject, flags?: Partial<Frame>) => Frame;

/** Splits a complete response into events. `partials`: the partial images of its picture. */
export function responseStream(response: JsonObject, fault: Fault, partials: readonly string[] = []): Stream {
  let sequence = 0;
  const emit: Emit = (type, data, flags = {}) => {
    const frame = { event: type, data: JSON.stringify({ type, sequence_number: sequence, ...data }), ...flags };
    sequence += 1;
    return frame;
  };
  const failure = (first: boolean): Frame[] => {
    const { message, type, code, param } = openaiError(statusFailure('openai', fault));
    // Before the first event there is no response object that could fail.
    if (first) return [emit('error', { code: code ?? type, message, param })];
    const error = { code: code ?? 'server_error', message };
    return [
      emit('response.failed', { response: { ...unfinished(response), status: 'failed', error } }, { last: true }),
    ];
  };
  return { frames: frames(response, partials, emit), failure };
}

function* frames(response: JsonObject, partials: readonly string[], emit: Emit): Generator<Frame> {
  yield emit('response.created', { response: unfinished(response) });
  yield emit('response.in_progress', { response: unfinished(response) });
  for (const [index, item] of objectsOf(response.output).entries()) {
    if (item.type === 'image_generation_call') yield* imageFrames(index, item, partials, emit);
    else yield* itemFrames(index, item, emit);
  }
  const type = response.status === 'incomplete' ? 'response.incomplete' : 'response.completed';
  yield emit(type, { response }, { last: true });
}

function unfinished(response: JsonObject): JsonObject {
  return {
    ...response,
    status: 'in_progress',
    completed_at: null,
    incomplete_details: null,
    output: [],
    usage: null,
    tool_usage: undefined,
  };
}

function* imageFrames(
  output_index: number,
  item: JsonObject,
  partials: readonly string[],
  emit: Emit,
): Generator<Frame> {
  const { id, type, result: _result, revised_prompt: _prompt, action: _action, status: _status, ...look } = item;
  const at = { item_id: id, output_index };
  yield emit('response.output_item.added', { output_index, item: { id, type, status: 'in_progress' } });
  yield emit('response.image_generation_call.in_progress', at);
  yield emit('response.image_generation_call.generating', at);
  for (const [partial_image_index, partial_image_b64] of partials.entries()) {
    const partial = { ...at, partial_image_index, partial_image_b64, ...look };
    yield emit('response.image_generation_call.partial_image', partial, { content: true });
  }
  yield emit('response.image_generation_call.completed', at);
  yield emit('response.output_item.done', { output_index, item });
}

function* itemFrames(output_index: number, item: JsonObject, emit: Emit): Generator<Frame> {
  const at = { item_id: item.id, output_index };
  if (item.type === 'reasoning') {
    yield emit('response.output_item.added', { output_index, item: { ...item, summary: [], encrypted_content: '' } });
    yield* summaryFrames(item, at, emit);
  } else if (item.type === 'message') {
    yield emit('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', content: [] } });
    for (const [content_index, part] of objectsOf(item.content).entries()) {
      yield* partFrames(part, { ...at, content_index }, emit);
    }
  } else {
    const field = item.type === 'custom_tool_call' ? 'input' : 'arguments';
    const name =
      item.type === 'custom_tool_call' ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
    const opened = { ...item, status: 'in_progress', [field]: '' };
    yield emit('response.output_item.added', { output_index, item: opened });
    for (const delta of splitArguments(textOf(item[field])))
      yield emit(`${name}.delta`, { ...at, delta }, { content: true });
    yield emit(`${name}.done`, { ...at, [field]: item[field] });
  }
  yield emit('response.output_item.done', { output_index, item });
}

function* summaryFrames(item: JsonObject, at: JsonObject, emit: Emit): Generator<Frame> {
  for (const [summary_index, part] of objectsOf(item.summary).entries()) {
    const here = { ...at, summary_index };
    yield emit('response.reasoning_summary_part.added', { ...here, part: { ...part, text: '' } });
    for (const delta of splitWords(textOf(part.text))) {
      yield emit('response.reasoning_summary_text.delta', { ...here, delta }, { content: true });
    }
    yield emit('response.reasoning_summary_text.done', { ...here, text: part.text });
    yield emit('response.reasoning_summary_part.done', { ...here, part });
  }
}

function* partFrames(part: JsonObject, at: JsonObject, emit: Emit): Generator<Frame> {
  if (part.type === 'refusal') {
    yield emit('response.content_part.added', { ...at, part: { ...part, refusal: '' } });
    for (const delta of splitWords(textOf(part.refusal))) {
      yield emit('response.refusal.delta', { ...at, delta }, { content: true });
    }
    yield emit('response.refusal.done', { ...at, refusal: part.refusal });
  } else {
    yield emit('response.content_part.added', { ...at, part: { ...part, text: '' } });
    for (const delta of splitWords(textOf(part.text))) {
      yield emit('response.output_text.delta', { ...at, delta, logprobs: [] }, { content: true });
    }
    yield emit('response.output_text.done', { ...at, text: part.text, logprobs: [] });
  }
  yield emit('response.content_part.done', { ...at, part });
}

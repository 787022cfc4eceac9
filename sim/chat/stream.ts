/** Streams of chat completion chunks. */
import { openaiError, statusFailure } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { Frame, Stream } from '../frames.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../json.ts';
import { splitArguments, splitWords } from '../stream.ts';
import { chatServer } from './servers.ts';

/** Splits a complete completion into chunks. */
export function completionStream(exchange: Exchange, completion: JsonObject, includeUsage: boolean): Stream {
  return {
    frames: frames(completion, usagePlace(exchange, includeUsage)),
    failure: () => [{ data: JSON.stringify({ error: openaiError(statusFailure('openai', exchange.fault)) }) }],
  };
}

type UsagePlace = 'own chunk' | 'choice' | 'x_groq' | 'none';

function usagePlace({ fault: { server } }: Exchange, includeUsage: boolean): UsagePlace {
  const { usage = 'asked' } = server ? chatServer(server) : {};
  if (usage === 'choice' || usage === 'x_groq') return usage;
  return usage === 'always' || (usage === 'asked' && includeUsage) ? 'own chunk' : 'none';
}

function* frames(completion: JsonObject, place: UsagePlace): Generator<Frame> {
  const includeUsage = place === 'own chunk';
  const { id, created, model, service_tier, system_fingerprint, usage } = completion;
  const base = { id, object: 'chat.completion.chunk', created, model, service_tier, system_fingerprint };
  const chunk = (choices: JsonObject[], marks: Partial<Frame> = {}): Frame => ({
    data: JSON.stringify({ ...base, choices, ...(includeUsage && { usage: null }) }),
    ...marks,
  });
  // Azure begins with a chunk about the prompt that has no choice, no id and no model.
  if (completion.prompt_filter_results !== undefined) {
    const { prompt_filter_results } = completion;
    yield { data: JSON.stringify({ choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results }) };
  }
  for (const choice of objectsOf(completion.choices)) {
    const { index } = choice;
    const message = objectOf(choice.message);
    const opening = { role: 'assistant', content: message.tool_calls ? null : '', refusal: null };
    const last = { index, delta: {}, finish_reason: choice.finish_reason, logprobs: null };
    yield chunk([{ index, delta: opening, finish_reason: null, logprobs: null }]);
    for (const delta of deltas(message)) {
      yield chunk([{ index, delta, finish_reason: null, logprobs: null }], { content: true });
    }
    if (place === 'x_groq') yield { data: JSON.stringify({ ...base, choices: [last], x_groq: { usage } }), last: true };
    else yield chunk([place === 'choice' ? { ...last, usage } : last], { last: true });
  }
  // `usage` is null in every chunk but the last.
  if (includeUsage && usage !== undefined) yield { data: JSON.stringify({ ...base, choices: [], usage }), last: true };
  yield { data: '[DONE]', last: true };
}

function* deltas(message: JsonObject): Generator<JsonObject> {
  for (const name of ['reasoning_content', 'reasoning'])
    for (const piece of splitWords(textOf(message[name]))) yield { [name]: piece };
  for (const detail of objectsOf(message.reasoning_details)) yield { reasoning_details: [detail] };
  for (const content of splitWords(textOf(message.content))) yield { content };
  for (const refusal of splitWords(textOf(message.refusal))) yield { refusal };
  for (const [index, call] of objectsOf(message.tool_calls).entries()) {
    const { id, type } = call;
    if (type === 'custom') {
      const { name, input } = objectOf(call.custom);
      yield { tool_calls: [{ index, id, type, custom: { name, input: '' } }] };
      for (const piece of splitArguments(textOf(input))) yield { tool_calls: [{ index, custom: { input: piece } }] };
      continue;
    }
    const { name, arguments: args } = objectOf(call.function);
    yield { tool_calls: [{ index, id, type, function: { name, arguments: '' } }] };
    for (const piece of splitArguments(textOf(args))) yield { tool_calls: [{ index, function: { arguments: piece } }] };
  }
}

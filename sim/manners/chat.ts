/** Manners of servers of chat completions. */
import { isObject, type JsonObject, objectOf, objectsOf, textOf } from '../json.ts';
import { between, eachData, editMember, indexOf, without } from './edit.ts';
import type { Manners, StreamEvent } from './manner.ts';

const dialects = ['chat'] as const;

type EditChoice = (choice: JsonObject, n: number) => JsonObject;

const inChoices = (data: JsonObject, edit: EditChoice): JsonObject => ({
  ...data,
  choices: objectsOf(data.choices).map(edit),
});
const eachChoice = (edit: EditChoice): ((events: StreamEvent[]) => StreamEvent[]) =>
  eachData((data) => inChoices(data, edit));

/** In a stream the delta, otherwise the message. */
const inMessage =
  (edit: (message: JsonObject) => JsonObject): EditChoice =>
  (choice) => ({
    ...choice,
    ...(isObject(choice.delta) && { delta: edit(choice.delta) }),
    ...(isObject(choice.message) && { message: edit(choice.message) }),
  });

const inCalls = (edit: (call: JsonObject) => JsonObject): EditChoice =>
  inMessage((message) =>
    Array.isArray(message.tool_calls) ? { ...message, tool_calls: objectsOf(message.tool_calls).map(edit) } : message,
  );

const choiceOf = ({ data }: StreamEvent): JsonObject => objectsOf(objectOf(data).choices)[0] ?? {};
const isFinish = (event: StreamEvent): boolean => textOf(choiceOf(event).finish_reason) !== '';
const hasUsage = ({ data }: StreamEvent): boolean => isObject(objectOf(data).usage);
const hasText = (event: StreamEvent): boolean => textOf(objectOf(choiceOf(event).delta).content) !== '';
/** Whose text is not the last of a reply. */
const hasCalls = (event: StreamEvent): boolean => Array.isArray(objectOf(choiceOf(event).delta).tool_calls);
const isDone = ({ data }: StreamEvent): boolean => data === '[DONE]';

const NULLS = { tool_calls: null, function_call: null, audio: null, annotations: null, refusal: null };

/** A chunk like the first one of the stream, with this delta. */
function chunkLike(events: readonly StreamEvent[], delta: JsonObject): StreamEvent {
  const first = objectOf(events[0]?.data);
  return { data: { ...first, choices: [{ index: 0, delta, finish_reason: null, logprobs: null }] } };
}

/** The usage moves into the chunk that fits, and its own chunk goes. */
function moveUsage(events: StreamEvent[], fits: (event: StreamEvent) => boolean): StreamEvent[] {
  const usage = objectOf(events.find(hasUsage)?.data).usage;
  if (usage === undefined) return events;
  return events
    .filter((event) => !hasUsage(event))
    .map((event) => (fits(event) ? { data: { ...objectOf(event.data), usage } } : event));
}

export const CHAT_MANNERS = {
  chat_empty_id: {
    about: 'the id is empty',
    seen: 'Azure, Snowflake Cortex',
    effect: 'harmless',
    dialects,
    events: eachData((data) => ({ ...data, id: '' })),
    reply: (reply) => ({ ...reply, id: '' }),
  },
  chat_no_id: {
    about: 'no id, object, created and model',
    seen: 'small servers',
    effect: 'shown',
    dialects,
    events: eachData((data) => without(data, 'id', 'object', 'created', 'model')),
    reply: (reply) => without(reply, 'id', 'object', 'created', 'model'),
  },
  chat_numbered_id: {
    about: 'ids that begin again at the next start',
    seen: 'Ollama',
    effect: 'harmless',
    dialects,
    events: eachData((data) => ({ ...data, id: 'chatcmpl-1' })),
    reply: (reply) => ({ ...reply, id: 'chatcmpl-1' }),
  },
  chat_changing_id: {
    about: 'another id in every chunk',
    seen: 'Avian, Azure',
    effect: 'harmless',
    dialects,
    events: eachData((data, n) => ({ ...data, id: `chatcmpl-${n}` })),
  },
  chat_role_chunks: {
    about: 'chunks with nothing but a role, also in the middle',
    seen: 'Ollama, OpenRouter, Z.ai, Together',
    effect: 'harmless',
    dialects,
    events: (events) => [
      ...between(
        events.filter((event) => !isDone(event)),
        chunkLike(events, { role: 'assistant', content: '' }),
      ),
      ...events.filter(isDone),
    ],
  },
  chat_null_members: {
    about: 'unused members that are null',
    seen: 'Mistral, OpenRouter, xAI, Snowflake Cortex',
    effect: 'harmless',
    dialects,
    events: (events) =>
      eachChoice(inMessage((message) => ({ ...NULLS, ...message })))(events).map((event) =>
        isObject(event.data) ? { data: { ...event.data, error: null, citations: null } } : event,
      ),
    reply: (reply) => ({
      ...inChoices(
        reply,
        inMessage((message) => ({ ...NULLS, ...message })),
      ),
      error: null,
      citations: null,
    }),
  },
  chat_no_index: {
    about: 'choices without an index',
    seen: 'proxies in front of Gemini',
    effect: 'shown',
    dialects,
    events: eachChoice((choice) => without(choice, 'index')),
    reply: (reply) => inChoices(reply, (choice) => without(choice, 'index')),
  },
  chat_no_done: {
    about: 'no [DONE]',
    seen: 'Perplexity, GPUStack',
    effect: 'harmless',
    dialects,
    events: (events) => events.filter((event) => !isDone(event)),
  },
  chat_two_dones: {
    about: '[DONE] twice',
    seen: 'relays that add their own',
    effect: 'harmless',
    dialects,
    events: (events) => [...events, { data: '[DONE]' }],
  },
  chat_two_finishes: {
    about: 'the chunk with the finish reason twice',
    seen: 'OpenRouter, Avian, Together, Cloudflare',
    effect: 'harmless',
    dialects,
    events: (events) => events.flatMap((event) => (isFinish(event) ? [event, event] : [event])),
  },
  chat_early_finish: {
    about: 'the finish reason before the last text',
    seen: 'proxies in front of Gemini',
    effect: 'harmless',
    dialects,
    events(events) {
      const at = events.some(hasCalls) ? -1 : events.findLastIndex(hasText);
      const finish = events.filter(isFinish);
      if (at < 0 || finish.length === 0) return events;
      return [...events.slice(0, at), ...finish, ...events.slice(at).filter((event) => !isFinish(event))];
    },
  },
  chat_empty_finish: {
    about: 'an empty finish reason in every chunk before the last',
    seen: 'Snowflake Cortex',
    effect: 'shown',
    dialects,
    events: eachChoice((choice) => ({ ...choice, finish_reason: choice.finish_reason ?? '' })),
  },
  chat_delta_in_finish: {
    about: 'the last text together with the finish reason',
    seen: 'Mistral',
    effect: 'harmless',
    dialects,
    events(events) {
      const last = events.some(hasCalls) ? -1 : events.findLastIndex(hasText);
      const delta = choiceOf(events[last] ?? { data: '' }).delta;
      if (delta === undefined) return events;
      return eachChoice((choice) => (textOf(choice.finish_reason) === '' ? choice : { ...choice, delta }))(
        events.filter((_, n) => n !== last),
      );
    },
  },
  chat_usage_everywhere: {
    about: 'usage so far in every chunk',
    seen: 'Perplexity, Groq, Hugging Face, Cloudflare',
    effect: 'harmless',
    dialects,
    events(events) {
      const usage = objectOf(objectOf(events.find(hasUsage)?.data).usage);
      if (usage.prompt_tokens === undefined) return events;
      const partial = (n: number): JsonObject => ({
        ...usage,
        completion_tokens: Math.min(n, Number(usage.completion_tokens)),
        total_tokens: Number(usage.prompt_tokens) + Math.min(n, Number(usage.completion_tokens)),
      });
      return eachData((data, n) => (isObject(data.usage) ? data : { ...data, usage: partial(n) }))(events);
    },
  },
  chat_two_usages: {
    about: 'the chunk with the usage twice',
    seen: 'Groq, which adds x_groq; relays that add their own',
    effect: 'harmless',
    dialects,
    events: (events) => events.flatMap((event) => (hasUsage(event) ? [event, event] : [event])),
  },
  chat_early_usage: {
    about: 'usage with the finish reason, not in its own chunk',
    seen: 'DeepSeek, Mistral, Z.ai, Together',
    effect: 'harmless',
    dialects,
    events: (events) => moveUsage(events, isFinish),
  },
  chat_zero_usage_last: {
    about: 'the usage, and then one of zeros',
    seen: 'relays that add their own',
    effect: 'harmless',
    dialects,
    events(events) {
      const at = events.findIndex(hasUsage);
      if (at < 0) return events;
      const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
      const last = { data: { ...objectOf(events[at]?.data), usage: zeros } };
      return [...events.slice(0, at + 1), last, ...events.slice(at + 1)];
    },
  },
  chat_no_usage: {
    about: 'no usage',
    seen: 'GPUStack',
    effect: 'harmless',
    dialects,
    hidesUsage: true,
    events: (events) => events.filter((event) => !hasUsage(event)),
    reply: (reply) => without(reply, 'usage'),
  },
  chat_null_usage: {
    about: 'usage of nulls',
    seen: 'small servers',
    effect: 'shown',
    dialects,
    hidesUsage: true,
    events: eachData((data) =>
      isObject(data.usage) ? { ...data, usage: { prompt_tokens: null, completion_tokens: null } } : data,
    ),
    reply: (reply) => ({ ...reply, usage: null }),
  },
  chat_created_as_text: {
    about: 'created as a text or a fraction',
    seen: 'small servers',
    effect: 'shown',
    dialects,
    events: eachData((data, n) => ({ ...data, created: n % 2 === 0 ? String(data.created) : 1_766_000_000.25 })),
    reply: (reply) => ({ ...reply, created: String(reply.created) }),
  },
  chat_empty_call_ids: {
    about: 'calls with empty ids',
    seen: 'Gemini behind chat completions',
    effect: 'shown',
    dialects,
    events: eachChoice(inCalls((call) => (call.id === undefined ? call : { ...call, id: '' }))),
    reply: (reply) =>
      inChoices(
        reply,
        inCalls((call) => ({ ...call, id: '' })),
      ),
  },
  chat_numbered_call_ids: {
    about: 'calls that have the same ids in every reply',
    seen: 'servers that count from their start',
    effect: 'harmless',
    dialects,
    events: eachChoice(
      inCalls((call) => (call.id === undefined ? call : { ...call, id: `call_${Number(call.index)}` })),
    ),
    reply: (reply) =>
      inChoices(
        reply,
        inCalls((call) => ({ ...call, id: 'call_0' })),
      ),
  },
  chat_calls_at_zero: {
    about: 'every call at index 0, told apart by its id',
    seen: 'Gemini behind chat completions',
    effect: 'shown',
    dialects,
    events: eachChoice(inCalls((call) => ({ ...call, index: 0 }))),
  },
  chat_calls_from_one: {
    about: 'calls whose indexes begin at 1',
    seen: 'Copilot with Claude, whose index 0 is the text',
    effect: 'harmless',
    dialects,
    events: eachChoice(inCalls((call) => ({ ...call, index: Number(call.index) + 1 }))),
  },
  chat_repeated_call_heads: {
    about: 'the id, type and name again with every piece of the arguments',
    seen: 'proxies in front of Claude',
    effect: 'shown',
    dialects,
    events(events) {
      const heads = new Map<unknown, JsonObject>();
      return eachChoice(
        inCalls((call) => {
          const { id, type } = call;
          const { name } = objectOf(call.function);
          if (name !== undefined) heads.set(call.index, { id: id ?? null, type: type ?? null, name });
          const head = heads.get(call.index);
          if (head === undefined) return call;
          return { ...call, id: head.id, type: head.type, function: { ...objectOf(call.function), name: head.name } };
        }),
      )(events);
    },
  },
  chat_null_call_heads: {
    about: 'pieces of arguments with a null id, type and name',
    seen: 'small servers',
    effect: 'harmless',
    dialects,
    events: eachChoice(
      inCalls((call) =>
        call.id === undefined && isObject(call.function)
          ? { ...call, id: null, type: null, function: { name: null, ...call.function } }
          : call,
      ),
    ),
  },
  chat_content_parts: {
    about: 'content as a list of parts',
    seen: 'Mistral',
    effect: 'shown',
    dialects,
    events: eachChoice(inMessage(asParts)),
    reply: (reply) => inChoices(reply, inMessage(asParts)),
  },
  chat_empty_choices: {
    about: 'chunks without choices between the others',
    seen: 'Azure',
    effect: 'harmless',
    dialects,
    events(events) {
      const at = indexOf(events, isDone);
      const empty = { data: { ...objectOf(events[0]?.data), choices: [] } };
      return [...between(events.slice(0, at), empty), ...events.slice(at)];
    },
  },
  chat_unknown_members: {
    about: 'members that no document names, in every object',
    seen: 'OpenRouter, Cloudflare, Groq, Mistral, Together',
    effect: 'harmless',
    dialects,
    events: eachChoice((choice) => ({ ...choice, native_finish_reason: 'x', stop_reason: null, token_ids: [1] })),
    reply: (reply) => ({ ...editMember(reply, 'choices', withMore), provider: 'x', x_groq: { id: 'req_1' } }),
  },
  chat_error_status: {
    about: 'an error in a response with status 200',
    seen: 'OpenRouter',
    effect: 'fault',
    dialects,
    events: () => [{ data: { error: { message: 'Provider returned error', code: 502 } } }],
    reply: () => ({ error: { message: 'Provider returned error', code: 502 } }),
  },
} satisfies Manners;

function asParts(message: JsonObject): JsonObject {
  const text = textOf(message.content);
  return text === '' ? message : { ...message, content: [{ type: 'text', text }] };
}

function withMore(choices: unknown): JsonObject[] {
  return objectsOf(choices).map((choice) => ({ ...choice, native_finish_reason: 'x', stop_reason: null }));
}

/** Manners of servers of the Responses API. */
import { isObject, type JsonObject, objectOf, objectsOf, textOf } from '../json.ts';
import { between, eachData, eachOf, indexOf, typeOf, without } from './edit.ts';
import type { Manners, StreamEvent } from './manner.ts';

const dialects = ['responses'] as const;

const isEnd = (event: StreamEvent): boolean => /^response\.(?:completed|incomplete)$/.test(String(typeOf(event)));
const inResponse = (edit: (response: JsonObject) => JsonObject): ((events: StreamEvent[]) => StreamEvent[]) =>
  eachData((data) => (isObject(data.response) ? { ...data, response: edit(data.response) } : data));
const atEnd = (edit: (response: JsonObject) => JsonObject): ((events: StreamEvent[]) => StreamEvent[]) => {
  return (events) =>
    events.map((event) =>
      isEnd(event) && isObject(event.data)
        ? { ...event, data: { ...event.data, response: edit(objectOf(event.data.response)) } }
        : event,
    );
};
const withoutEvents = (types: RegExp): ((events: StreamEvent[]) => StreamEvent[]) => {
  return (events) => events.filter((event) => !types.test(String(typeOf(event))));
};

/** Other ids of items, wherever an event names one. */
const withItemIds =
  (idOf: (id: string, n: number) => string): ((events: StreamEvent[]) => StreamEvent[]) =>
  (events) =>
    eachData((data, n) => ({
      ...data,
      ...(typeof data.item_id === 'string' && { item_id: idOf(data.item_id, n) }),
      ...(isObject(data.item) && { item: { ...data.item, id: idOf(textOf(data.item.id), n) } }),
    }))(events);

const keepalive = (sequence: number): StreamEvent => ({
  name: 'keepalive',
  data: { type: 'keepalive', sequence_number: sequence },
});

export const RESPONSES_MANNERS = {
  responses_changing_item_ids: {
    about: 'another id of the same item in every event',
    seen: 'Copilot, which encrypts them',
    effect: 'shown',
    dialects,
    events: withItemIds((id, n) => `${id}_${n}`),
  },
  responses_empty_item_ids: {
    about: 'items with empty ids',
    seen: 'relays',
    effect: 'shown',
    dialects,
    events: (events) => atEnd(emptyIds)(withItemIds(() => '')(events)),
    reply: emptyIds,
  },
  responses_numbered_call_ids: {
    about: 'calls that have the same ids in every reply',
    seen: 'servers of open models',
    effect: 'shown',
    dialects,
    events: (events) =>
      atEnd(sameCallIds)(
        eachData((data) =>
          isObject(data.item) ? { ...data, item: sameCallId(data.item, Number(data.output_index)) } : data,
        )(events),
      ),
    reply: sameCallIds,
  },
  responses_part_indexes: {
    about: 'deltas at content_index 1 of a text that is part 0 at its end',
    seen: 'gpt-oss at Bedrock, vLLM',
    effect: 'shown',
    dialects,
    events: eachOf('response.output_text.delta', (data) => ({ ...data, content_index: 1 })),
  },
  responses_outputs_from_one: {
    about: 'items whose indexes begin at 1',
    seen: 'proxies that leave an item out',
    effect: 'shown',
    dialects,
    events: eachData((data) =>
      data.output_index === undefined ? data : { ...data, output_index: Number(data.output_index) + 1 },
    ),
  },
  responses_no_outputs: {
    about: 'events without the index of their item',
    seen: 'relays',
    effect: 'shown',
    dialects,
    events: eachData((data) => without(data, 'output_index')),
  },
  responses_no_parts: {
    about: 'no beginnings and ends of parts',
    seen: 'relays of chat completions',
    effect: 'shown',
    dialects,
    events: withoutEvents(/^response\.(?:content_part|reasoning_summary_part)\./),
  },
  responses_no_item_starts: {
    about: 'no beginnings of items',
    seen: 'relays of chat completions',
    effect: 'shown',
    dialects,
    events: withoutEvents(/^response\.(?:output_item\.added|content_part\.added|reasoning_summary_part\.added)$/),
  },
  responses_no_item_ends: {
    about: 'no ends of items and texts; the end of the response has them',
    seen: 'relays of chat completions',
    effect: 'shown',
    dialects,
    events: withoutEvents(/^response\.(?:output_item|content_part|output_text|function_call_arguments)\.done$/),
  },
  responses_only_end: {
    about: 'no event but the first and the last',
    seen: 'relays of unary replies',
    effect: 'shown',
    dialects,
    events: withoutEvents(/^response\.(?!created$|completed$|incomplete$)/),
  },
  responses_empty_end: {
    about: 'an end without the output',
    seen: 'OpenAI behind Codex',
    effect: 'shown',
    dialects,
    events: atEnd((response) => ({ ...response, output: [] })),
  },
  responses_done_type: {
    about: 'response.done at the end',
    seen: 'relays of the realtime API',
    effect: 'shown',
    dialects,
    events: (events) =>
      events.map((event) =>
        typeOf(event) === 'response.completed' && isObject(event.data)
          ? { name: 'response.done', data: { ...event.data, type: 'response.done' } }
          : event,
      ),
  },
  responses_two_ends: {
    about: 'the end twice',
    seen: 'relays that add their own',
    effect: 'harmless',
    dialects,
    events: (events) => events.flatMap((event) => (isEnd(event) ? [event, event] : [event])),
  },
  responses_two_beginnings: {
    about: 'the first event twice',
    seen: 'relays that send one at once and then that of the provider',
    effect: 'shown',
    dialects,
    events: (events) => (events[0] ? [events[0], ...events] : events),
  },
  responses_done: {
    about: '[DONE] after the end',
    seen: 'relays of chat completions',
    effect: 'harmless',
    dialects,
    events: (events) => [...events, { data: '[DONE]' }],
  },
  responses_no_sequence: {
    about: 'no sequence numbers',
    seen: 'OpenCode Zen',
    effect: 'harmless',
    dialects,
    events: eachData((data) => without(data, 'sequence_number')),
  },
  responses_no_names: {
    about: 'no event lines, the type is in the data only',
    seen: 'Bedrock',
    effect: 'harmless',
    dialects,
    events: (events) => events.map(({ data }) => ({ data })),
  },
  responses_keepalives: {
    about: 'events that keep the connection alive',
    seen: 'OpenAI behind Codex, OpenCode Zen',
    effect: 'harmless',
    dialects,
    events: (events) => events.flatMap((event, n) => (n === 0 || isEnd(event) ? [event] : [keepalive(n), event])),
  },
  responses_unknown_events: {
    about: 'events of a type that no document names',
    seen: 'OpenCode Zen, OpenAI with a new tool',
    effect: 'shown',
    dialects,
    events(events) {
      const at = indexOf(events, isEnd);
      const other = { name: 'response.telemetry.delta', data: { type: 'response.telemetry', value: 1 } };
      return [...between(events.slice(0, at), other), ...events.slice(at)];
    },
  },
  responses_null_members: {
    about: 'unused members that are null or missing',
    seen: 'relays',
    effect: 'harmless',
    dialects,
    events: (events) =>
      inResponse((response) => ({ ...without(response, 'parallel_tool_calls', 'truncation'), billing: null }))(
        eachOf('response.output_text.delta', (data) => ({ ...data, logprobs: null, obfuscation: null }))(events),
      ),
    reply: (reply) => ({ ...without(reply, 'parallel_tool_calls', 'truncation'), billing: null }),
  },
  responses_unknown_members: {
    about: 'members that no document names, in every event',
    seen: 'xAI, Azure',
    effect: 'harmless',
    dialects,
    events: eachData((data) => ({ ...data, obfuscation: 'abcdef', event_id: 'x' })),
    reply: (reply) => ({ ...reply, content_filters: [], moderation: null }),
  },
  responses_no_usage: {
    about: 'no usage',
    seen: 'relays',
    effect: 'harmless',
    dialects,
    hidesUsage: true,
    events: inResponse((response) => ({ ...response, usage: null })),
    reply: (reply) => ({ ...reply, usage: null }),
  },
  responses_usage_beside: {
    about: 'usage beside the response of the last event',
    seen: 'relays',
    effect: 'shown',
    dialects,
    events: (events) =>
      events.map((event) => {
        if (!isEnd(event) || !isObject(event.data)) return event;
        const { usage, ...response } = objectOf(event.data.response);
        return { ...event, data: { ...event.data, response, usage } };
      }),
  },
  responses_early_usage: {
    about: 'usage so far from the first event on',
    seen: 'relays',
    effect: 'harmless',
    dialects,
    events: inResponse((response) => ({
      ...response,
      usage: response.usage ?? { input_tokens: 1, output_tokens: 0, total_tokens: 1 },
    })),
  },
  responses_created_fraction: {
    about: 'created_at with a fraction',
    seen: 'OpenAI, Azure',
    effect: 'harmless',
    dialects,
    events: inResponse((response) => ({ ...response, created_at: 1_766_000_000.5 })),
    reply: (reply) => ({ ...reply, created_at: 1_766_000_000.5 }),
  },
  responses_delta_after_done: {
    about: 'a delta of a text after its end',
    seen: 'relays that send events in two tasks',
    effect: 'shown',
    dialects,
    events: deltaAfterDone,
  },
  responses_error_status: {
    about: 'a failed response with status 200',
    seen: 'OpenAI',
    effect: 'fault',
    dialects,
    events: (events) => [
      ...events.slice(0, 1),
      {
        name: 'response.failed',
        data: {
          type: 'response.failed',
          sequence_number: 1,
          response: {
            ...objectOf(objectOf(events[0]?.data).response),
            status: 'failed',
            error: { code: 'server_error', message: 'The server had an error.' },
          },
        },
      },
    ],
    reply: (reply) => ({
      ...reply,
      status: 'failed',
      output: [],
      usage: null,
      error: { code: 'server_error', message: 'The server had an error.' },
    }),
  },
} satisfies Manners;

function emptyIds(response: JsonObject): JsonObject {
  return { ...response, output: objectsOf(response.output).map((item) => ({ ...item, id: '' })) };
}

function sameCallIds(response: JsonObject): JsonObject {
  return { ...response, output: objectsOf(response.output).map(sameCallId) };
}

function sameCallId(item: JsonObject, n: number): JsonObject {
  return item.call_id === undefined ? item : { ...item, call_id: `call_${n}` };
}

/** Only of a text, whose end has all of it. */
function deltaAfterDone(events: StreamEvent[]): StreamEvent[] {
  const last = events.findLastIndex((event) => typeOf(event) === 'response.output_text.delta');
  const delta = events[last];
  const done = events.findIndex((event, n) => n > last && typeOf(event) === 'response.output_text.done');
  if (!delta || done < 0) return events;
  return [...events.slice(0, last), ...events.slice(last + 1, done + 1), delta, ...events.slice(done + 1)];
}

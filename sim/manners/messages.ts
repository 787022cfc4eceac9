/** Manners of servers of the Messages API. */
import { isObject, type JsonObject, objectOf, objectsOf } from '../json.ts';
import { between, eachData, eachOf, indexOf, typeOf, without } from './edit.ts';
import type { Manners, StreamEvent } from './manner.ts';

const dialects = ['messages'] as const;

const inStart = (edit: (message: JsonObject) => JsonObject): ((events: StreamEvent[]) => StreamEvent[]) =>
  eachOf('message_start', (data) => ({ ...data, message: edit(objectOf(data.message)) }));

const withIndex = (edit: (index: number) => number): ((events: StreamEvent[]) => StreamEvent[]) =>
  eachData((data) => (data.index === undefined ? data : { ...data, index: edit(Number(data.index)) }));

const PING: StreamEvent = { name: 'ping', data: { type: 'ping' } };
const isStop = (event: StreamEvent): boolean => typeOf(event) === 'message_stop';

const repeated = (type: string): ((events: StreamEvent[]) => StreamEvent[]) => {
  return (events) => events.flatMap((event) => (typeOf(event) === type ? [event, event] : [event]));
};

const withIds = (id: (n: number) => string, object: JsonObject): JsonObject => ({ ...object, id: id(0) });

export const MESSAGES_MANNERS = {
  messages_empty_id: {
    about: 'the id is empty',
    seen: 'relays',
    effect: 'harmless',
    dialects,
    events: inStart((message) => ({ ...message, id: '' })),
    reply: (reply) => ({ ...reply, id: '' }),
  },
  messages_numbered_id: {
    about: 'ids that begin again at the next start',
    seen: 'servers of open models',
    effect: 'harmless',
    dialects,
    events: inStart((message) => withIds((n) => `msg_${n}`, message)),
    reply: (reply) => withIds((n) => `msg_${n}`, reply),
  },
  messages_no_id: {
    about: 'a start with nothing but its type',
    seen: 'relays',
    effect: 'shown',
    dialects,
    events: inStart(({ usage }) => ({ usage })),
    reply: (reply) => without(reply, 'id', 'model'),
  },
  messages_pings: {
    about: 'a ping between all events',
    seen: 'Anthropic while a model thinks',
    effect: 'harmless',
    dialects,
    events: (events) => between(events, PING),
  },
  messages_early_ping: {
    about: 'a ping before the start',
    seen: 'relays that keep the connection alive',
    effect: 'harmless',
    dialects,
    events: (events) => [PING, ...events],
  },
  messages_two_starts: {
    about: 'the start twice',
    seen: 'proxies in front of Anthropic',
    effect: 'shown',
    dialects,
    events: repeated('message_start'),
  },
  messages_two_stops: {
    about: 'the end twice',
    seen: 'relays that add their own',
    effect: 'shown',
    dialects,
    events: repeated('message_stop'),
  },
  messages_two_deltas: {
    about: 'the stop reason and the usage twice',
    seen: 'Anthropic with a paused turn, relays',
    effect: 'harmless',
    dialects,
    events: repeated('message_delta'),
  },
  messages_split_delta: {
    about: 'the stop reason and the usage in two events',
    seen: 'relays of chat completions',
    effect: 'harmless',
    dialects,
    events: (events) =>
      events.flatMap((event) => {
        if (typeOf(event) !== 'message_delta' || !isObject(event.data)) return [event];
        const { usage, ...reason } = event.data;
        const early = { output_tokens: 0 };
        return [
          { name: 'message_delta', data: { ...reason, usage: early } },
          { name: 'message_delta', data: { type: 'message_delta', delta: {}, usage } },
        ];
      }),
  },
  messages_usage_at_end: {
    about: 'zeros at the start, the whole usage at the end',
    seen: 'Z.ai, Moonshot, MiniMax',
    effect: 'harmless',
    dialects,
    events: inStart((message) => ({ ...message, usage: { input_tokens: 0, output_tokens: 0 } })),
  },
  messages_null_usage: {
    about: 'no usage at the start, and nulls among the counts',
    seen: 'servers of open models',
    effect: 'shown',
    dialects,
    events: (events) =>
      eachOf('message_delta', (data) => ({
        ...data,
        usage: { server_tool_use: null, output_tokens_details: null, ...objectOf(data.usage) },
      }))(inStart((message) => ({ ...message, usage: null }))(events)),
  },
  messages_no_usage: {
    about: 'no usage',
    seen: 'relays',
    effect: 'shown',
    dialects,
    hidesUsage: true,
    events: eachData((data) =>
      data.type === 'message_start'
        ? { ...data, message: without(objectOf(data.message), 'usage') }
        : without(data, 'usage'),
    ),
    reply: (reply) => without(reply, 'usage'),
  },
  messages_indexes_from_one: {
    about: 'blocks whose indexes begin at 1',
    seen: 'proxies that leave a block out',
    effect: 'shown',
    dialects,
    events: withIndex((index) => index + 1),
  },
  messages_no_indexes: {
    about: 'blocks without an index',
    seen: 'relays',
    effect: 'shown',
    dialects,
    events: eachData((data) => without(data, 'index')),
  },
  messages_no_names: {
    about: 'no event lines, the type is in the data only',
    seen: 'relays',
    effect: 'shown',
    dialects,
    events: (events) => events.map(({ data }) => ({ data })),
  },
  messages_no_block_stops: {
    about: 'no ends of blocks',
    seen: 'relays',
    effect: 'shown',
    dialects,
    events: (events) => events.filter((event) => typeOf(event) !== 'content_block_stop'),
  },
  messages_done: {
    about: '[DONE] after the end',
    seen: 'relays of chat completions',
    effect: 'harmless',
    dialects,
    // The official SDK ignores events without a name.
    events: (events) => [...events, { data: '[DONE]' }],
  },
  messages_no_stop: {
    about: 'no end after the stop reason',
    seen: 'relays',
    effect: 'shown',
    dialects,
    events: (events) => events.filter((event) => !isStop(event)),
  },
  messages_empty_deltas: {
    about: 'an empty delta at the beginning of every block',
    seen: 'Anthropic before arguments, servers of open models before texts',
    effect: 'harmless',
    dialects,
    events: (events) =>
      events.flatMap((event) => {
        if (typeOf(event) !== 'content_block_start' || !isObject(event.data)) return [event];
        const { index, content_block: block } = event.data;
        const { type } = objectOf(block);
        if (type !== 'text') return [event];
        const data = { type: 'content_block_delta', index, delta: { type: 'text_delta', text: '' } };
        return [event, { name: 'content_block_delta', data }];
      }),
  },
  messages_null_members: {
    about: 'unused members that are null',
    seen: 'Anthropic, MiniMax',
    effect: 'harmless',
    dialects,
    events: (events) =>
      eachOf('message_start', (data) => ({
        ...data,
        error: null,
        message: { container: null, ...objectOf(data.message) },
      }))(
        eachOf('content_block_start', (data) => ({
          ...data,
          content_block: { citations: null, ...objectOf(data.content_block) },
        }))(events),
      ),
    reply: (reply) => ({
      container: null,
      error: null,
      ...reply,
      content: objectsOf(reply.content).map((block) => ({ cache_control: null, ...block })),
    }),
  },
  messages_unknown_events: {
    about: 'events of a type that no document names',
    seen: 'Anthropic with a beta, MiniMax',
    effect: 'harmless',
    dialects,
    events: (events) => between(events, { name: 'vertex_event', data: { type: 'vertex_event', value: 1 } }),
  },
  messages_unknown_members: {
    about: 'members that no document names, in every event',
    seen: 'Bedrock, MiniMax',
    effect: 'harmless',
    dialects,
    events: eachData((data) => ({ ...data, trace_id: 'x', p: 'abcdef' })),
    reply: (reply) => ({ ...reply, base_resp: { status_code: 0, status_msg: '' }, input_sensitive: false }),
  },
  messages_input_at_start: {
    about: 'the whole input of a call in the start of its block',
    seen: 'MiniMax, Z.ai',
    effect: 'shown',
    dialects,
    events: inputAtStart,
  },
  messages_late_delta: {
    about: 'an event of the stream after its end',
    seen: 'relays that add their own usage',
    effect: 'shown',
    dialects,
    events(events) {
      const delta = events[indexOf(events, (event) => typeOf(event) === 'message_delta')];
      return delta ? [...events, delta] : events;
    },
  },
  messages_error_status: {
    about: 'an error in a response with status 200',
    seen: 'Anthropic in a stream, relays',
    effect: 'fault',
    dialects,
    events: () => [
      { name: 'error', data: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } },
    ],
    reply: () => ({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
  },
} satisfies Manners;

function inputAtStart(events: StreamEvent[]): StreamEvent[] {
  const inputs = new Map<unknown, string>();
  for (const { data } of events)
    if (isObject(data) && data.type === 'content_block_delta')
      inputs.set(data.index, `${inputs.get(data.index) ?? ''}${String(objectOf(data.delta).partial_json ?? '')}`);
  return eachOf('content_block_start', (data) => {
    const block = objectOf(data.content_block);
    if (block.type !== 'tool_use') return data;
    return { ...data, content_block: { ...block, input: JSON.parse(inputs.get(data.index) || '{}') } };
  })(events);
}

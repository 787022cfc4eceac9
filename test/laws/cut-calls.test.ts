/** A tool call that the output limit has cut: one rule for streams and unary replies of each client. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codecOf, upstreamOf } from '../../src/dialects/index.ts';
import type { Dialect, UpstreamDialect } from '../../src/rules/index.ts';
import type { WireEvent } from '../support/dialects/codecs.ts';
import { convert, DECODE_CONTEXT, DIALECT_PAIRS, readStreamAs, replyContextFor, requestFrom } from './dialect-pairs.ts';
import { partsOf, type ReplyPart } from './reply-view.ts';

const ARGS = '{"city":"Par';
type Json = Readonly<Record<string, unknown>>;

const named = (events: readonly Json[]): WireEvent[] => events.map((data) => ({ data, event: String(data.type) }));

const CALL = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'find', arguments: ARGS, status: 'incomplete' };
const USAGE = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
const RESPONSE = { id: 'r', object: 'response', created_at: 1, model: 'x', output: [], status: 'in_progress' };
const CUT = {
  ...RESPONSE,
  status: 'incomplete',
  incomplete_details: { reason: 'max_output_tokens' },
  output: [CALL],
  usage: USAGE,
};
const MESSAGE = { id: 'm', type: 'message', role: 'assistant', model: 'x', stop_sequence: null, usage: USAGE };
const USE = { type: 'tool_use', id: 'c1', name: 'find', input: {} };
const CHAT = { id: 'c', created: 1, model: 'x' };
const CHAT_CALL = { id: 'c1', type: 'function', function: { name: 'find', arguments: ARGS } };
const CHAT_USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };

const PROVIDERS: Readonly<
  Partial<Record<UpstreamDialect, { readonly unary: Json; readonly events: readonly WireEvent[] }>>
> = {
  responses: {
    unary: CUT,
    events: named([
      { type: 'response.created', response: RESPONSE },
      { type: 'response.output_item.added', output_index: 0, item: { ...CALL, arguments: '', status: 'in_progress' } },
      { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: ARGS },
      { type: 'response.output_item.done', output_index: 0, item: CALL },
      { type: 'response.incomplete', response: CUT },
    ]),
  },
  messages: {
    unary: { ...MESSAGE, content: [USE], stop_reason: 'max_tokens' },
    events: named([
      { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: USE },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: ARGS } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'max_tokens', stop_sequence: null }, usage: USAGE },
      { type: 'message_stop' },
    ]),
  },
  converse: {
    unary: {
      output: { message: { role: 'assistant', content: [{ toolUse: { toolUseId: 'c1', name: 'find', input: {} } }] } },
      stopReason: 'max_tokens',
    },
    events: [
      { event: 'messageStart', data: { role: 'assistant' } },
      {
        event: 'contentBlockStart',
        data: { contentBlockIndex: 0, start: { toolUse: { toolUseId: 'c1', name: 'find' } } },
      },
      { event: 'contentBlockDelta', data: { contentBlockIndex: 0, delta: { toolUse: { input: ARGS } } } },
      { event: 'contentBlockStop', data: { contentBlockIndex: 0 } },
      { event: 'messageStop', data: { stopReason: 'max_tokens' } },
    ],
  },
  chat: {
    unary: {
      ...CHAT,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', tool_calls: [CHAT_CALL] }, finish_reason: 'length' }],
      usage: CHAT_USAGE,
    },
    events: [
      { data: { ...CHAT, choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...CHAT_CALL }] } }] } },
      { data: { ...CHAT, choices: [{ index: 0, delta: {}, finish_reason: 'length' }] } },
      { data: { ...CHAT, choices: [], usage: CHAT_USAGE } },
      { data: '[DONE]' },
    ],
  },
};

const END: Readonly<Record<Dialect, RegExp>> = {
  responses: /"type":"function_call","status":"incomplete".*max_output_tokens|max_output_tokens.*"status":"incomplete"/,
  chat: /"finish_reason":"length"/,
  messages: /"stop_reason":"max_tokens"/,
  generate: /"finishReason":"MAX_TOKENS"/,
};

const callsIn = (parts: readonly ReplyPart[]): unknown[] => parts.map(([kind, id, name]) => [kind, id, name]);

for (const { client, upstream, name, isOffered } of DIALECT_PAIRS)
  if (isOffered && upstream !== 'generate')
    test(`${name}: a call that was cut is shown as such, streamed and unary`, () => {
      const { unary, events } = PROVIDERS[upstream] ?? assert.fail(upstream);
      const request = requestFrom(client);
      const reply = upstreamOf(upstream).decodeReply(unary, DECODE_CONTEXT);
      const whole = codecOf(client).client.encodeReply(reply, replyContextFor(request, upstream));
      const stream = readStreamAs(client, convert({ client, upstream }, events, request).text, request);
      const expected = [['call', 'c1', 'find']];
      assert.deepEqual(callsIn(partsOf(client, whole)), expected);
      assert.deepEqual(stream.end === 'complete' && callsIn(partsOf(client, stream.body)), expected);
      for (const body of [whole, stream.end === 'complete' && stream.body]) {
        const [[, , , args] = []] = partsOf(client, body);
        // The arguments of the others are objects, also where their own provider cuts a call.
        if (client === 'chat' || client === 'responses')
          assert.ok(typeof args === 'string' && ARGS.startsWith(args), `no finished call: ${args}`);
        assert.match(JSON.stringify(body), END[client]);
      }
    });

/** The events of a provider whose call has no arguments, with another end. */
const withoutArgs = (events: readonly WireEvent[], from: string, to: string): WireEvent[] =>
  JSON.parse(
    JSON.stringify(events).replaceAll(JSON.stringify(ARGS).slice(1, -1), '').replaceAll(`"${from}"`, `"${to}"`),
  );

const ENDS = {
  messages: ['max_tokens', 'tool_use'],
  chat: ['length', 'tool_calls'],
  converse: ['max_tokens', 'tool_use'],
} as const;

for (const { client, upstream, name, isOffered } of DIALECT_PAIRS)
  if (
    isOffered &&
    (upstream === 'messages' || upstream === 'chat' || upstream === 'converse') &&
    (client === 'chat' || client === 'responses')
  )
    test(`${name}: a call that was cut before its arguments has none, a finished one an empty object`, () => {
      const [cut, finished] = ENDS[upstream];
      const request = requestFrom(client);
      const argsWith = (end: string): unknown => {
        const events = withoutArgs(PROVIDERS[upstream]?.events ?? [], cut, end);
        const stream = readStreamAs(client, convert({ client, upstream }, events, request).text, request);
        return stream.end === 'complete' && partsOf(client, stream.body)[0]?.[3];
      };
      assert.equal(argsWith(cut), '');
      assert.equal(argsWith(finished), '{}');
    });

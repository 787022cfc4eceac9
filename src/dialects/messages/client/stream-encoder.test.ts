import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import { runs } from '../../../../test/support/properties.ts';
import { readSse } from '../../../core/index.ts';
import type { Style } from '../../../rules/index.ts';
import type { ReplyContext } from '../../codec.ts';
import { unfold } from '../../hub/fold.ts';
import type { HubEvent, HubItem, HubReply, JsonObject, Opaque } from '../../hub/types.ts';
import { decodeReply } from '../upstream/decode-reply.ts';
import { decodeMessages } from './decode-content.ts';
import { decodeRequest } from './decode-request.ts';
import { encodeReply } from './encode-reply.ts';
import { openEncoder } from './stream-encoder.ts';

const REQUEST = decodeRequest(
  { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] },
  { headers: {} },
);
const answer = (issuer: Style = 'responses'): ReplyContext => ({
  request: REQUEST,
  model: 'alias',
  requestId: 'req_9',
  issuer,
  created: 0,
});
const USAGE = { input: 100, cacheRead: 60, cacheWrite: 10, output: 5 };
const reply = (items: readonly HubItem[], more: Partial<HubReply> = {}): HubReply => ({
  id: 'resp_abcdef',
  model: 'upstream',
  items,
  stop: 'end',
  usage: USAGE,
  ...more,
});
const say = (...texts: string[]): HubItem => ({
  kind: 'message',
  role: 'assistant',
  parts: texts.map((text) => ({ kind: 'text', text })),
});
const call = (callId: string, args: string, signature?: Opaque): HubItem => ({
  kind: 'tool_call',
  callId,
  name: 'find',
  form: 'function',
  args,
  ...(signature && { signature }),
});
const foreign: Opaque = { issuer: 'responses', kind: 'reasoning', id: 'rs_1', data: 'gAAA' };

function encode(events: Iterable<HubEvent>, issuer?: Style): string {
  const encoder = openEncoder(answer(issuer));
  let out = '';
  for (const event of events) out += encoder.push(event);
  return out;
}

function blocksOf(wire: string): { event: string | undefined; data: JsonObject }[] {
  const blocks: { event: string | undefined; data: JsonObject }[] = [];
  const reader = readSse((data, event) => blocks.push({ event, data: JSON.parse(data) as JsonObject }));
  reader.feed(Buffer.from(wire));
  return blocks;
}

/** What the official client makes of the stream. */
async function accumulate(wire: string): Promise<JsonObject> {
  const client = new Anthropic({
    apiKey: 'k',
    maxRetries: 0,
    fetch: async () => new Response(wire, { headers: { 'content-type': 'text/event-stream' } }),
  });
  const stream = client.messages.stream({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] });
  // The client's own addition.
  const { parsed_output: _, ...message } = JSON.parse(JSON.stringify(await stream.finalMessage())) as JsonObject;
  return message;
}

const ANSWERS: Readonly<Record<string, readonly [HubReply, Style?]>> = {
  'plain text': [reply([say('Hello')])],
  'several parts': [reply([say('One. ', 'Two.')])],
  'an empty answer': [reply([])],
  'an empty message': [reply([say('')])],
  'reasoning from elsewhere, in two summaries': [
    reply([{ kind: 'reasoning', summary: ['First.', 'Then.'], opaque: foreign }, say('So.')]),
  ],
  'reasoning without any text': [reply([{ kind: 'reasoning', summary: [], opaque: foreign }, say('So.')])],
  'reasoning without anything': [reply([{ kind: 'reasoning', summary: [] }, say('So.')])],
  'reasoning without a signature': [reply([{ kind: 'reasoning', summary: ['Hm.'] }, say('So.')])],
  'calls with and without arguments': [
    reply([say('Looking.'), call('call_1', '{"q":"a"}'), call('call_2', '{}')], { stop: 'tool' }),
  ],
  'a signed call and a signed text': [
    reply(
      [
        call('c1', '{"q":1}', { issuer: 'generate-content', kind: 'thought', id: 'c1', data: 'sig' }),
        call('c2', '{}'),
        {
          kind: 'message',
          role: 'assistant',
          parts: [
            { kind: 'text', text: 'Done.', signature: { issuer: 'generate-content', kind: 'thought', data: 'tsig' } },
          ],
        },
      ],
      { stop: 'tool' },
    ),
    'generate-content',
  ],
  'a foreign search with citations': [
    reply([
      {
        kind: 'server_call',
        id: 'ws_1',
        tool: 'web_search',
        issuer: 'responses',
        status: 'completed',
        queries: ['dragoman'],
        sources: [{ url: 'https://a.example', title: 'A' }],
      },
      {
        kind: 'message',
        role: 'assistant',
        parts: [
          { kind: 'text', text: 'It is', annotations: [{ url: 'https://a.example', title: 'A', start: 0, end: 5 }] },
        ],
      },
    ]),
  ],
  'a picture': [
    reply([
      {
        kind: 'message',
        role: 'assistant',
        parts: [
          { kind: 'text', text: 'Here:' },
          { kind: 'image', source: { kind: 'base64', mime: 'image/png', data: 'AA==' } },
        ],
      },
    ]),
  ],
  'a refusal in words': [
    reply([{ kind: 'message', role: 'assistant', parts: [{ kind: 'refusal', text: 'I cannot.' }] }], {
      stop: 'refusal',
    }),
  ],
  'a filtered answer': [reply([], { stop: 'filter', refusal: 'Blocked.' })],
  'a stop sequence': [reply([say('a')], { stop: 'stop_sequence', stopSequence: 'END' })],
};

describe('an answer in the messages dialect', () => {
  for (const [about, [hub, issuer]] of Object.entries(ANSWERS)) {
    it(`is the same streamed and at once: ${about}`, async () => {
      const whole = JSON.parse(JSON.stringify(encodeReply(hub, answer(issuer)))) as JsonObject;
      const streamed = await accumulate(encode(unfold(hub), issuer));
      // It stands in the head of a stream, before it can be known; no client corrects it later.
      const { cache_creation: _, ...usage } = whole.usage as Record<string, unknown>;
      const { cache_creation: __, ...told } = streamed.usage as Record<string, unknown>;
      assert.deepEqual({ ...streamed, usage: told }, { ...whole, usage });
    });
  }

  it('carries the name the client asked for, the upstream id in its own form, and all constants', () => {
    assert.deepEqual(encodeReply(reply([say('Hi')]), answer()), {
      id: 'msg_abcdef',
      type: 'message',
      role: 'assistant',
      model: 'alias',
      diagnostics: null,
      content: [{ type: 'text', text: 'Hi', citations: null }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: {
        input_tokens: 30,
        cache_creation_input_tokens: 10,
        cache_read_input_tokens: 60,
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 0 },
        output_tokens: 5,
        output_tokens_details: null,
        server_tool_use: null,
        service_tier: 'standard',
        inference_geo: null,
        speed: null,
      },
    });
  });

  it('never executes half a call: one that the length limit cut is left out', () => {
    const body = encodeReply(reply([say('a'), call('c', '{"x":')], { stop: 'length' }), answer()) as JsonObject;
    assert.deepEqual(body.content, [{ type: 'text', text: 'a', citations: null }]);
    assert.equal(body.stop_reason, 'max_tokens');
  });

  it('is an error when the model made a call that cannot be read', () => {
    assert.throws(() => encodeReply(reply([], { stop: 'malformed_call' }), answer()), { code: 'upstream_error' });
  });

  it('comes back as the history it was: opaque values, parts and signatures at their places', () => {
    for (const [about, [hub, issuer]] of Object.entries(ANSWERS)) {
      const { content } = encodeReply(hub, answer(issuer)) as { content: unknown[] };
      if (content.length === 0) continue;
      const items = decodeMessages([{ role: 'assistant', content }]);
      const kept = items.map((item) => (item.kind === 'reasoning' ? [item.summary, item.opaque?.data] : item.kind));
      const sent = hub.items
        .filter((item) => item.kind !== 'server_call')
        .filter((item) => item.kind !== 'reasoning' || item.opaque || item.summary.length > 0)
        .map((item) => (item.kind === 'reasoning' ? [item.summary, item.opaque?.data] : item.kind));
      assert.deepEqual(kept, sent, about);
      const signatures = (list: readonly HubItem[]) =>
        list.flatMap((item) =>
          item.kind === 'tool_call'
            ? [item.signature?.data]
            : item.kind === 'message'
              ? item.parts
                  .map((part) => (part.kind === 'text' ? part.signature?.data : undefined))
                  .filter((data) => data)
              : [],
        );
      assert.deepEqual(signatures(items), signatures(hub.items), about);
    }
  });
});

describe('a stream in the messages dialect', () => {
  const start: HubEvent = { kind: 'start', id: 'x', model: 'u' };
  const item = (index: number): HubEvent => ({ kind: 'item', index, item: call(`c${index}`, '') });
  const args = (index: number, text: string): HubEvent => ({ kind: 'args', index, text });
  const end = (index: number, text: string): HubEvent => ({ kind: 'item_end', index, item: call(`c${index}`, text) });
  const finish: HubEvent = { kind: 'finish', stop: 'tool', usage: USAGE };

  it('tells interleaved items one after the other, in the order in which they began', async () => {
    const wire = encode([
      ...[start, item(0), item(1), item(2), args(1, '{"b"'), args(0, '{"a"'), args(2, '{}'), end(2, '{}')],
      ...[args(1, ':2}'), args(0, ':1}'), end(1, '{"b":2}'), end(0, '{"a":1}'), finish],
    ]);
    const places = blocksOf(wire).flatMap(({ data }) => (typeof data.index === 'number' ? [data.index] : []));
    assert.deepEqual(
      places,
      [...places].sort((a, b) => a - b),
    );
    const { content } = await accumulate(wire);
    assert.deepEqual(
      (content as JsonObject[]).map((block) => block.input),
      [{ a: 1 }, { b: 2 }, {}],
    );
  });

  it('gives the same whatever the interleaving', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { minLength: 8, maxLength: 40 }), (turns) => {
        const queues = [0, 1, 2, 3].map((index) => [
          args(index, '{"n":'),
          args(index, `${index}}`),
          end(index, `{"n":${index}}`),
        ]);
        const mixed = turns.flatMap((n) => queues[n]?.shift() ?? []);
        const events = [start, ...[0, 1, 2, 3].map(item), ...mixed, ...queues.flat(), finish];
        const told = blocksOf(encode(events));
        const json = [0, 1, 2, 3].map((index) =>
          told
            .filter(({ data }) => data.index === index && data.type === 'content_block_delta')
            .map(({ data }) => (data.delta as JsonObject).partial_json)
            .join(''),
        );
        assert.deepEqual(json, ['{"n":0}', '{"n":1}', '{"n":2}', '{"n":3}']);
      }),
      { numRuns: runs(100) },
    );
  });

  it('gives up when more waits than can be held', () => {
    const encoder = openEncoder(answer());
    for (const event of [start, item(0), item(1)]) encoder.push(event);
    const piece = 'x'.repeat(2 ** 20);
    const told = Array.from({ length: 9 }, () => encoder.push(args(1, piece)));
    assert.deepEqual(told.slice(0, 8), Array(8).fill(''));
    assert.match(told[8] ?? '', /^event: error\n/);
    assert.equal(encoder.push(finish), '');
  });

  it('holds many waiting items without running out of stack', () => {
    const many = Array.from({ length: 20_000 }, (_, index) => index + 1);
    const wire = encode([
      start,
      item(0),
      ...many.flatMap((index) => [item(index), end(index, '')]),
      end(0, ''),
      finish,
    ]);
    assert.equal(wire.match(/event: content_block_stop/g)?.length, 20_001);
  });

  it('names each event on its own line and begins with the head and a ping', () => {
    const told = blocksOf(encode(unfold(reply([say('Hi')]))));
    assert.deepEqual(
      told.map(({ event }) => event),
      [
        'message_start',
        'ping',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ],
    );
    assert.ok(told.every(({ event, data }) => event === data.type));
    const message = told[0]?.data.message as JsonObject;
    assert.equal(message.stop_reason, null);
    assert.equal((message.usage as JsonObject).output_tokens, 1);
  });

  it('tells a call of a whole-call provider in one piece', () => {
    const told = blocksOf(encode(unfold(reply([call('c1', '{"q":1}')], { stop: 'tool' })), 'generate-content'));
    const deltas = told.filter(({ event }) => event === 'content_block_delta').map(({ data }) => data.delta);
    assert.deepEqual(deltas, [{ type: 'input_json_delta', partial_json: '{"q":1}' }]);
  });

  it('loses no signature that comes when its call is already told', async () => {
    const signature: Opaque = { issuer: 'generate-content', kind: 'thought', data: 'late' };
    const wire = encode([
      start,
      item(0),
      args(0, '{}'),
      { kind: 'item_end', index: 0, item: call('c0', '{}', signature) },
      finish,
    ]);
    const { content } = await accumulate(wire);
    const [back] = decodeMessages([{ role: 'assistant', content }]);
    assert.equal(back?.kind === 'tool_call' && back.signature?.data, 'late');
  });

  it('ends in an error and in nothing else after it', () => {
    const encoder = openEncoder(answer());
    encoder.push(start);
    const wire = encoder.push({ kind: 'error', error: { code: 'server_is_overloaded', message: 'Busy.' } });
    assert.deepEqual(blocksOf(wire)[0]?.data, {
      type: 'error',
      error: { type: 'overloaded_error', message: 'Busy.', code: 'server_is_overloaded' },
      request_id: 'req_9',
    });
    assert.equal(encoder.push(finish), '');
    assert.equal(encoder.heartbeat(), '');
  });

  it('makes no success of a call that cannot be read', () => {
    assert.match(encode([start, { kind: 'finish', stop: 'malformed_call', usage: USAGE }]), /event: error\n/);
  });

  it('beats with a ping', () => {
    assert.equal(openEncoder(answer()).heartbeat(), 'event: ping\ndata: {"type":"ping"}\n\n');
  });

  it('announces a call exactly when there is one', () => {
    const stop = (items: HubItem[], stop: HubReply['stop']) =>
      (encodeReply(reply(items, { stop }), answer()) as JsonObject).stop_reason;
    assert.equal(stop([say('a')], 'tool'), 'end_turn');
    assert.equal(stop([call('c', '{}')], 'end'), 'tool_use');
    assert.equal(stop([call('c', '{}')], 'length'), 'max_tokens');
  });

  it('read by our own decoder, is the answer again', () => {
    const hub = reply([say('Hello'), call('c', '{"a":1}')], { stop: 'tool', id: 'msg_abcdef', model: 'alias' });
    const usage = { ...hub.usage, tier: 'standard' };
    assert.deepEqual(decodeReply(encodeReply(hub, answer()), { requestId: 'r' }), { ...hub, usage });
  });
});

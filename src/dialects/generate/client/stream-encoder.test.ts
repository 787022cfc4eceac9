import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, CONTEXT, decode, vectors } from '../../../../test/support/dialects/generate.ts';
import { fold, unfold } from '../../hub/fold.ts';
import type { HubEvent, HubReply, HubStop } from '../../hub/types.ts';
import { decodeReply, encodeReply } from '../reply.ts';
import { FINISH_REASONS } from '../stop-reason.ts';
import { openEncoder } from './stream-encoder.ts';

const encode = (events: readonly HubEvent[], context = answer({ clientOptions: { thoughts: true } })): string => {
  const encoder = openEncoder(context);
  return events.map((event) => encoder.push(event)).join('');
};

/** The blocks as the native SDK reads them: data only, each ended by a blank line. */
function blocks(text: string): { data: string }[] {
  assert.ok(text === '' || text.endsWith('\n\n'));
  return text
    .split('\n\n')
    .filter((part) => part !== '' && !part.startsWith(':'))
    .map((part) => {
      assert.match(part, /^data: \{/);
      return { data: part.slice('data: '.length) };
    });
}

const reply = (items: HubReply['items'], stop: HubStop = 'end', more: Partial<HubReply> = {}): HubReply => ({
  id: 'resp_abcdef',
  model: 'up',
  items,
  stop,
  usage: { input: 5, cacheRead: 0, cacheWrite: 0, output: 2 },
  ...more,
});

for (const vector of vectors) {
  const expected = vector.reply;
  // Grounding stays with its own provider, and a second signature in one message moves to its end.
  if (!expected || /grounding|server-tools|several-parts|image|usage/.test(vector.name)) continue;
  test(`${vector.name}: written as a stream or as a whole and read again, it says the same`, () => {
    const seen = fold(decode(blocks(encode(unfold(expected)))));
    assert.ok('reply' in seen);
    const whole = decodeReply(encodeReply(expected, answer({ clientOptions: { thoughts: true } })), CONTEXT);
    assert.deepEqual(seen.reply.items.map(plain), whole.items.map(plain));
    assert.equal(seen.reply.stop, whole.stop);
    assert.deepEqual(seen.reply.usage, whole.usage);
    assert.equal(seen.reply.id, whole.id);
  });
}

/** Without signatures: through a client they come back in an envelope. */
const plain = (item: unknown): unknown =>
  JSON.parse(JSON.stringify(item, (name, value) => (name === 'signature' || name === 'opaque' ? undefined : value)));

test('no block ever is the end marker that the native SDK takes for broken JSON', () => {
  assert.doesNotMatch(encode(unfold(reply([]))), /DONE/);
});

test('an empty answer is one block with a finish reason and the usage', () => {
  const [only, ...more] = blocks(encode(unfold(reply([]))));
  assert.equal(more.length, 0);
  assert.deepEqual(JSON.parse(only?.data ?? ''), {
    candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
    modelVersion: 'asked-for',
    responseId: 'abcdef',
  });
});

test('thoughts are shown only to a client that asked, but their value always reaches it', () => {
  const opaque = { issuer: 'messages', kind: 'thinking', data: 'S' } as const;
  const item = { kind: 'reasoning', summary: ['secret'], opaque } as const;
  for (const thoughts of [true, false]) {
    const context = answer({ clientOptions: { thoughts } });
    const streamed = encode(unfold(reply([item])), context);
    const whole = JSON.stringify(encodeReply(reply([item]), context));
    for (const text of [streamed, whole]) {
      assert.equal(text.includes('secret'), thoughts);
      assert.match(text, /"thoughtSignature":"gw1\./);
    }
  }
});

test('a call is sent once, whole, when it has ended', () => {
  const call = { kind: 'tool_call', callId: 'c1', name: 'f', form: 'function', args: '{"a":1}' } as const;
  const encoder = openEncoder(answer());
  encoder.push({ kind: 'start', id: 'resp_abcdef', model: 'm' });
  assert.equal(encoder.push({ kind: 'item', index: 0, item: { ...call, args: '' } }), '');
  assert.equal(encoder.push({ kind: 'args', index: 0, text: '{"a"' }), '');
  assert.equal(encoder.push({ kind: 'args', index: 0, text: ':1}' }), '');
  const [block] = blocks(encoder.push({ kind: 'item_end', index: 0, item: call }));
  const { candidates } = JSON.parse(block?.data ?? '{}');
  assert.deepEqual(candidates[0].content.parts, [{ functionCall: { id: 'c1', name: 'f', args: { a: 1 } } }]);
});

test('a refusal is told as the message of the finish, not as text of the model', () => {
  const item = { kind: 'message', role: 'assistant', parts: [{ kind: 'refusal', text: 'No.' }] } as const;
  const last = blocks(encode(unfold(reply([item], 'refusal')))).at(-1);
  const { candidates } = JSON.parse(last?.data ?? '{}');
  assert.equal(candidates[0].finishReason, 'SAFETY');
  assert.equal(candidates[0].finishMessage, 'No.');
  assert.deepEqual(candidates[0].content.parts, [{ text: '' }]);
});

test("an error ends the stream in the provider's form, and nothing follows it", () => {
  const encoder = openEncoder(answer());
  const text = encoder.push({
    kind: 'error',
    error: { code: 'rate_limit_exceeded', message: 'Slow down.', retryAfterMs: 12_000 },
  });
  const [block] = blocks(text);
  const { error } = JSON.parse(block?.data ?? '{}');
  assert.equal(error.code, 429);
  assert.equal(error.status, 'RESOURCE_EXHAUSTED');
  assert.equal(error.message, 'Slow down. Please retry in 12s.');
  assert.deepEqual(error.details[1], { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12s' });
  assert.equal(encoder.push({ kind: 'text', index: 0, part: 0, text: 'late' }), '');
});

test('heartbeats and pings are comments that stand alone', () => {
  const encoder = openEncoder(answer());
  assert.equal(encoder.heartbeat(), ': hb\n\n');
  assert.equal(encoder.push({ kind: 'ping' }), ': hb\n\n');
});

test('every stop has a finish reason that the native SDK knows', () => {
  for (const reason of Object.values(FINISH_REASONS)) assert.match(reason, /^[A-Z_]+$/);
});

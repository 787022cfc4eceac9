import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CONTEXT, decodeAll } from '../../../../test/support/dialects/chat.ts';
import { checkEventOrder } from '../../../../test/support/dialects/codecs.ts';
import { runs } from '../../../../test/support/properties.ts';
import { ApiError } from '../../../core/index.ts';
import { fold } from '../../hub/fold.ts';
import { decodeReply, openDecoder } from './stream-decoder.ts';

test('decoder never throws on arbitrary chunks and always ends with one terminal event', () => {
  const piece = fc.oneof(fc.string(), fc.constant(null), fc.integer(), fc.constant(''));
  const entry = fc.record(
    {
      index: fc.oneof(fc.nat(2), fc.constant(-1)),
      id: fc.oneof(fc.constantFrom('a', 'b', ''), fc.constant(null)),
      function: fc.record({ name: fc.constantFrom('f', 'g', ''), arguments: piece }, { requiredKeys: [] }),
      custom: fc.record({ name: piece, input: piece }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  );
  const delta = fc.record(
    {
      content: piece,
      refusal: piece,
      reasoning_content: piece,
      reasoning: piece,
      tool_calls: fc.oneof(fc.array(entry), piece),
      function_call: fc.oneof(fc.record({ name: piece, arguments: piece }), piece),
      annotations: fc.oneof(fc.array(fc.anything()), piece),
    },
    { requiredKeys: [] },
  );
  const choice = fc.record(
    { index: fc.constantFrom(0, 1), delta, finish_reason: fc.constantFrom(null, 'stop', 'tool_calls', 'unknown') },
    { requiredKeys: ['delta'] },
  );
  const chunk = fc.record(
    { id: fc.constantFrom('', 'x'), choices: fc.array(choice, { maxLength: 2 }), usage: fc.anything() },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(fc.oneof({ weight: 9, arbitrary: chunk }, fc.anything()), { maxLength: 8 }), (chunks) => {
      checkEventOrder(
        decodeAll(chunks.map((data) => ({ data: data === undefined ? 'x' : (JSON.stringify(data) ?? '') }))),
      );
    }),
    { numRuns: runs(300) },
  );
});

// ---------------------------------------------------------------- single behaviours

const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
  data: { id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason }], ...more },
});
const replyOf = (...events: { data: unknown }[]) => {
  const folded = fold(decodeAll(events));
  assert.ok('reply' in folded);
  return folded.reply;
};

test('decoders mint the same id for a call without one in a stream and in a unary reply', () => {
  const streamed = replyOf(
    chunk({ function_call: { name: 'f', arguments: '{"x":' } }),
    chunk({ function_call: { arguments: '1}' } }, 'function_call'),
  );
  const message = { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"x":1}' } };
  const unary = decodeReply({ id: 'c', model: 'm', choices: [{ message, finish_reason: 'function_call' }] }, CONTEXT);
  assert.deepEqual(unary, streamed);
  assert.match(streamed.items[0]?.kind === 'tool_call' ? streamed.items[0].callId : '', /^call_gw/);
  assert.equal(streamed.stop, 'tool');
});

test('decoder does not split a call whose id arrives late', () => {
  const { items } = replyOf(
    chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '{' } }] }),
    chunk({ tool_calls: [{ index: 0, id: 'late', function: { arguments: '}' } }] }, 'tool_calls'),
  );
  assert.equal(items.length, 1);
});

test('decoder separates calls under one index without ids by their names', () => {
  const entry = (name: string | undefined, args: string, id?: string) =>
    chunk({ tool_calls: [{ index: 0, id, function: { name, arguments: args } }] });
  const { items } = replyOf(
    entry('f', '{"x":', 'a'),
    entry('f', '1}'),
    entry('g', '{"y":'),
    entry(undefined, '2}'),
    entry('h', '{}'),
    chunk({}, 'tool_calls'),
  );
  assert.deepEqual(
    items.map((item) => item.kind === 'tool_call' && [item.name, item.args]),
    [
      ['f', '{"x":1}'],
      ['g', '{"y":2}'],
      ['h', '{}'],
    ],
  );
});

test('decoder separates calls without index by their ids', () => {
  const { items } = replyOf(
    chunk({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] }),
    chunk({ tool_calls: [{ id: 'b', function: { name: 'f', arguments: { x: 1 } } }] }, 'tool_calls'),
  );
  assert.deepEqual(
    items.map((item) => item.kind === 'tool_call' && [item.callId, item.args]),
    [
      ['a', '{}'],
      ['b', '{"x":1}'],
    ],
  );
});

test('decoder fails the stream when a call has no name', () => {
  const folded = fold(
    decodeAll([chunk({ tool_calls: [{ index: 0, id: 'a', function: { arguments: '{}' } }] }, 'tool_calls')]),
  );
  assert.equal('error' in folded && folded.error.code, 'upstream_error');
});

test('decoder attaches the account to the signature of a call', () => {
  const entry = { index: 0, id: 'a', function: { name: 'f' }, extra_content: { google: { thought_signature: 's' } } };
  const events = decodeAll([chunk({ tool_calls: [entry] }, 'tool_calls')], { requestId: 'r', account: 'acc' });
  const end = events.find((event) => event.kind === 'item_end');
  assert.deepEqual(end?.item.kind === 'tool_call' && end.item.signature, {
    issuer: 'generate-content',
    kind: 'thought',
    account: 'acc',
    data: 's',
  });
});

test('decoder treats invalid usage as not reported and describes it', () => {
  const usage = { prompt_tokens: -1, completion_tokens: 1.5 };
  assert.deepEqual(replyOf(chunk({ content: 'x' }, 'stop', { usage })).usage, {
    input: 0,
    cacheRead: 0,
    cacheWrite: 0,
    output: 0,
    estimated: true,
    invalid: 'prompt_tokens is -1',
  });
});

test('decoder fails a stream that ends with [DONE] but without a finish reason', () => {
  assert.equal(decodeAll([chunk({ content: 'x' }), { data: '[DONE]' }]).at(-1)?.kind, 'error');
});

test('decoder classifies an error object by the HTTP status in its code', () => {
  const folded = fold(decodeAll([{ data: { error: { message: 'busy', code: 503 } } }]));
  assert.equal('error' in folded && folded.error.code, 'server_is_overloaded');
});

test('decoder emits nothing after the end', () => {
  const decoder = openDecoder(CONTEXT);
  decoder.push('{"id":"c","choices":[{"delta":{},"finish_reason":"stop"}]}');
  assert.equal(decoder.push('[DONE]').at(-1)?.kind, 'finish');
  assert.deepEqual([decoder.push('[DONE]'), decoder.push('{}'), decoder.end()], [[], [], []]);
});

test('decodeReply throws a catalogue error for a body without a message or with an error', () => {
  const codeOf = (body: unknown) => {
    try {
      decodeReply(body, CONTEXT);
    } catch (error) {
      return error instanceof ApiError ? error.code : error;
    }
    return undefined;
  };
  assert.equal(codeOf({ choices: [] }), 'upstream_error');
  assert.equal(codeOf(null), 'upstream_error');
  assert.equal(codeOf({ error: { message: 'x', code: 'context_length_exceeded' } }), 'context_length_exceeded');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ApiError } from '../../core/index.ts';
import { fold } from '../fold.ts';
import { isMinted } from '../ids.ts';
import { checkPromises } from '../testbed.ts';
import { openDecoder } from './decoder.ts';
import { decodeReply } from './reply.ts';
import { CONTEXT, decode } from './testbed.ts';

const chunk = (parts: unknown[], finishReason?: string) => ({
  data: { candidates: [{ content: { parts, role: 'model' }, ...(finishReason && { finishReason }) }], responseId: 'r' },
});

test('a call without an id gets one of ours, the same on every decoding and different for each call', () => {
  const events = [chunk([{ functionCall: { name: 'f' } }, { functionCall: { name: 'f', args: { a: 1 } } }], 'STOP')];
  const folded = fold(decode(events));
  assert.ok('reply' in folded);
  const ids = folded.reply.items.map((item) => (item.kind === 'tool_call' ? item.callId : ''));
  assert.ok(ids.every(isMinted));
  assert.equal(new Set(ids).size, 2);
  assert.deepEqual(fold(decode(events)), folded);
});

test('an id that occurs twice is replaced the second time, since results are paired by it', () => {
  const folded = fold(
    decode([chunk([{ functionCall: { id: 'a', name: 'f' } }, { functionCall: { id: 'a', name: 'g' } }], 'STOP')]),
  );
  assert.ok('reply' in folded);
  const ids = folded.reply.items.map((item) => (item.kind === 'tool_call' ? item.callId : ''));
  assert.equal(ids[0], 'a');
  assert.ok(isMinted(ids[1] ?? ''));
});

test('signatures name the account family that they belong to', () => {
  const events = [chunk([{ functionCall: { id: 'a', name: 'f' }, thoughtSignature: 'S' }], 'STOP')];
  const folded = fold(decode(events, { requestId: 'r', account: 'acc' }));
  assert.ok('reply' in folded);
  const [item] = folded.reply.items;
  assert.deepEqual(item?.kind === 'tool_call' && item.signature, {
    home: 'generate-content',
    kind: 'thought',
    id: 'a',
    account: 'acc',
    data: 'S',
  });
});

test('the signature of a call is known when the call begins, so that an encoder can put it in front', () => {
  const begun = decode([chunk([{ functionCall: { id: 'a', name: 'f' }, thoughtSignature: 'S' }], 'STOP')]).find(
    (event) => event.kind === 'item',
  );
  assert.equal(begun?.item.kind === 'tool_call' && begun.item.signature?.data, 'S');
});

test('text is passed on with the chunk that brought it', () => {
  const decoder = openDecoder(CONTEXT);
  const kinds = (data: unknown) => decoder.push(JSON.stringify(data)).map((event) => event.kind);
  assert.deepEqual(kinds(chunk([{ text: 'a' }]).data), ['start', 'item', 'text']);
  assert.deepEqual(kinds(chunk([{ text: 'b' }]).data), ['text']);
});

test('a second candidate is not mixed into the first', () => {
  const first = chunk([{ text: 'one' }], 'STOP').data.candidates[0];
  const second = { ...chunk([{ text: 'two' }], 'STOP').data.candidates[0], index: 1 };
  const reply = decodeReply({ candidates: [first, second] }, CONTEXT);
  assert.deepEqual(reply.items, [{ kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'one' }] }]);
});

test('a search is counted per query on current models and once on older ones', () => {
  const body = (modelVersion: string) => ({
    modelVersion,
    candidates: [{ content: { parts: [{ text: 'x' }] }, groundingMetadata: { webSearchQueries: ['a', 'b', ''] } }],
  });
  assert.equal(decodeReply(body('gemini-3-pro'), CONTEXT).usage.searches, 2);
  assert.equal(decodeReply(body('gemini-2.5-flash'), CONTEXT).usage.searches, 1);
});

test('a whole answer that is an error or nothing at all is thrown, never invented', () => {
  const code = (expected: string) => (error: unknown) => error instanceof ApiError && error.code === expected;
  assert.throws(
    () => decodeReply({ error: { code: 503, status: 'UNAVAILABLE' } }, CONTEXT),
    code('server_is_overloaded'),
  );
  for (const body of [undefined, null, 'text', [], {}, { usageMetadata: { promptTokenCount: 3 } }]) {
    assert.throws(() => decodeReply(body, CONTEXT), code('upstream_error'));
  }
});

test('odd parts are survived: nulls, numbers, empty objects, media without data', () => {
  const parts = [null, 7, {}, { inlineData: {} }, { text: 5 }, { newKind: { x: 1 } }, { text: 'ok' }];
  const folded = fold(decode([chunk(parts, 'STOP')]));
  assert.ok('reply' in folded);
  assert.deepEqual(
    folded.reply.items.map((item) => item.kind),
    ['opaque', 'opaque', 'message'],
  );
});

const anyPart = fc.oneof(
  fc.record(
    { text: fc.string(), thought: fc.boolean(), thoughtSignature: fc.constantFrom('', 'S') },
    { requiredKeys: [] },
  ),
  fc.record({
    functionCall: fc.record({ id: fc.constantFrom('a', 'b'), name: fc.constantFrom('', 'f') }, { requiredKeys: [] }),
  }),
  fc.record({ inlineData: fc.record({ mimeType: fc.constant('image/png'), data: fc.string() }, { requiredKeys: [] }) }),
  fc.constantFrom({ executableCode: {} }, { codeExecutionResult: {} }, { toolCall: {} }),
  fc.jsonValue(),
);
const anyChunk = fc.oneof(
  fc.record({
    candidates: fc.array(
      fc.record(
        {
          content: fc.record({ parts: fc.array(anyPart, { maxLength: 4 }) }),
          finishReason: fc.constantFrom('STOP', 'MAX_TOKENS', 'SAFETY', 'NEW'),
          groundingMetadata: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
      { maxLength: 2 },
    ),
    usageMetadata: fc.jsonValue(),
  }),
  fc.jsonValue(),
);

test('law: no stream, however odd, makes the decoder throw, repeat itself or end twice', () => {
  fc.assert(
    fc.property(fc.array(anyChunk, { maxLength: 6 }), (chunks) => {
      const events = chunks.map((data) => ({ data: JSON.stringify(data) }));
      const told = decode(events);
      checkPromises(told);
      assert.deepEqual(decode(events), told);
    }),
    { numRuns: 400 },
  );
});

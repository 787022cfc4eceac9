import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkPromises } from '../../../../test/support/dialects/codecs.ts';
import { CONTEXT, decode } from '../../../../test/support/dialects/generate.ts';
import { runs } from '../../../../test/support/properties.ts';
import { ApiError } from '../../../core/index.ts';
import { fold } from '../../hub/fold.ts';
import { isMinted } from '../../wire/ids.ts';
import { decodeReply } from './decode-reply.ts';
import { openDecoder } from './stream-decoder.ts';

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
    issuer: 'generate-content',
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
    { numRuns: runs(400) },
  );
});

const piece = (jsonPath: string, value: object, willContinue?: true) => ({
  jsonPath,
  ...value,
  ...(willContinue && { willContinue }),
});
const going = (...partialArgs: object[]) => chunk([{ functionCall: { partialArgs, willContinue: true } }]);
const begun = chunk([{ functionCall: { id: 'a', name: 'f', willContinue: true }, thoughtSignature: 'S' }]);

test('arguments that come piece by piece are one call, told when the last piece is there', () => {
  const events = decode([
    begun,
    going(piece('$.place', { stringValue: 'New ' }, true)),
    going(piece('$.place', { stringValue: 'Delhi' }), piece('$.days', { numberValue: 3 })),
    going(piece('$.at[0].lat', { numberValue: 1.5 }), piece("$.at[0]['the name']", { stringValue: 'x' })),
    going(piece('$.exact', { boolValue: false }), piece('$.none', { nullValue: 'NULL_VALUE' })),
    chunk([{ functionCall: {} }]),
    chunk([{ functionCall: { id: 'b', name: 'g', args: { c: 1 } } }], 'STOP'),
  ]);
  checkPromises(events);
  const folded = fold(events);
  assert.ok('reply' in folded);
  const [first, second] = folded.reply.items;
  assert.ok(first?.kind === 'tool_call' && second?.kind === 'tool_call');
  assert.deepEqual(JSON.parse(first.args), {
    place: 'New Delhi',
    days: 3,
    at: [{ lat: 1.5, 'the name': 'x' }],
    exact: false,
    none: null,
  });
  assert.deepEqual([first.callId, first.signature?.data, second.callId, second.args], ['a', 'S', 'b', '{"c":1}']);
  assert.equal(folded.reply.stop, 'tool');
});

test('pieces whose paths lead nowhere are passed over, and none can reach beyond the arguments', () => {
  const folded = fold(
    decode([
      begun,
      going(
        piece('$', { stringValue: 'x' }),
        piece('place', { stringValue: 'x' }),
        piece('$.a[', { stringValue: 'x' }),
      ),
      going(piece('$.__proto__.polluted', { boolValue: true }), piece('$.a[999999999]', { numberValue: 1 })),
      going(piece('$.ok', { boolValue: true })),
      chunk([{ functionCall: {} }], 'STOP'),
    ]),
  );
  assert.ok('reply' in folded);
  const [call] = folded.reply.items;
  assert.equal(call?.kind === 'tool_call' && call.args, '{"ok":true}');
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});

test('a stream that breaks off inside a call has not made one', () => {
  const events = decode([begun, going(piece('$.place', { stringValue: 'New ' }, true))]);
  assert.equal(events.at(-1)?.kind, 'error');
  const cut = decode([begun, going(piece('$.a', { numberValue: 1 })), chunk([], 'MAX_TOKENS')]);
  checkPromises(cut);
  const folded = fold(cut);
  assert.ok('reply' in folded && folded.reply.stop === 'length');
});

test('a finish reason that is the name of something every object has is merely unknown', () => {
  for (const reason of ['constructor', '__proto__', 'toString']) {
    const folded = fold(decode([chunk([{ text: 'a' }], reason)]));
    assert.ok('reply' in folded && folded.reply.stop === 'end', reason);
  }
});

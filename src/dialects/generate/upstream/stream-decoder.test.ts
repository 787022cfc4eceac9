import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkEventOrder } from '../../../../test/support/dialects/codecs.ts';
import { CONTEXT, decode } from '../../../../test/support/dialects/generate.ts';
import { runs } from '../../../../test/support/properties.ts';
import { fold } from '../../hub/fold.ts';
import { isMinted } from '../../wire/ids.ts';
import { openDecoder } from './stream-decoder.ts';

const chunk = (parts: unknown[], finishReason?: string) => ({
  data: { candidates: [{ content: { parts, role: 'model' }, ...(finishReason && { finishReason }) }], responseId: 'r' },
});

test('generate stream decoder gives calls without an id a stable, unique one', () => {
  const events = [chunk([{ functionCall: { name: 'f' } }, { functionCall: { name: 'f', args: { a: 1 } } }], 'STOP')];
  const folded = fold(decode(events));
  assert.ok('reply' in folded);
  const ids = folded.reply.items.map((item) => (item.kind === 'tool_call' ? item.callId : ''));
  assert.ok(ids.every(isMinted));
  assert.equal(new Set(ids).size, 2);
  assert.deepEqual(fold(decode(events)), folded);
});

test('generate stream decoder replaces a repeated call id, because results are paired by id', () => {
  const folded = fold(
    decode([chunk([{ functionCall: { id: 'a', name: 'f' } }, { functionCall: { id: 'a', name: 'g' } }], 'STOP')]),
  );
  assert.ok('reply' in folded);
  const ids = folded.reply.items.map((item) => (item.kind === 'tool_call' ? item.callId : ''));
  assert.equal(ids[0], 'a');
  assert.ok(isMinted(ids[1] ?? ''));
});

test('generate stream decoder adds the account to signatures', () => {
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

test('generate stream decoder includes the signature in the first event of a call', () => {
  const first = decode([chunk([{ functionCall: { id: 'a', name: 'f' }, thoughtSignature: 'S' }], 'STOP')]).find(
    (event) => event.kind === 'item',
  );
  assert.equal(first?.item.kind === 'tool_call' && first.item.signature?.data, 'S');
});

test('generate stream decoder emits text with the chunk that contains it', () => {
  const decoder = openDecoder(CONTEXT);
  const kinds = (data: unknown) => decoder.push(JSON.stringify(data)).map((event) => event.kind);
  assert.deepEqual(kinds(chunk([{ text: 'a' }]).data), ['start', 'item', 'text']);
  assert.deepEqual(kinds(chunk([{ text: 'b' }]).data), ['text']);
});

test('generate stream decoder skips malformed parts and keeps unknown ones', () => {
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

test('generate stream decoder is deterministic and keeps the event rules for malformed streams', () => {
  fc.assert(
    fc.property(fc.array(anyChunk, { maxLength: 6 }), (chunks) => {
      const events = chunks.map((data) => ({ data: JSON.stringify(data) }));
      const decoded = decode(events);
      checkEventOrder(decoded);
      assert.deepEqual(decode(events), decoded);
    }),
    { numRuns: runs(400) },
  );
});

const piece = (jsonPath: string, value: object, willContinue?: true) => ({
  jsonPath,
  ...value,
  ...(willContinue && { willContinue }),
});
const argsChunk = (...partialArgs: object[]) => chunk([{ functionCall: { partialArgs, willContinue: true } }]);
const callStart = chunk([{ functionCall: { id: 'a', name: 'f', willContinue: true }, thoughtSignature: 'S' }]);

test('generate stream decoder assembles partial arguments into one call', () => {
  const events = decode([
    callStart,
    argsChunk(piece('$.place', { stringValue: 'New ' }, true)),
    argsChunk(piece('$.place', { stringValue: 'Delhi' }), piece('$.days', { numberValue: 3 })),
    argsChunk(piece('$.at[0].lat', { numberValue: 1.5 }), piece("$.at[0]['the name']", { stringValue: 'x' })),
    argsChunk(piece('$.exact', { boolValue: false }), piece('$.none', { nullValue: 'NULL_VALUE' })),
    chunk([{ functionCall: {} }]),
    chunk([{ functionCall: { id: 'b', name: 'g', args: { c: 1 } } }], 'STOP'),
  ]);
  checkEventOrder(events);
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

test('generate stream decoder ignores invalid argument paths and prototype pollution', () => {
  const folded = fold(
    decode([
      callStart,
      argsChunk(
        piece('$', { stringValue: 'x' }),
        piece('place', { stringValue: 'x' }),
        piece('$.a[', { stringValue: 'x' }),
      ),
      argsChunk(piece('$.__proto__.polluted', { boolValue: true }), piece('$.a[999999999]', { numberValue: 1 })),
      argsChunk(piece('$.ok', { boolValue: true })),
      chunk([{ functionCall: {} }], 'STOP'),
    ]),
  );
  assert.ok('reply' in folded);
  const [call] = folded.reply.items;
  assert.equal(call?.kind === 'tool_call' && call.args, '{"ok":true}');
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});

test('generate stream decoder fails when a stream ends inside a call, unless the length limit ended it', () => {
  const events = decode([callStart, argsChunk(piece('$.place', { stringValue: 'New ' }, true))]);
  assert.equal(events.at(-1)?.kind, 'error');
  const cut = decode([callStart, argsChunk(piece('$.a', { numberValue: 1 })), chunk([], 'MAX_TOKENS')]);
  checkEventOrder(cut);
  const folded = fold(cut);
  assert.ok('reply' in folded && folded.reply.stop === 'length');
});

test('generate stream decoder treats names of Object.prototype members as unknown finish reasons', () => {
  for (const reason of ['constructor', '__proto__', 'toString']) {
    const folded = fold(decode([chunk([{ text: 'a' }], reason)]));
    assert.ok('reply' in folded && folded.reply.stop === 'end', reason);
  }
});

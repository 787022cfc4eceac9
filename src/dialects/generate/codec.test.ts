import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  CONTEXT,
  chunksOf,
  clientContext,
  decode,
  encodeStream,
  functionCallPart,
  functionResponsePart,
  hubRequest,
  isApiError,
  isSmallSchema,
  jsonSchemas,
  target,
  thought,
  vectors,
} from '../../../test/support/dialects/generate.ts';
import { runs } from '../../../test/support/properties.ts';
import { checkSupport } from '../hub/fields.ts';
import { fold, unfold } from '../hub/fold.ts';
import { wrap } from '../opaque/envelope.ts';
import { decodeRequest } from './client/decode-request.ts';
import { encodeReply } from './client/encode-reply.ts';
import { fromGoogleSchema } from './client/from-google-schema.ts';
import { fieldNames, support } from './fields.ts';
import { encodeRequest } from './upstream/encode-request.ts';
import { decodeReply } from './upstream/stream-decoder.ts';
import { toGoogleSchema } from './upstream/to-google-schema.ts';
import type { WireContent } from './wire.ts';

for (const vector of vectors) {
  const expected = vector.reply;
  // Grounding is dropped for clients, and a second signature in one message moves to its end.
  if (!expected || /grounding|server-tools|several-parts|image|usage/.test(vector.name)) continue;
  test(`generate codec decodes its own stream and unary reply to the same items: ${vector.name}`, () => {
    const streamed = fold(decode(chunksOf(encodeStream(unfold(expected)))));
    assert.ok('reply' in streamed);
    const unary = decodeReply(encodeReply(expected, clientContext({ clientOptions: { thoughts: true } })), CONTEXT);
    assert.deepEqual(streamed.reply.items.map(withoutOpaque), unary.items.map(withoutOpaque));
    assert.equal(streamed.reply.stop, unary.stop);
    assert.deepEqual(streamed.reply.usage, unary.usage);
    assert.equal(streamed.reply.id, unary.id);
  });
}

/** Removes opaque values, which the client encoder wraps in envelopes. */
const withoutOpaque = (item: unknown): unknown =>
  JSON.parse(JSON.stringify(item, (name, value) => (name === 'signature' || name === 'opaque' ? undefined : value)));

test('generate codec round-trips the contents of a native client part by part', () => {
  const contents = [
    { role: 'user', parts: [{ text: 'go' }] },
    {
      role: 'model',
      parts: [
        { text: 'plan', thoughtSignature: 'T' },
        functionCallPart('1', 'f', wrap(thought('S', { id: '1', account: 'mine' }))),
        { toolCall: { id: 'x', toolType: 'GOOGLE_SEARCH' } },
      ],
    },
    { role: 'user', parts: [functionResponsePart('1')] },
  ];
  const request = decodeRequest({ contents }, { headers: {}, model: 'm' });
  const back = encodeRequest(request, { ...target(), account: 'mine' }).body.contents as WireContent[];
  assert.deepEqual(back[1]?.parts[1], functionCallPart('1', 'f', 'S'));
  assert.deepEqual(
    [back[0], back[1]?.parts[0], back[1]?.parts[2], back[2]],
    [contents[0], contents[1]?.parts[0], contents[1]?.parts[2], contents[2]],
  );
});

test('checkSupport rejects unsupported fields under the name of the client and returns the dropped ones', () => {
  const request = hubRequest({
    sampling: { logitBias: { a: 1 } },
    cache: { auto: true, key: 'k' },
    meta: { userId: 'u' },
  });
  assert.throws(
    () => checkSupport(request, support, fieldNames),
    isApiError('unsupported_parameter', /generationConfig\.logitBias/),
  );
  assert.deepEqual(checkSupport(hubRequest({ ...request, sampling: {} }), support, fieldNames), [
    'cacheBreakpoints',
    'userId',
  ]);
});

test('toGoogleSchema reverses fromGoogleSchema for every converted schema', () => {
  fc.assert(
    fc.property(jsonSchemas, (schema) => {
      const googleSchema = toGoogleSchema(schema);
      fc.pre(isSmallSchema(googleSchema));
      assert.deepEqual(toGoogleSchema(fromGoogleSchema(googleSchema)), googleSchema);
    }),
    { numRuns: runs(300) },
  );
});

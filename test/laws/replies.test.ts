import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { codecOf, fold, pairOf, upstreamOf } from '../../src/dialects/index.ts';
import { checkEventOrder, convertReply, decodeAll } from '../support/dialects/codecs.ts';
import {
  convert,
  DECODE_CONTEXT,
  DIALECT_PAIRS,
  EMPTY_ENCODED,
  readStreamAs,
  replyContextFor,
  requestFrom,
} from './dialect-pairs.ts';
import { normalize } from './normalize.ts';
import { type Block, type ModelReply, modelReplies } from './reply-arbitrary.ts';
import { inChatOrder, partsIn, partsOf, usageOf } from './reply-view.ts';
import { law } from './runs.ts';
import { wireFormOf } from './wire.ts';

/** The generate dialect does not report cache writes, and Converse no tokens of reasoning. */
const expectedUsage = ({ usage }: ModelReply, dialects: readonly string[]) => ({
  ...usage,
  ...(dialects.includes('generate') && { cacheWrite: 0 }),
  ...(dialects.includes('converse') && { reasoning: 0 }),
});

for (const { client, upstream, name, isOffered } of DIALECT_PAIRS) {
  test(`${name}: any reply keeps its text, calls, order and usage, streamed and unary`, () => {
    law(
      modelReplies,
      (modelReply) => {
        const wire = wireFormOf(upstream, modelReply);
        const decoded = decodeAll(upstreamOf(upstream).openDecoder(DECODE_CONTEXT), wire.events);
        checkEventOrder(decoded);
        const reply = upstreamOf(upstream).decodeReply(wire.unary, DECODE_CONTEXT);
        assert.deepEqual(fold(decoded), { reply }, 'the stream folds into the unary reply');

        const request = requestFrom(client);
        const { text } = convert({ client, upstream }, wire.events, request);
        const result = readStreamAs(client, text, request);
        assert.equal(result.end, 'complete');
        const unary = codecOf(client).client.encodeReply(reply, replyContextFor(request, upstream));
        assert.deepEqual(result.end === 'complete' && normalize(client, result.body), normalize(client, unary));

        const parts = partsOf(client, unary);
        const expected = partsIn(upstream === 'chat' ? 'chat' : client, modelReply);
        assert.deepEqual(upstream === 'chat' ? inChatOrder(parts) : parts, expected);
        assert.deepEqual(usageOf(client, unary), expectedUsage(modelReply, [client, upstream]));
      },
      isOffered ? 1 : 0.1,
    );
  });
}

// ---------------------------------------------------------------- emulated stop sequences

const sequences = fc.uniqueArray(fc.constantFrom('a', 'ok.', 'The', '\n', '[DONE]', '😀', 'ae', '"}', 'x'), {
  minLength: 1,
  maxLength: 3,
});

/** The reply up to the first stop sequence in a text. */
function cutAtStop(stops: readonly string[], modelReply: ModelReply): ModelReply {
  const blocks: Block[] = [];
  for (const block of modelReply.blocks) {
    const at = block.kind === 'text' ? stops.map((stop) => block.text.indexOf(stop)).filter((index) => index >= 0) : [];
    if (block.kind !== 'text' || at.length === 0) {
      blocks.push(block);
      continue;
    }
    blocks.push({ ...block, text: block.text.slice(0, Math.min(...at)) });
    break;
  }
  return { ...modelReply, blocks };
}

for (const pair of DIALECT_PAIRS.filter(({ upstream }) => upstream === 'responses')) {
  const { client, upstream, name } = pair;
  test(`${name}: the text ends before the first stop sequence wherever the stream is cut, streamed and unary`, () => {
    law(
      fc.tuple(modelReplies, sequences),
      ([modelReply, stops]) => {
        const wire = wireFormOf(upstream, modelReply);
        const request = requestFrom(client);
        const encoded = { ...EMPTY_ENCODED, emulateStop: stops };
        const result = readStreamAs(client, convert(pair, wire.events, request, encoded).text, request);
        const unary = convertReply(pairOf(pair), encoded, wire.unary, replyContextFor(request, upstream));
        assert.deepEqual(result.end === 'complete' && normalize(client, result.body), normalize(client, unary));
        assert.deepEqual(partsOf(client, unary), partsIn(client, cutAtStop(stops, modelReply)));
      },
      0.5,
    );
  });
}

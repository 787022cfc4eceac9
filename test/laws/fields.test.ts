// set: sweeps; every member of the SDKs' types in every pair of dialects
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fold, pairOf, upstreamOf } from '../../src/dialects/index.ts';
import { convertReply, decodeAll } from '../support/dialects/codecs.ts';
import {
  convert,
  DECODE_CONTEXT,
  DIALECT_PAIRS,
  type DialectPair,
  EMPTY_ENCODED,
  readStreamAs,
  replyContextFor,
  requestFrom,
  UPSTREAMS,
} from './dialect-pairs.ts';
import { type Exception, exceptionFor, IN_REPLIES, INTENDED, UNTESTED } from './field-exceptions.ts';
import { type FieldOutcome, observeFields, observeReplies, observeSettings } from './field-outcomes.ts';
import { normalize } from './normalize.ts';
import { replyFields } from './reply-fields.ts';
import { streamOf } from './reply-stream.ts';

/** Requests of generate-content clients are walked natively only (`test/e2e/native-fields.test.ts`). */
const OFFERED = DIALECT_PAIRS.filter(({ isOffered, client }) => isOffered && client !== 'generate');
/** Of every provider, because any name may be configured for any account. */
const MODELS = [
  ...['unknown-model', 'claude-opus-5', 'claude-haiku-4', 'gpt-4o', 'gpt-5', 'gpt-6', 'gemini-2.5-pro'],
  ...['gemini-2.5-flash', 'gemini-2.5-flash-image', 'amazon.nova-2-lite-v1:0', 'openai.gpt-oss-120b-1:0'],
];
const used = new Set<Exception>();

/** Labels of the fields that no exception excuses. */
function unexplained(pair: DialectPair, outcomes: readonly FieldOutcome[], lost: readonly Exception[]): string[] {
  const excused = ({ field, outcome }: FieldOutcome): boolean => {
    const row = exceptionFor(outcome === 'invalid' ? UNTESTED : lost, field.label, pair.name);
    if (row) used.add(row);
    return row !== undefined;
  };
  return outcomes
    .filter((one) => (one.outcome === 'lost' || one.outcome === 'invalid') && !excused(one))
    .map(({ field, outcome, name }) => `${outcome}: ${field.label} ${name ?? ''}`);
}

for (const pair of OFFERED) {
  test(`${pair.name}: every field of the SDK's request type is sent, named as dropped, or rejected by name`, () => {
    assert.deepEqual(unexplained(pair, observeFields(pair), INTENDED), []);
  });

  test(`${pair.name}: the same holds for the settings of a request to models with other capabilities`, () => {
    for (const model of MODELS) assert.deepEqual(unexplained(pair, observeSettings(pair, model), INTENDED), [], model);
  });

  test(`${pair.name}: every member of the SDK's type of replies reaches the client or is named as dropped`, () => {
    assert.deepEqual(unexplained(pair, observeReplies(pair), IN_REPLIES), []);
  });
}

for (const pair of OFFERED) {
  test(`${pair.name}: a client reads the same from a stream, with every member of the SDK's type`, () => {
    const request = requestFrom(pair.client);
    for (const { label, body } of replyFields(pair.upstream)) {
      const result = readStreamAs(pair.client, convert(pair, streamOf(pair.upstream, body), request).text, request);
      if (result.end !== 'complete') continue;
      const unary = convertReply(pairOf(pair), EMPTY_ENCODED, body, replyContextFor(request, pair.upstream));
      assert.deepEqual(normalize(pair.client, result.body), normalize(pair.client, unary), label);
    }
  });
}

test('every exception excuses a field', () => {
  assert.deepEqual(
    [...INTENDED, ...UNTESTED, ...IN_REPLIES].filter((row) => !used.has(row)),
    [],
  );
});

for (const dialect of UPSTREAMS) {
  test(`${dialect}: a stream decodes to the same reply as one body, with every member of the SDK's type`, () => {
    const { decodeReply, openDecoder } = upstreamOf(dialect);
    for (const { label, body } of replyFields(dialect)) {
      const streamed = fold(decodeAll(openDecoder(DECODE_CONTEXT), streamOf(dialect, body)));
      if ('reply' in streamed) assert.deepEqual(streamed.reply, decodeReply(body, DECODE_CONTEXT), label);
      else assert.throws(() => decodeReply(body, DECODE_CONTEXT), { code: streamed.error.code }, label);
    }
  });
}

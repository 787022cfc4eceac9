import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, readSse } from '../../src/core/index.ts';
import { codecOf, fold, type HubEvent } from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { checkPromises, dataOf, decodeAll, readVectors, type Vector } from '../support/dialects/codecs.ts';
import { bytesOf, CROSSINGS, convert, DIALECTS, FROM, readAs } from './dialect-pairs.ts';

const VECTORS = DIALECTS.flatMap((dialect) => readVectors(dialect));

const decode = ({ upstream }: Vector, events: Vector['events']): HubEvent[] =>
  decodeAll(codecOf(upstream).upstream.openDecoder(FROM), events);

test('every dialect has at least a dozen recorded answers', () => {
  for (const dialect of DIALECTS) assert.ok(readVectors(dialect).length >= 12, dialect);
});

for (const vector of VECTORS) {
  test(`${vector.name} is read as it should be, whole or as a stream: ${vector.about}`, () => {
    const told = decode(vector, vector.events);
    checkPromises(told);
    assert.deepEqual(decode(vector, vector.events), told, 'twice the same');
    const folded = fold(told);
    if (vector.reply) assert.deepEqual(folded, { reply: vector.reply });
    else assert.equal('error' in folded && folded.error.code, vector.error?.code);
    if (vector.unary !== undefined) checkUnary(vector);
  });
}

function checkUnary({ upstream, unary, reply, error }: Vector): void {
  const { decodeReply } = codecOf(upstream).upstream;
  if (reply) assert.deepEqual(decodeReply(unary, FROM), reply);
  else
    assert.throws(
      () => decodeReply(unary, FROM),
      (thrown) => thrown instanceof ApiError && thrown.code === error?.code,
    );
}

// ---------------------------------------------------------------- chunking

function decodeBytes(vector: Vector, pieces: readonly Uint8Array[]): HubEvent[] {
  const decoder = codecOf(vector.upstream).upstream.openDecoder(FROM);
  const told: HubEvent[] = [];
  const reader = readSse((data, event) => told.push(...decoder.push(data, event)));
  for (const piece of pieces) reader.feed(piece);
  reader.end({ keepTail: vector.upstream === 'chat' || vector.upstream === 'generate' });
  return [...told, ...decoder.end()];
}

for (const dialect of DIALECTS) {
  test(`a ${dialect} stream says the same wherever its bytes are cut, with either line end`, () => {
    for (const vector of readVectors(dialect)) {
      for (const newline of ['\n', '\r\n', '\r']) {
        const bytes = bytesOf(dialect, vector.events, newline);
        const whole = decodeBytes(vector, [bytes]);
        if (!hasRawLines(vector)) assert.deepEqual(whole, decode(vector, vector.events), vector.name);
        const step = Math.max(1, Math.ceil(bytes.length / 1_500));
        for (let cut = 1; cut < bytes.length; cut += step) {
          assert.deepEqual(decodeBytes(vector, [bytes.subarray(0, cut), bytes.subarray(cut)]), whole, vector.name);
        }
        const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
        assert.deepEqual(decodeBytes(vector, single), whole, `${vector.name} byte by byte`);
      }
    }
  });
}

/** Transcripts of damage may hold text that no server could frame. */
const hasRawLines = ({ events }: Vector): boolean =>
  events.some(({ data }) => dataOf(data) === '' || /[\r\n]/.test(dataOf(data)));

// ---------------------------------------------------------------- truncation

/** What must have been seen for an answer to be complete although its last events are missing. */
const ENOUGH: Readonly<Record<Dialect, RegExp>> = {
  messages: /"stop_reason":"/,
  chat: /"finish_reason":"/,
  generate: /"(?:finishReason|functionCall|blockReason)"/,
  responses: /"type":"response\.(?:completed|incomplete|failed|done)"/,
};

for (const { client, upstream, name } of CROSSINGS) {
  test(`${name}: an answer that is cut off ends in an error of the client's dialect, never in silence or success`, () => {
    for (const vector of readVectors(upstream)) {
      for (let length = 0; length < vector.events.length; length += 1) {
        const events = vector.events.slice(0, length);
        const { hub, text } = convert({ client, upstream }, events);
        checkPromises(hub);
        const told = readAs(client, text);
        const seen = events.map(({ data }) => dataOf(data)).join('\n');
        if (!ENOUGH[upstream].test(seen)) assert.equal(told.end, 'error', `${vector.name} after ${length}`);
        assert.equal(told.end === 'error', isFailure(hub), `${vector.name} after ${length}`);
      }
    }
  });
}

/** A call that cannot be read is told as a failure, except by its own dialect, which has a word for it. */
const isFailure = (hub: readonly HubEvent[]): boolean => {
  const last = hub.at(-1);
  return last?.kind === 'error' || (last?.kind === 'finish' && last.stop === 'malformed_call');
};

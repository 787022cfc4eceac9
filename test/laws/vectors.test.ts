import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, readSse } from '../../src/core/index.ts';
import { fold, type HubEvent, upstreamOf } from '../../src/dialects/index.ts';
import type { Dialect, UpstreamDialect } from '../../src/rules/index.ts';
import { checkEventOrder, dataOf, decodeAll, readVectors, type Vector } from '../support/dialects/codecs.ts';
import { runs } from '../support/properties.ts';
import { convert, DECODE_CONTEXT, DIALECT_PAIRS, readStreamAs, sseBytes, UPSTREAMS } from './dialect-pairs.ts';

const VECTORS = UPSTREAMS.flatMap((dialect) => readVectors(dialect));

const decode = ({ upstream }: Vector, events: Vector['events']): HubEvent[] =>
  decodeAll(upstreamOf(upstream).openDecoder(DECODE_CONTEXT), events);

test('every dialect has vectors of at least twelve replies', () => {
  for (const dialect of UPSTREAMS) assert.ok(readVectors(dialect).length >= 12, dialect);
});

for (const vector of VECTORS) {
  test(`${vector.name} decodes to the expected reply, streamed and unary: ${vector.about}`, () => {
    const decoded = decode(vector, vector.events);
    checkEventOrder(decoded);
    assert.deepEqual(decode(vector, vector.events), decoded, 'decoding is deterministic');
    const folded = fold(decoded);
    if (vector.reply) assert.deepEqual(folded, { reply: vector.reply });
    else assert.equal('error' in folded && folded.error.code, vector.error?.code);
    if (vector.unary !== undefined) checkUnary(vector);
  });
}

function checkUnary({ upstream, unary, reply, error }: Vector): void {
  const { decodeReply } = upstreamOf(upstream);
  if (reply) assert.deepEqual(decodeReply(unary, DECODE_CONTEXT), reply);
  else
    assert.throws(
      () => decodeReply(unary, DECODE_CONTEXT),
      (thrown) => thrown instanceof ApiError && thrown.code === error?.code,
    );
}

// ---------------------------------------------------------------- chunking

/** The blocks of a stream, which are everything that its decoder receives. */
function readBlocks({ upstream }: Vector, pieces: readonly Uint8Array[]): [data: string, event: string | undefined][] {
  const blocks: [data: string, event: string | undefined][] = [];
  const reader = readSse((data, event) => blocks.push([data, event]));
  for (const piece of pieces) reader.feed(piece);
  reader.end({ keepTail: upstream === 'chat' || upstream === 'generate' });
  return blocks;
}

function decodeBytes(vector: Vector, bytes: Uint8Array): HubEvent[] {
  const decoder = upstreamOf(vector.upstream).openDecoder(DECODE_CONTEXT);
  const decoded = readBlocks(vector, [bytes]).flatMap(([data, event]) => decoder.push(data, event));
  return [...decoded, ...decoder.end()];
}

for (const dialect of UPSTREAMS) {
  test(`a ${dialect} stream decodes the same wherever its bytes are cut, with every line ending`, () => {
    for (const vector of readVectors(dialect)) {
      for (const newline of ['\n', '\r\n', '\r']) {
        const bytes = sseBytes(dialect, vector.events, newline);
        if (!hasRawLines(vector))
          assert.deepEqual(decodeBytes(vector, bytes), decode(vector, vector.events), vector.name);
        const expected = JSON.stringify(readBlocks(vector, [bytes]));
        const step = Math.max(1, Math.ceil(bytes.length / runs(6_000)));
        for (let cut = 1; cut < bytes.length; cut += step) {
          const blocks = readBlocks(vector, [bytes.subarray(0, cut), bytes.subarray(cut)]);
          assert.equal(JSON.stringify(blocks), expected, `${vector.name} cut at ${cut}`);
        }
        const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
        assert.equal(JSON.stringify(readBlocks(vector, single)), expected, `${vector.name} byte by byte`);
      }
    }
  });
}

/** Vectors of malformed streams may hold text that SSE cannot frame. */
const hasRawLines = ({ events }: Vector): boolean =>
  events.some(({ data }) => dataOf(data) === '' || /[\r\n]/.test(dataOf(data)));

// ---------------------------------------------------------------- truncation

/** A truncated stream that contains this counts as complete. */
const COMPLETE_AFTER: Readonly<Record<UpstreamDialect, RegExp>> = {
  messages: /"stop_reason":"/,
  converse: /"stopReason":"/,
  chat: /"finish_reason":"/,
  generate: /"(?:finishReason|functionCall|blockReason)"/,
  responses: /"type":"response\.(?:completed|incomplete|failed|done)"/,
};

for (const { client, upstream, name } of DIALECT_PAIRS) {
  test(`${name}: a truncated reply ends with an error of the client's dialect`, () => {
    for (const vector of readVectors(upstream)) {
      for (let length = 0; length < vector.events.length; length += 1) {
        const events = vector.events.slice(0, length);
        const { hub, text } = convert({ client, upstream }, events);
        checkEventOrder(hub);
        const decoded = readStreamAs(client, text);
        const received = events.map(({ data }) => dataOf(data)).join('\n');
        if (!COMPLETE_AFTER[upstream].test(received))
          assert.equal(decoded.end, 'error', `${vector.name} after ${length}`);
        assert.equal(decoded.end === 'error', isFailure(client, hub), `${vector.name} after ${length}`);
      }
    }
  });
}

/** A malformed call is an error for every client but those of generate-content, which has a stop reason for it. */
const isFailure = (client: Dialect, hub: readonly HubEvent[]): boolean => {
  const last = hub.at(-1);
  return last?.kind === 'error' || (last?.kind === 'finish' && last.stop === 'malformed_call' && client !== 'generate');
};

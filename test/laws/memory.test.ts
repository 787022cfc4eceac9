// set: all; what many streams hold
/** What a stream holds is released soon after its end: a full garbage collection comes late, and copies all of it before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openDecoding, pairOf } from '../../src/dialects/index.ts';
import { DECODE_CONTEXT, DIALECT_PAIRS, EMPTY_ENCODED, replyContextFor, requestFrom } from './dialect-pairs.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: { type: 'minor' | 'major' }) => void;

const STREAMS = 100;
const NUMBERS = 10_000;
const BYTES = STREAMS * NUMBERS * 8;

for (const { client, upstream, name } of DIALECT_PAIRS)
  test(`${name}: a stream that is over is not in memory until a full garbage collection`, () => {
    const pair = pairOf({ client, upstream });
    collect({ type: 'major' });
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < STREAMS; n += 1) {
      const held = { ballast: Array.from({ length: NUMBERS }, () => n) };
      const decoding = openDecoding(pair.upstream, EMPTY_ENCODED, { ...DECODE_CONTEXT, ...held });
      const encoder = pair.client.openEncoder({ ...replyContextFor(requestFrom(client), upstream), ...held });
      for (const event of decoding.end()) encoder.push(event);
    }
    collect({ type: 'minor' });
    collect({ type: 'minor' });
    const growth = process.memoryUsage().heapUsed - before;
    assert.ok(growth < BYTES / 4, `${growth} of ${BYTES} bytes are still in memory`);
  });

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { EventStreamReader, FrameError } from './event-stream.ts';

/** One header of each length, then the payload, as the format is documented. */
function frame(headers: Record<string, string>, payload: string): Buffer {
  const parts = Object.entries(headers).map(([name, value]) => {
    const head = Buffer.from([name.length, ...Buffer.from(name), 7, value.length >> 8, value.length & 0xff]);
    return Buffer.concat([head, Buffer.from(value)]);
  });
  const head = Buffer.concat(parts);
  const bytes = Buffer.alloc(16 + head.length + payload.length);
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(head.length, 4);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
  head.copy(bytes, 12);
  bytes.write(payload, 12 + head.length);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, bytes.length - 4)), bytes.length - 4);
  return bytes;
}

const read = (chunks: readonly Buffer[]) => {
  const reader = new EventStreamReader();
  const frames = chunks.flatMap((chunk) => [...reader.push(chunk)]);
  return { frames: frames.map(({ headers, payload }) => [headers, String(payload)]), isInside: reader.isInside };
};

test('frames are read from chunks that end anywhere', () => {
  const bytes = Buffer.concat([frame({ ':event-type': 'chunk' }, '{"a":1}'), frame({}, ''), frame({ x: '' }, 'z')]);
  const expected = [
    [{ ':event-type': 'chunk' }, '{"a":1}'],
    [{}, ''],
    [{ x: '' }, 'z'],
  ];
  for (let at = 0; at <= bytes.length; at += 1)
    assert.deepEqual(read([bytes.subarray(0, at), bytes.subarray(at)]), { frames: expected, isInside: false });
  assert.equal(read([bytes.subarray(0, -1)]).isInside, true);
});

test('a damaged frame ends the stream, wherever the damage is', () => {
  const bytes = frame({ ':event-type': 'chunk' }, '{"a":1}');
  for (let at = 0; at < bytes.length; at += 1) {
    const damaged = Buffer.from(bytes);
    damaged.writeUInt8(damaged.readUInt8(at) ^ 0x20, at);
    assert.throws(() => read([damaged]), FrameError, `byte ${at}`);
  }
});

test('a length that no frame can have ends the stream before anything is waited for', () => {
  for (const [length, headers] of [
    [0, 0],
    [12, 0],
    [15, 0],
    [20, 5],
    [24 * 2 ** 20 + 1, 0],
  ] as const) {
    const prelude = Buffer.alloc(12);
    prelude.writeUInt32BE(length, 0);
    prelude.writeUInt32BE(headers, 4);
    prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
    assert.throws(() => read([prelude]), { code: 'FRAME_LENGTH' }, `${length} with ${headers} of headers`);
  }
});

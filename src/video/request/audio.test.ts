import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MP3_FRAME_SECONDS, mp3File, mp3Frame, wavFile } from '../../../test/support/video-request.ts';
import { measureAudio } from './audio.ts';

const source = (bytes: Buffer) => ({ size: bytes.length, at: (offset: number) => bytes[offset] ?? 0 });
/** Counts the reads and remembers the last byte that was read. */
function countingSource(bytes: Buffer) {
  const seen = { reads: 0, furthest: 0 };
  const at = (offset: number): number => {
    seen.reads += 1;
    seen.furthest = Math.max(seen.furthest, offset);
    return bytes[offset] ?? 0;
  };
  return { size: bytes.length, at, seen };
}
const secondsOf = (format: string, bytes: Buffer, enough = 15) => measureAudio(format, source(bytes), enough);
const framesOf = (bytes: Buffer): number => Math.round((secondsOf('mp3', bytes)?.max ?? 0) / MP3_FRAME_SECONDS);

test('measureAudio reads the length of a wav file from its chunks', () => {
  assert.deepEqual(secondsOf('wav', wavFile(3)), { min: 3, max: 3 });
  assert.deepEqual(secondsOf('wav', wavFile(2.5, 44_100)), { min: 2.5, max: 2.5 });
});

test('measureAudio uses the real size of a wav file whose header states 0, too much, or an unknown size', () => {
  for (const stated of [0, 0xffff_ffff, 1_000_000]) {
    const file = wavFile(3);
    file.writeUInt32LE(stated, 40);
    assert.deepEqual(secondsOf('wav', file), { min: 3, max: 3 }, String(stated));
  }
});

test('measureAudio skips other chunks of a wav file and their padding', () => {
  const file = wavFile(3);
  const list = Buffer.concat([Buffer.from('LIST\x03\0\0\0abc\0', 'latin1')]);
  assert.deepEqual(secondsOf('wav', Buffer.concat([file.subarray(0, 36), list, file.subarray(36)])), {
    min: 3,
    max: 3,
  });
});

test('measureAudio takes the length of compressed wav audio from its fact chunk', () => {
  const file = wavFile(3);
  file.writeUInt16LE(2, 20);
  const fact = Buffer.from('fact\x04\0\0\0\0\0\0\0', 'latin1');
  fact.writeUInt32LE(8_000 * 5, 8);
  assert.deepEqual(secondsOf('wav', Buffer.concat([file.subarray(0, 36), fact, file.subarray(36)])), {
    min: 5,
    max: 5,
  });
  fact.writeUInt32LE(0xffff_ffff, 8);
  assert.deepEqual(secondsOf('wav', Buffer.concat([file.subarray(0, 36), fact, file.subarray(36)])), {
    min: 3,
    max: 3,
  });
});

test('measureAudio rejects a wav file without a format, without data, or with a rate of 0', () => {
  const file = wavFile(3);
  const noRate = Buffer.from(file);
  noRate.writeUInt32LE(0, 28);
  for (const broken of [
    file.subarray(0, 12),
    file.subarray(0, 36),
    noRate,
    Buffer.concat([file.subarray(0, 12), file.subarray(36)]),
  ])
    assert.equal(secondsOf('wav', broken), undefined);
  const tiny = Buffer.concat([file.subarray(0, 12), Buffer.alloc(80_000)]);
  assert.equal(secondsOf('wav', tiny), undefined);
});

test('measureAudio counts the frames of an mp3 file with constant and variable bit rate', () => {
  assert.equal(framesOf(mp3File(3, 8)), 83);
  assert.equal(framesOf(mp3File(3, 16)), 83);
  const frames = Array.from({ length: 100 }, (_, n) => mp3Frame(n % 3 === 0 ? 16 : 8));
  assert.equal(framesOf(Buffer.concat(frames)), 100);
});

test('measureAudio allows for the silence that mp3 encoders add', () => {
  const { min = 0, max = 0 } = secondsOf('mp3', mp3File(15)) ?? {};
  assert.ok(Math.abs(max - min - 3 * MP3_FRAME_SECONDS) < 1e-9);
});

test('measureAudio ignores the header frame of an mp3 file, whatever it states', () => {
  const vbri = mp3Frame(16);
  vbri.write('VBRI', 36, 'latin1');
  for (const header of [mp3Frame(8, 'Xing'), mp3Frame(8, 'Info'), vbri])
    assert.equal(framesOf(Buffer.concat([header, mp3File(3)])), 83);
});

test('measureAudio skips tags before and behind the frames of an mp3 file, and damage between them', () => {
  const id3 = Buffer.concat([Buffer.from('ID3\x03\0\0\0\0\x01\x02', 'latin1'), Buffer.alloc(130, 0xff)]);
  const footer = Buffer.concat([Buffer.from('ID3\x04\0\x10\0\0\0\x04', 'latin1'), Buffer.alloc(14)]);
  const id3v1 = Buffer.concat([Buffer.from('TAG'), Buffer.alloc(125)]);
  const ape = Buffer.concat([Buffer.from('APETAGEX'), Buffer.alloc(60)]);
  assert.equal(framesOf(Buffer.concat([id3, footer, mp3File(3), id3v1])), 83);
  assert.equal(framesOf(Buffer.concat([mp3File(3), ape, id3v1])), 83);
  assert.equal(framesOf(Buffer.concat([Buffer.alloc(500), mp3File(3)])), 83);
  // The frame before the damage is not followed by another one.
  assert.equal(framesOf(Buffer.concat([mp3File(1.8), Buffer.from([0xff, 0xfb, 0, 1, 2]), mp3File(1.8)])), 99);
});

test('measureAudio stops at the length that is enough', () => {
  const bytes = mp3File(60);
  const counting = countingSource(bytes);
  assert.ok((measureAudio('mp3', counting, 15)?.min ?? 0) > 15);
  assert.ok(counting.seen.furthest < bytes.length / 3);
});

test('measureAudio reads MPEG-1 and MPEG-2.5 frames', () => {
  const repeat = (head: readonly number[], bytes: number) =>
    Buffer.concat(
      Array.from({ length: 50 }, () => Buffer.concat([Buffer.from(head), Buffer.alloc(bytes - head.length)])),
    );
  const near = (bytes: Buffer, seconds: number) =>
    assert.ok(Math.abs((secondsOf('mp3', bytes)?.max ?? 0) - seconds) < 1e-9, String(seconds));
  near(repeat([0xff, 0xfb, 0x90, 0x00], 417), (50 * 1_152) / 44_100);
  near(repeat([0xff, 0xfb, 0x92, 0x00], 418), (50 * 1_152) / 44_100);
  near(repeat([0xff, 0xfb, 0xe4, 0x00], 960), (50 * 1_152) / 48_000);
  near(repeat([0xff, 0xe3, 0x18, 0xc0], 72), (50 * 576) / 8_000);
});

test('measureAudio never throws, and reads each byte a bounded number of times', () => {
  const pieces = fc.constantFrom(
    mp3Frame(8),
    mp3Frame(16, 'Xing'),
    wavFile(0.01),
    Buffer.from('ID3\x04\0\0\x7f\x7f\x7f\x7f', 'latin1'),
    Buffer.from([0xff, 0xfb, 0x90]),
    Buffer.alloc(40, 0xff),
    Buffer.from('data\xff\xff\xff\xff', 'latin1'),
    Buffer.from('RIFF0000WAVEfmt ', 'latin1'),
  );
  const file = fc.array(
    fc.oneof(
      pieces,
      fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    ),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(file, fc.constantFrom('wav', 'mp3'), (parts, format) => {
      const bytes = Buffer.concat(parts);
      const counting = countingSource(bytes);
      const length = measureAudio(format, counting, 15);
      assert.ok(length === undefined || (length.min >= 0 && length.max >= length.min));
      assert.ok(
        counting.seen.reads <= 100 + 60 * bytes.length,
        `${counting.seen.reads} reads of ${bytes.length} bytes`,
      );
    }),
  );
});

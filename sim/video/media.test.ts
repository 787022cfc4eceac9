import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BitWriter } from './bits.ts';
import { SIZES } from './families.ts';
import { boxesOf, mp4Info } from './fixtures.ts';
import { barsJpeg } from './jpeg.ts';
import { writeMp4 } from './mp4.ts';
import { colorAt } from './picture.ts';

describe('BitWriter', () => {
  test('writes Exp-Golomb codes as the H.264 specification lists them', () => {
    const out = new BitWriter();
    for (const value of [0, 1, 2, 3, 7]) out.unsigned(value);
    out.align();
    // 1 010 011 00100 0001000, then padding.
    assert.deepEqual([...out.bytes], [0b10100110, 0b01000001, 0b00000000]);
  });

  test('pads with the requested bit', () => {
    const out = new BitWriter();
    out.bits(0, 3);
    out.align(1);
    out.append(Buffer.from([7]));
    out.align(1);
    assert.deepEqual([...out.bytes], [0b00011111, 7]);
  });
});

describe('writeMp4', () => {
  test('writes every size of every resolution with the exact duration and frame count', () => {
    for (const [width, height] of Object.values(SIZES).flatMap((ratios) => Object.values(ratios))) {
      const info = mp4Info(writeMp4({ width, height, frames: 48 }));
      assert.deepEqual(info, { width, height, frames: 48, seconds: 2, keyFrames: [1, 25], shown: [width, height] });
    }
  });

  test('writes a frame count that is not a whole number of seconds', () => {
    const { frames, seconds } = mp4Info(writeMp4({ width: 864, height: 496, frames: 29 }));
    assert.equal(frames, 29);
    assert.equal(seconds, 29 / 24);
  });

  test('puts the index before the data and points at the first sample', () => {
    const file = writeMp4({ width: 834, height: 1112, frames: 30 });
    const boxes = boxesOf(file);
    assert.deepEqual(
      boxes.map(({ type }) => type),
      ['ftyp', 'moov', 'mdat'],
    );
    const data = boxes[2]?.content ?? Buffer.alloc(0);
    // A chain of length prefixes that ends exactly at the end of the data, beginning with a key frame.
    assert.equal((data[4] ?? 0) & 31, 5);
    let units = 0;
    let at = 0;
    for (; at < data.length; units++) at += 4 + data.readUInt32BE(at);
    assert.deepEqual([at, units], [data.length, 30]);
  });

  test('keeps a long video in a large size below 500 KB', () => {
    assert.ok(writeMp4({ width: 1920, height: 1080, frames: 15 * 24 }).length < 500_000);
  });

  test('rejects sizes that are not even, which 4:2:0 cannot express', () => {
    assert.throws(() => writeMp4({ width: 101, height: 100, frames: 1 }), RangeError);
  });
});

test('the first macroblock contains the colour of the first bar as raw samples', () => {
  const data = boxesOf(writeMp4({ width: 640, height: 640, frames: 1, shift: 2 }))[2]?.content ?? Buffer.alloc(0);
  const [luma, blue, red] = colorAt(0, 640, 2).video;
  const start = data.indexOf(Buffer.alloc(256, luma));
  assert.ok(start > 0 && start < 16);
  assert.deepEqual(data.subarray(start + 256, start + 320), Buffer.alloc(64, blue));
  assert.deepEqual(data.subarray(start + 320, start + 384), Buffer.alloc(64, red));
});

test('barsJpeg writes a baseline JPEG of the requested size', () => {
  const file = barsJpeg(1470, 630, 3);
  assert.deepEqual([...file.subarray(0, 2), ...file.subarray(-2)], [0xff, 0xd8, 0xff, 0xd9]);
  const frame = file.indexOf(Buffer.from([0xff, 0xc0]));
  assert.deepEqual([file.readUInt16BE(frame + 5), file.readUInt16BE(frame + 7)], [630, 1470]);
});

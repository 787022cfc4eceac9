import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { SIZES } from './families.ts';
import { writeMp4 } from './mp4.ts';

/**
 * Of two seconds in every size, and of a second and some frames. Chromium has played these files: size, length, a seek
 * and the colour of a bar were right. After a change of the writer, play them again before you change this.
 */
const PLAYED = 'fade1a6c716c8a391cbba9f13e60ebeaad356e9554619d05eb23b50d494400eb';

test('writeMp4 writes the files that a player has shown in the right size, length and colours', () => {
  const sizes = Object.values(SIZES).flatMap((ratios) => Object.values(ratios));
  const files = sizes.map(([width, height]) => writeMp4({ width, height, frames: 48 }));
  files.push(writeMp4({ width: 864, height: 496, frames: 29, shift: 2 }));
  assert.equal(createHash('sha256').update(Buffer.concat(files)).digest('hex'), PLAYED);
});

test('writeMp4 keeps a long video in a large size below 500 KB', () => {
  assert.ok(writeMp4({ width: 1920, height: 1080, frames: 15 * 24 }).length < 500_000);
});

test('writeMp4 rejects sizes that are not even, which 4:2:0 cannot express', () => {
  assert.throws(() => writeMp4({ width: 101, height: 100, frames: 1 }), RangeError);
});

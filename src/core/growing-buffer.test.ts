import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countBufferBytes } from '../../test/support/buffer-work.ts';
import { GrowingBuffer } from './growing-buffer.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

test('GrowingBuffer copies at most three times the bytes that it joins one by one', () => {
  for (const size of [10, 1_000, 30_000]) {
    const growing = new GrowingBuffer();
    let joined: Buffer = Buffer.from([0]);
    const copied = countBufferBytes(() => {
      for (let n = 1; n < size; n += 1) joined = growing.join(joined, Buffer.from([n % 256]));
    });
    assert.deepEqual(joined, Buffer.from(Array.from({ length: size }, (_, n) => n % 256)));
    assert.ok(copied <= 3 * size, `${copied} bytes copied`);
  }
});

test('GrowingBuffer continues after the rest of what it returned, and leaves returned bytes unchanged', () => {
  const growing = new GrowingBuffer();
  const first = growing.join(bytesOf('one '), bytesOf('two '));
  const second = growing.join(first.subarray(4), bytesOf('three '));
  const other = growing.join(bytesOf('unrelated '), bytesOf('bytes'));
  const third = growing.join(second, bytesOf('four'));
  assert.deepEqual(
    [first, second, other, third].map((bytes) => bytes.toString('latin1')),
    ['one two ', 'two three ', 'unrelated bytes', 'two three four'],
  );
});

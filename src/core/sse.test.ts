import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf, LINEAR_GROWTH } from '../../test/support/cpu-time.ts';
import { readSse, SSE_COMMENT, sse } from './sse.ts';

function collect(bytes: Uint8Array, cuts: readonly number[], keepTail = true): [string | undefined, string][] {
  const events: [string | undefined, string][] = [];
  const reader = readSse((data, event) => void events.push([event, data]));
  let from = 0;
  for (const to of [...cuts, bytes.length]) {
    reader.feed(bytes.subarray(from, to));
    from = to;
  }
  reader.end({ keepTail });
  return events;
}
const bytesOf = (text: string): Buffer => Buffer.from(text);

test('readSse reads the events that sse writes', () => {
  const text = sse('{"a":1}') + sse('{"b":"é🐉"}', 'delta') + SSE_COMMENT + sse('[DONE]');
  assert.deepEqual(collect(bytesOf(text), []), [
    [undefined, '{"a":1}'],
    ['delta', '{"b":"é🐉"}'],
    [undefined, '[DONE]'],
  ]);
});

test('readSse returns the same events however the bytes are split', () => {
  const bytes = bytesOf('event: a\r\ndata: "é🐉"\r\n\r\n: hb\r\n\r\ndata: x\ndata: y\n\nevent: b\rdata: z\r\r');
  const whole = collect(bytes, []);
  assert.deepEqual(whole, [
    ['a', '"é🐉"'],
    [undefined, 'x\ny'],
    ['b', 'z'],
  ]);
  for (let first = 1; first < bytes.length; first += 1) {
    for (let second = first; second < bytes.length; second += 3)
      assert.deepEqual(collect(bytes, [first, second]), whole, `cut at ${first} and ${second}`);
  }
  assert.deepEqual(collect(bytes, [...bytes.keys()].slice(1)), whole, 'cut everywhere');
});

test('readSse keeps or drops a last event without its blank line', () => {
  const bytes = bytesOf('data: one\n\ndata: two');
  assert.deepEqual(
    collect(bytes, [], true).map(([, data]) => data),
    ['one', 'two'],
  );
  assert.deepEqual(
    collect(bytes, [], false).map(([, data]) => data),
    ['one'],
  );
});

test('readSse ignores invalid lines and a byte order mark', () => {
  assert.deepEqual(collect(bytesOf('\ufeffdata: a\n\n<html>nonsense\nid: 7\nretry: x\ndata:b\n\n'), []), [
    [undefined, 'a'],
    [undefined, 'b'],
  ]);
});

test('readSse throws when an event exceeds the limit', () => {
  const reader = readSse(() => {});
  const block = Buffer.alloc(2 ** 20, 0x61);
  assert.throws(() => {
    reader.feed(bytesOf('data: '));
    for (let n = 0; n < 40; n += 1) reader.feed(block);
  });
});

const HOSTILE: Readonly<Record<string, (size: number) => string>> = {
  'one long event': (size) => sse('x'.repeat(size)),
  'a long name': (size) => sse('{}', 'x'.repeat(size)),
  comments: (size) => ':\n'.repeat(size / 2),
  'lines of one event': (size) => `${'data: a\n'.repeat(size / 8)}\n`,
  'line ends alone': (size) => '\r'.repeat(size),
};
for (const [about, textOf] of Object.entries(HOSTILE))
  test(`readSse takes linear time for ${about} in chunks of one byte`, () => {
    const prepare = (size: number) => {
      const bytes = bytesOf(textOf(size));
      const cuts = Array.from(bytes, (_, n) => n);
      return () => void collect(bytes, cuts);
    };
    assert.ok(growthOf(prepare, 4_000) < LINEAR_GROWTH);
  });

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readSse } from './sse.ts';
import { blockData, lastBlockEnd, nextBlockEnd } from './sse-blocks.ts';

const line = fc.stringMatching(/^[a-z{}": ]{0,12}$/);
const event = fc.record({ name: fc.option(fc.constantFrom('ping', 'delta')), data: fc.array(line, { maxLength: 3 }) });
const streams = fc.tuple(fc.array(event, { maxLength: 8 }), fc.constantFrom('\n', '\r\n'));

function streamOf([events, end]: readonly [
  readonly { name: string | null; data: readonly string[] }[],
  string,
]): Buffer {
  const blocks = events.map(({ name, data }) =>
    [...(name === null ? [] : [`event: ${name}`]), ...data.map((text) => `data: ${text.trimStart()}`), '', ''].join(
      end,
    ),
  );
  return Buffer.from(blocks.join(''));
}

/** The events that the ordinary reader finds. */
function readAll(bytes: Buffer): string[] {
  const data: string[] = [];
  const reader = readSse((text) => data.push(text));
  reader.feed(bytes);
  reader.end({ keepTail: false });
  return data.filter((text) => text !== '');
}

test('blocks found in bytes hold the events that readSse finds, forwards and backwards', () => {
  fc.assert(
    fc.property(streams, (given) => {
      const bytes = streamOf(given);
      const forwards: string[] = [];
      for (let start = 0, end = 0; start < bytes.length; start = end) {
        end = nextBlockEnd(bytes, start);
        forwards.push(blockData(bytes.toString('utf8', start, end)));
      }
      const backwards: string[] = [];
      for (let end = bytes.length, start = end; end > 0; end = start) {
        start = lastBlockEnd(bytes, end - 1);
        backwards.unshift(blockData(bytes.toString('utf8', start, end)));
      }
      const expected = readAll(bytes);
      assert.deepEqual(
        forwards.filter((text) => text !== ''),
        expected,
      );
      assert.deepEqual(
        backwards.filter((text) => text !== ''),
        expected,
      );
    }),
  );
});

test('lastBlockEnd ignores an event whose blank line has not arrived', () => {
  assert.equal(lastBlockEnd(Buffer.from('data: a\n\ndata: b\n')), 9);
  assert.equal(lastBlockEnd(Buffer.from('data: a\r\n\r\ndata: b')), 11);
  assert.equal(lastBlockEnd(Buffer.from('data: a\n')), 0);
});

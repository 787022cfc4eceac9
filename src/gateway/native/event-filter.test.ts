import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventFilter } from './event-filter.ts';

const KEY = 'sk-upstream-secret-0123456789';
const SECRETS = {
  account: { credential: KEY, baseUrl: 'https://provider.test/v1' },
} as unknown as ConstructorParameters<typeof EventFilter>[0];

const EVENTS = [
  'event: message_start\ndata: {"type":"message_start","error":null}\n\n',
  `data: {"type":"text","text":"an \\"error\\" and ${KEY} in a text"}\r\n\r\n`,
  `event: error\ndata: {"type":"error","error":{"message":"the key ${KEY} is wrong"}}\n\n`,
  ': hb\n\n',
  `data: {"message":"late: ${KEY}","error" : {"code":1}}\n\n`,
  'data: [DONE]\n\n',
  `data: {"error":{"message":"without a blank line, ${KEY}"}}`,
];
const TEXT = Buffer.from(EVENTS.join(''));

function filtered(chunks: readonly Buffer[]): string {
  const filter = new EventFilter(SECRETS, false);
  return Buffer.concat([...chunks.map((chunk) => filter.push(chunk)), filter.end()]).toString();
}

const WHOLE = filtered([TEXT]);

test('only errors lose our secrets', () => {
  assert.equal(WHOLE.split(KEY).length - 1, 1, 'the text of the model keeps its words');
  assert.ok(WHOLE.startsWith(EVENTS.slice(0, 2).join('')));
  assert.ok(WHOLE.includes(': hb\n\n') && WHOLE.includes('data: [DONE]\n\n'));
});

test('the chunks of a stream change nothing', () => {
  for (let at = 0; at <= TEXT.length; at += 1)
    for (const size of [1, 2, 3, 7, 40, TEXT.length]) {
      const cut = Math.min(at + size, TEXT.length);
      assert.equal(
        filtered([TEXT.subarray(0, at), TEXT.subarray(at, cut), TEXT.subarray(cut)]),
        WHOLE,
        `${at}+${size}`,
      );
    }
  for (const size of [1, 2, 3, 5, 16]) {
    const chunks = [];
    for (let at = 0; at < TEXT.length; at += size) chunks.push(TEXT.subarray(at, at + size));
    assert.equal(filtered(chunks), WHOLE, `chunks of ${size}`);
  }
});

test('an event that is too long for an error passes before it ends, in any chunks, and an error after it is found', () => {
  const long = `data: {"error":{"picture":"${'A'.repeat(100_000)}"}}\n\n`;
  for (const size of [1, 1_000, 70_000]) {
    const bytes = Buffer.from(long + EVENTS[2]);
    const filter = new EventFilter(SECRETS, false);
    let early = 0;
    const passed: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      passed.push(filter.push(bytes.subarray(at, at + size)));
      if (at + size < long.length) early += passed.at(-1)?.length ?? 0;
    }
    passed.push(filter.end());
    const text = Buffer.concat(passed).toString();
    assert.ok(text.startsWith(long), `chunks of ${size}`);
    assert.ok(!text.includes(KEY));
    assert.ok(early > 0, 'it does not wait for its end');
  }
});

test('a whole event passes without a copy', () => {
  const chunk = Buffer.from('data: {"type":"text","text":"one"}\n\n');
  const { buffer, byteOffset, length } = new EventFilter(SECRETS, false).push(chunk);
  assert.deepEqual([buffer === chunk.buffer, byteOffset, length], [true, chunk.byteOffset, chunk.length]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateTokens } from '../../core/index.ts';
import { OutputMeter } from './output-meter.ts';

const WORDS = 'The answer is forty-two, as it was before. '.repeat(20);
const delta = (text: string): string =>
  JSON.stringify({ type: 'response.output_text.delta', item_id: 'm', output_index: 1, content_index: 0, delta: text });
const added = (type: string): string =>
  JSON.stringify({ type: 'response.output_item.added', output_index: 0, item: { id: 'i', type } });

/** Text from `textAt` on, for five seconds. */
function measure(first: string, textAt: number, spokenMs = 5_000): number {
  let now = 0;
  const meter = new OutputMeter('responses', { sinceSent: () => now, isLeft: () => true });
  meter.push(JSON.stringify({ type: 'response.created', response: { id: 'r', reasoning: { effort: 'high' } } }));
  meter.push(first);
  for (const part of [0, 1, 2, 3, 4]) {
    now = textAt + (part * spokenMs) / 4;
    meter.push(delta(WORDS));
  }
  return meter.tokensWith();
}

const VISIBLE = estimateTokens(WORDS.repeat(5));

test('output meter estimates reasoning that is announced and not shown by the pace of the text', () => {
  assert.equal(measure(added('reasoning'), 20_000), VISIBLE + Math.round(20_000 * Math.min(VISIBLE / 5_000, 0.2)));
});

test('output meter takes no wait for reasoning that is not announced', () => {
  assert.equal(measure(added('message'), 20_000), VISIBLE);
});

test('output meter takes text that comes at once for work of the time before it', () => {
  assert.equal(measure(added('reasoning'), 20_000, 500), VISIBLE);
  assert.equal(measure(added('reasoning'), 60_000, 500), 60_000 * 0.05);
});

const chat = (content: string): string => JSON.stringify({ choices: [{ index: 0, delta: { content } }] });
const SPOKEN = [0, 1_000, 2_000, 3_000, 4_000];
const PACE = VISIBLE / 4_000;

/** Moments of the texts of a chat stream, the moment at which its client is charged, and the hidden tokens. */
const CHATS: readonly [about: string, texts: readonly number[], at: number, hidden: number][] = [
  ['a usual beginning', SPOKEN.map((ms) => 2_000 + ms), 6_000, 0],
  ['reasoning before the text', SPOKEN.map((ms) => 22_000 + ms), 26_000, 20_000 * Math.min(PACE, 0.2)],
  ['reasoning between texts', [0, 1_000, 2_000, 34_000, 35_000], 35_000, 30_000 * Math.min(VISIBLE / 5_000, 0.2)],
  ['reasoning after the last text', SPOKEN, 16_000, 10_000 * Math.min(PACE, 0.2)],
  ['one burst after a long silence', [60_000, 60_000, 60_000, 60_000, 60_000], 60_000, 60_000 * 0.05 - VISIBLE - 100],
];
for (const [about, texts, at, hidden] of CHATS)
  test(`output meter of a chat stream that is left: ${about}`, () => {
    for (const isLeft of [true, false]) {
      let now = 0;
      const meter = new OutputMeter('chat', { sinceSent: () => now, isLeft: () => isLeft });
      meter.push(chat(''));
      for (const text of texts) {
        now = text;
        meter.push(chat(WORDS));
      }
      now = at;
      assert.equal(meter.tokensWith(), VISIBLE + (isLeft ? Math.round(hidden) : 0));
    }
  });

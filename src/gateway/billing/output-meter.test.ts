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
  const meter = new OutputMeter('responses', () => now);
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

test('output meter finds no pace in text that comes at once', () => {
  assert.equal(measure(added('reasoning'), 20_000, 500), VISIBLE);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { averageMsOf, growthOf, LINEAR_GROWTH, slowness } from '../../test/support/cpu-time.ts';
import { someOf } from '../../test/support/long-test.ts';
import { relativeError, samples, type TokenSample, tokenizers } from '../../test/support/token-corpus.ts';
import { estimateTokens } from './token-estimate.ts';

function assertWithin(limit: number, chosen: readonly TokenSample[], name: string): void {
  const error = relativeError(chosen, estimateTokens);
  assert.ok(Math.abs(error) <= limit, `${name}: error ${(error * 100).toFixed(1)} %, limit ${limit * 100} %`);
}

test('token corpus has samples of bounded length, and each group is half calibration and half check', () => {
  assert.ok(tokenizers.length >= 2);
  assert.ok(samples.length >= 40);
  for (const { kind, half, tokens, text } of samples) {
    assert.ok(text.length >= 300 && text.length <= 3_000, `${kind} ${half}: ${text.length}`);
    assert.deepEqual(
      Object.keys(tokens),
      tokenizers.map(({ name }) => name),
    );
  }
  for (const [group, members] of Object.entries(Object.groupBy(samples, ({ group }) => group))) {
    const checks = members?.filter(({ half }) => half === 'check') ?? [];
    assert.equal(checks.length * 2, members?.length, group);
  }
});

test('estimateTokens is within 5 % on the whole corpus and on each half', () => {
  assertWithin(0.05, samples, 'all');
  for (const half of ['calibration', 'check'] as const) {
    assertWithin(
      0.05,
      samples.filter((sample) => sample.half === half),
      half,
    );
  }
});

test('estimateTokens is within 15 % on each group, on its check half and on each kind', () => {
  for (const chosen of [samples, samples.filter(({ half }) => half === 'check')]) {
    for (const [group, members] of Object.entries(Object.groupBy(chosen, ({ group }) => group))) {
      assertWithin(0.15, members ?? [], group);
    }
  }
  for (const [kind, members] of Object.entries(Object.groupBy(samples, ({ group, kind }) => `${group} ${kind}`))) {
    assertWithin(0.15, members ?? [], kind);
  }
});

test('estimateTokens is within 30 % on each sample', () => {
  for (const sample of samples) assertWithin(0.3, [sample], `${sample.kind} ${sample.half}`);
});

test('estimateTokens returns 0 for an empty text and at least 1, near the byte length at most, for any other', () => {
  assert.equal(estimateTokens(''), 0);
  for (const text of [' ', '\n', '\t', 'a', '.', '7', '語', 'я', '😀', '\ud83d', '\ude00', '\u0000', '\ufeff']) {
    assert.ok(estimateTokens(text) >= 1, JSON.stringify(text));
  }
  const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.string());
  fc.assert(
    fc.property(texts, (text) => {
      const tokens = estimateTokens(text);
      assert.ok(Number.isSafeInteger(tokens) && tokens >= (text === '' ? 0 : 1));
      // No tokenizer needs more tokens than bytes. The estimate stays near that even for noise.
      assert.ok(tokens <= 2 * Buffer.byteLength(text) + 1);
    }),
  );
});

test('estimateTokens is additive within 10 % when two texts are joined', () => {
  const measured = samples.map(({ kind, text }) => ({ kind, text, tokens: estimateTokens(text) }));
  for (const a of measured) {
    for (const b of measured) {
      const apart = a.tokens + b.tokens;
      const together = estimateTokens(a.text + b.text);
      assert.ok(Math.abs(together / apart - 1) <= 0.1, `${a.kind} + ${b.kind}: ${together} for ${apart}`);
    }
  }
});

test('estimateTokens is additive within 10 % when a text is cut anywhere', () => {
  for (const { kind, text } of samples) {
    const whole = estimateTokens(text);
    for (let cut = 0; cut <= text.length; cut += 17) {
      const parts = estimateTokens(text.slice(0, cut)) + estimateTokens(text.slice(cut));
      assert.ok(Math.abs(parts / whole - 1) <= 0.1, `${kind} at ${cut}: ${parts} for ${whole}`);
    }
  }
});

test('estimateTokens grows with the length of the text', () => {
  for (const { kind, text } of samples) {
    const whole = estimateTokens(text);
    assert.ok(estimateTokens(text.slice(0, text.length / 2)) < whole, kind);
    assert.ok(Math.abs(estimateTokens(text.repeat(20)) / (20 * whole) - 1) <= 0.1, kind);
  }
});

/** repeat() builds a rope, which is flattened here, before a measurement; text from the network is flat. */
function textOf(unit: string, size: number): string {
  const text = unit.repeat(Math.ceil(size / unit.length));
  text.charCodeAt(0);
  return text;
}

test('estimateTokens takes linear time for any repeated character', () => {
  const ascii = [' ', '\n', ' \n', '\t', 'a', 'A', 'aA', 'a1B', '7', '-', '=-', '"', '\\', '()', 'a ', ' 1', '\u0000'];
  const others = ['é', 'ł', '語', 'の', '한', 'я', 'ع', 'ก', 'अ', '😀', '👩‍🎤', '\ud83d', '\u200d'];
  const units = [...someOf(ascii, 6), ...someOf(others, 5)];
  for (const unit of units) {
    const growth = growthOf((size) => {
      const text = textOf(unit, size);
      return () => void estimateTokens(text);
    }, 4_096);
    assert.ok(growth < LINEAR_GROWTH, `${JSON.stringify(unit)}: ${growth}`);
    const text = textOf(unit, 256 * 1_024);
    const tokens = estimateTokens(text);
    assert.ok(tokens > 0 && Number.isSafeInteger(tokens));
    const ratio = tokens / estimateTokens(text.slice(0, text.length / 2));
    assert.ok(ratio > 1.8 && ratio < 2.2, `${JSON.stringify(unit)}: ${ratio}`);
  }
});

test('estimateTokens takes less than half a second of a fast machine for two megabytes', () => {
  const all = Buffer.from(samples.map(({ text }) => text).join('\n'));
  const text = Buffer.alloc(2_000_000, all).toString();
  const ms = averageMsOf(() => void estimateTokens(text)) / slowness();
  assert.ok(ms < 500, `${ms}`);
});

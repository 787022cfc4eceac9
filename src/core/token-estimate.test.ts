import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { estimateTokens } from './token-estimate.ts';

/**
 * Every kind of text is in the corpus twice or has a sibling there: one sample in the calibration half, to which the
 * costs were fitted, and one in the check half, which took no part in the fitting. The bounds hold for both halves.
 */
type Sample = {
  group: string;
  kind: string;
  half: 'calibration' | 'check';
  tokens: Record<string, number>;
  text: string;
};
type Corpus = { tokenizers: { name: string; package: string; version: string }[]; samples: Sample[] };

const corpus: Corpus = JSON.parse(
  readFileSync(new URL('../../test/fixtures/tokens.corpus.json', import.meta.url), 'utf8'),
);
const { tokenizers, samples } = corpus;

/** The mean over the tokenizers. */
function reference(sample: Sample): number {
  return tokenizers.reduce((sum, { name }) => sum + (sample.tokens[name] ?? Number.NaN), 0) / tokenizers.length;
}

/** The error of the estimates of all samples together, relative to the reference. */
function error(chosen: readonly Sample[]): number {
  const estimated = chosen.reduce((sum, { text }) => sum + estimateTokens(text), 0);
  return estimated / chosen.reduce((sum, sample) => sum + reference(sample), 0) - 1;
}

function assertWithin(bound: number, chosen: readonly Sample[], what: string): void {
  const off = error(chosen);
  assert.ok(Math.abs(off) <= bound, `${what}: off by ${(off * 100).toFixed(1)} %, allowed are ${bound * 100} %`);
}

test('the corpus is what the bounds are meant for', () => {
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

test('the whole corpus is within 5 %, and so is either half of it', () => {
  assertWithin(0.05, samples, 'all');
  for (const half of ['calibration', 'check'] as const) {
    assertWithin(
      0.05,
      samples.filter((sample) => sample.half === half),
      half,
    );
  }
});

test('every group of kinds and every kind is within 15 %, in the check half too', () => {
  for (const chosen of [samples, samples.filter(({ half }) => half === 'check')]) {
    for (const [group, members] of Object.entries(Object.groupBy(chosen, ({ group }) => group))) {
      assertWithin(0.15, members ?? [], group);
    }
  }
  for (const [kind, members] of Object.entries(Object.groupBy(samples, ({ group, kind }) => `${group} ${kind}`))) {
    assertWithin(0.15, members ?? [], kind);
  }
});

test('every single sample is within 30 %', () => {
  for (const sample of samples) assertWithin(0.3, [sample], `${sample.kind} ${sample.half}`);
});

test('nothing is no token, anything is at least one', () => {
  assert.equal(estimateTokens(''), 0);
  for (const text of [' ', '\n', '\t', 'a', '.', '7', '語', 'я', '😀', '\ud83d', '\ude00', '\u0000', '\ufeff']) {
    assert.ok(estimateTokens(text) >= 1, JSON.stringify(text));
  }
  const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.string());
  fc.assert(
    fc.property(texts, (text) => {
      const tokens = estimateTokens(text);
      assert.ok(Number.isSafeInteger(tokens) && tokens >= (text === '' ? 0 : 1));
      // No tokenizer needs more tokens than bytes, and the estimate stays near that even for noise.
      assert.ok(tokens <= 2 * Buffer.byteLength(text) + 1);
    }),
  );
});

test('two texts together cost about what they cost apart', () => {
  const measured = samples.map(({ kind, text }) => ({ kind, text, tokens: estimateTokens(text) }));
  for (const a of measured) {
    for (const b of measured) {
      const apart = a.tokens + b.tokens;
      const together = estimateTokens(a.text + b.text);
      assert.ok(Math.abs(together / apart - 1) <= 0.1, `${a.kind} + ${b.kind}: ${together} for ${apart}`);
    }
  }
});

test('a text that is cut costs about what it costs whole', () => {
  for (const { kind, text } of samples) {
    const whole = estimateTokens(text);
    for (let cut = 0; cut <= text.length; cut += 17) {
      const parts = estimateTokens(text.slice(0, cut)) + estimateTokens(text.slice(cut));
      assert.ok(Math.abs(parts / whole - 1) <= 0.1, `${kind} at ${cut}: ${parts} for ${whole}`);
    }
  }
});

test('more of a text is not less', () => {
  for (const { kind, text } of samples) {
    const whole = estimateTokens(text);
    assert.ok(estimateTokens(text.slice(0, text.length / 2)) < whole, kind);
    assert.ok(Math.abs(estimateTokens(text.repeat(20)) / (20 * whole) - 1) <= 0.1, kind);
  }
});

test('time is linear, whatever the text', () => {
  const units = [
    ' ',
    '\n',
    ' \n',
    '\t',
    'a',
    'A',
    'aA',
    'a1B',
    '7',
    '-',
    '=-',
    'é',
    'ł',
    '語',
    'の',
    '한',
    'я',
    'ع',
    'ก',
  ];
  units.push('अ', '😀', '👩‍🎤', '\ud83d', '\u0000', '\u200d', '"', '\\', '()', 'a ', ' 1');
  const half = 512 * 1_024;
  // Before a measurement, so that the first is not that of a cold function.
  for (const unit of units) estimateTokens(unit.repeat(10_000));
  for (const unit of units) {
    const text = unit.repeat(Math.ceil((2 * half) / unit.length));
    // Flattened, as any text from the network is: the first character access would pay for it.
    text.charCodeAt(0);
    const began = performance.now();
    const tokens = estimateTokens(text);
    const took = performance.now() - began;
    assert.ok(took < 500, `${JSON.stringify(unit)}: ${took.toFixed(0)} ms`);
    assert.ok(tokens > 0 && Number.isSafeInteger(tokens));
    const ratio = tokens / estimateTokens(text.slice(0, text.length / 2));
    assert.ok(ratio > 1.8 && ratio < 2.2, `${JSON.stringify(unit)}: ${ratio}`);
  }
});

test('two megabytes take well under 100 ms', () => {
  const all = Buffer.from(samples.map(({ text }) => text).join('\n'));
  const text = Buffer.alloc(2_000_000, all).toString();
  // The best of a few: what else the machine does is not the subject.
  const took = Array.from({ length: 8 }, () => {
    const began = performance.now();
    estimateTokens(text);
    return performance.now() - began;
  });
  assert.ok(Math.min(...took) < 100, `${took}`);
});

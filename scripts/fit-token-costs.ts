/**
 * `npm run gen -- tokens`: derives src/core/token-costs.ts from the calibration half of the token corpus and prints the
 * errors.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { countFeatures } from '../src/core/token-feature-counts.ts';
import { TOKEN_FEATURES, type TokenFeature } from '../src/core/token-features.ts';
import { referenceTokens, relativeError, samples, type TokenSample } from '../test/support/token-corpus.ts';

const TABLE = new URL('../src/core/token-costs.ts', import.meta.url);

/**
 * Where the fit starts, in tokens: round guesses with a reason. A feature without a calibration sample keeps its guess.
 * "Measured" is the mean of the three tokenizers of the corpus over 2,000 repetitions of a character.
 */
const STARTING_COSTS: Readonly<Record<TokenFeature, number>> = {
  // Common English words are one token, with the space before them. Long words are rare and are split.
  word: 1,
  wordOver4: 0.05,
  wordOver7: 0.1,
  // In other languages only short words are one token; longer ones are split into pieces of about five letters.
  nonEnglishWord: 1,
  nonEnglishWordOver3: 0.2,
  // Pieces often contain Latin-1 letters, and seldom other accents.
  accent: 0.2,
  rareAccent: 1,
  // Short acronyms are one token, long ones pieces of about five letters.
  capitals: 1,
  capitalsOver2: 0.2,
  // Random letters: three tokens for ten letters, beyond the tokens of the words.
  mixedLetter: 0.3,
  // o200k and llama3 cut numbers into groups of at most three digits and make the space before them a token. claude
  // does neither.
  digitGroup: 1,
  spaceBeforeDigits: 0.7,
  // Sequences such as `();` or `://` are one token, so a further sign is cheap. Rows of one sign are cheaper still.
  punctuation: 1,
  punctuationBeforeWord: 0.8,
  punctuationOver1: 0.2,
  punctuationRepeated: 0.1,
  // o200k and llama3 have tokens such as `;\n`, claude has not. Indentation often joins the line break or the word
  // behind it.
  lineBreak: 1,
  lineBreakAfterPunctuation: 0.5,
  indent: 0.5,
  gap: 0.5,
  // Measured: 0.007 for spaces, 0.04 for line feeds, 0.08 for tabs. Long runs of spaces are the frequent case.
  whiteSpaceOver16: 0.01,
  // Pieces of two letters, and part of a token for the space before a word.
  cyrillic: 0.5,
  greek: 0.5,
  arabic: 0.5,
  devanagari: 0.5,
  scriptWord: 0.5,
  thai: 0.5,
  // Measured: 1 for a frequent syllable of Hangul. Han and kana are assumed to be alike.
  han: 1,
  kana: 1,
  hangul: 1,
  // Measured: 1.2 to 1.7 for Georgian, 1.7 for Bengali, 2.7 for Amharic. Words contain pieces of several letters.
  rareScript: 1.5,
  // Measured: 1 for a typographic quote, 0.7 for an ideographic comma.
  widePunctuation: 1,
  // Measured: 1 for a variation selector, 1.3 for a zero-width joiner and an acute accent.
  combining: 1,
  // Measured: 0.8 for an arrow, 1.7 for a check mark.
  symbol: 1.5,
  // Measured: 1.7 for a frequent emoji; 2 for mathematical letters, 3 for rare Han, 3.7 for hieroglyphs.
  emoji: 2,
  otherPair: 3,
};

/**
 * Weight of the starting costs. A feature that makes 3 % of the tokens in each of the 32 calibration samples moves half
 * of the way that the corpus alone would move it. With a tenth of this weight the fit follows Polish so closely that
 * Turkish is 16 % off.
 */
const RIDGE = 0.03;
const DECIMALS = 3;

const calibration = samples.filter(({ half }) => half === 'calibration');
const check = samples.filter(({ half }) => half === 'check');

export function writeTokenCosts(): void {
  const costs = fitCosts();
  const table = renderTable(costs);
  printErrors(costs);
  if (readFileSync(TABLE, 'utf8') === table) return;
  writeFileSync(TABLE, table);
  console.log('wrote src/core/token-costs.ts');
}

/** Returns the source text of src/core/token-costs.ts. */
export function renderTable(costs: Float64Array): string {
  const lines = TOKEN_FEATURES.map((feature, index) => {
    const note = isInCalibration(index) ? '' : ' // The starting cost: no calibration sample has this feature.';
    return `  ${feature}: ${at(costs, index)},${note}`;
  });
  return [
    '/** Tokens per unit of each feature. Generated from test/fixtures/tokens.corpus.json by `npm run gen -- tokens`; do not edit. */',
    "import type { TokenFeature } from './token-features.ts';",
    '',
    'export const TOKEN_COSTS: Readonly<Record<TokenFeature, number>> = {',
    ...lines,
    '};',
    '',
  ].join('\n');
}

/** Returns the costs that fit the calibration half best, in the order of the features. */
export function fitCosts(): Float64Array {
  // Relative to the reference, so that every sample has the same weight and every target is 1.
  const rows = calibration.map((sample) => featuresOf(sample.text).map((count) => count / referenceTokens(sample)));
  const start = Float64Array.from(TOKEN_FEATURES, (feature) => STARTING_COSTS[feature]);
  return fitNonNegative(rows, start, RIDGE).map((cost) => Number(cost.toFixed(DECIMALS)));
}

/**
 * Minimises sum((row · costs - 1)²) + ridge · sum((cost / start - 1)²) over costs >= 0, by coordinate descent.
 * The ridge makes the minimum unique, although there are more features than samples.
 */
export function fitNonNegative(rows: readonly Float64Array[], start: Float64Array, ridge: number): Float64Array {
  const costs = start.slice();
  const penalties = start.map((cost) => ridge / (cost * cost));
  const curvatures = penalties.map((penalty, j) => rows.reduce((sum, row) => sum + at(row, j) * at(row, j), penalty));
  const residuals = Float64Array.from(rows, (row) => 1 - dot(row, costs));
  let largestStep = Number.POSITIVE_INFINITY;
  while (largestStep > 1e-9) {
    largestStep = 0;
    for (let j = 0; j < costs.length; j += 1) {
      const cost = at(costs, j);
      const pull = at(penalties, j) * (at(start, j) - cost);
      const slope = rows.reduce((sum, row, i) => sum + at(row, j) * at(residuals, i), pull);
      const step = Math.max(-cost, slope / at(curvatures, j));
      costs[j] = cost + step;
      for (const [i, row] of rows.entries()) residuals[i] = at(residuals, i) - at(row, j) * step;
      largestStep = Math.max(largestStep, Math.abs(step));
    }
  }
  return costs;
}

function featuresOf(text: string): Float64Array {
  const counts = new Float64Array(TOKEN_FEATURES.length);
  countFeatures(text, counts);
  return counts;
}

const isInCalibration = (feature: number): boolean => calibration.some(({ text }) => at(featuresOf(text), feature) > 0);

const at = (values: Float64Array, index: number): number => values[index] ?? 0;

const dot = (a: Float64Array, b: Float64Array): number =>
  a.reduce((sum, value, index) => sum + value * at(b, index), 0);

/** Prints the relative error of each group and of the whole, for both halves. */
function printErrors(costs: Float64Array): void {
  const print = (name: string, members: readonly TokenSample[]): void => {
    const errors = [calibration, check].map((half) => {
      const error = relativeError(
        half.filter((sample) => members.includes(sample)),
        (text) => dot(featuresOf(text), costs),
      );
      return `${(error * 100).toFixed(1)} %`.padStart(12);
    });
    console.log(`${name.padEnd(10)}${errors.join('')}`);
  };
  console.log('error      calibration       check');
  for (const [group, members] of Map.groupBy(samples, (sample) => sample.group)) print(group, members);
  print('all', samples);
}

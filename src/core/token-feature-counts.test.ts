import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countFeatures } from './token-feature-counts.ts';
import { TOKEN_FEATURES } from './token-features.ts';

/** The counts that are not zero, by name. */
function featuresOf(text: string): Record<string, number> {
  const counts = new Float64Array(TOKEN_FEATURES.length);
  countFeatures(text, counts);
  const named = TOKEN_FEATURES.map((feature, index) => [feature, counts[index] ?? 0] as const);
  return Object.fromEntries(named.filter(([, count]) => count !== 0));
}

test('countFeatures counts words and their letters beyond a limit', () => {
  assert.deepEqual(featuresOf('a word and another'), { word: 4, wordOver4: 3 });
  assert.deepEqual(featuresOf('tokenizer'), { word: 1, wordOver4: 5, wordOver7: 2 });
  assert.deepEqual(featuresOf('HTTPServer'), { word: 1, wordOver4: 2, capitals: 1, capitalsOver2: 2 });
  assert.deepEqual(featuresOf('getUserName'), { word: 3 });
});

test('countFeatures splits a word between English and other languages by the words before it', () => {
  const { word, nonEnglishWord } = featuresOf('und');
  assert.deepEqual([word, nonEnglishWord], [0.7, 0.3]);
  const { word: english = 0, nonEnglishWord: others = 0 } = featuresOf(
    'der die das und ist ein zu den mit von im dem des',
  );
  assert.ok(others > 3 * english);
  assert.equal(featuresOf('é').accent, 1);
  assert.equal(featuresOf('ł').rareAccent, 1);
});

test('countFeatures counts digits in groups of three, and letters of runs like base64', () => {
  assert.deepEqual(featuresOf('1234567'), { digitGroup: 3 });
  assert.deepEqual(featuresOf('= 12'), { punctuation: 1, spaceBeforeDigits: 1, digitGroup: 1 });
  assert.equal(featuresOf('Ab1Cd2Ef').mixedLetter, 2);
  assert.equal(featuresOf('Ab1 Cd2 Ef').mixedLetter, undefined);
});

test('countFeatures counts a run of punctuation, its further signs and its repeated signs', () => {
  assert.deepEqual(featuresOf('.'), { punctuation: 1 });
  assert.deepEqual(featuresOf('.a'), { punctuationBeforeWord: 1, word: 1 });
  assert.deepEqual(featuresOf('();'), { punctuation: 1, punctuationOver1: 2 });
  assert.deepEqual(featuresOf('-----'), { punctuation: 1, punctuationRepeated: 4 });
});

test('countFeatures counts line breaks, indentation and gaps, but no single space', () => {
  assert.deepEqual(featuresOf('a b'), { word: 2 });
  assert.deepEqual(featuresOf('a  b\tc'), { word: 3, gap: 2 });
  assert.deepEqual(featuresOf('a\n b'), { word: 2, lineBreak: 1 });
  assert.deepEqual(featuresOf('a\n\n  b\n\tc'), { word: 3, lineBreak: 2, indent: 2 });
  assert.deepEqual(featuresOf(';\n'), { punctuation: 1, lineBreakAfterPunctuation: 1 });
  assert.deepEqual(featuresOf(' '.repeat(20)), { gap: 1, whiteSpaceOver16: 4 });
});

test('countFeatures counts characters of other scripts one by one', () => {
  assert.deepEqual(featuresOf('да нет'), { cyrillic: 5, scriptWord: 2 });
  assert.deepEqual(featuresOf('漢字かな한글ไทย'), { han: 2, kana: 2, hangul: 2, thai: 3 });
  assert.deepEqual(featuresOf('“→”'), { widePunctuation: 2, symbol: 1 });
});

test('countFeatures counts a surrogate pair as one character and a lone surrogate as a symbol', () => {
  assert.deepEqual(featuresOf('👩\u200d🎤𠀀'), { emoji: 2, combining: 1, otherPair: 1 });
  assert.deepEqual(featuresOf('\ud83d'), { symbol: 1 });
  assert.deepEqual(featuresOf('\ude00\ud83d\ud83d\ude00'), { symbol: 2, emoji: 1 });
});

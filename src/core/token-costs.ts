/**
 * Tokens per unit of each feature. Generated from test/fixtures/tokens.corpus.json by `npm run gen -- tokens`; do not
 * edit.
 */
import type { TokenFeature } from './token-features.ts';

export const TOKEN_COSTS: Readonly<Record<TokenFeature, number>> = {
  word: 0.943,
  wordOver4: 0.047,
  wordOver7: 0.097,
  nonEnglishWord: 0.94,
  nonEnglishWordOver3: 0.253,
  accent: 0.194,
  rareAccent: 1.486,
  capitals: 0.781,
  capitalsOver2: 0.171,
  mixedLetter: 0.324,
  digitGroup: 1.154,
  spaceBeforeDigits: 0.691,
  punctuation: 1.01,
  punctuationBeforeWord: 0.648,
  punctuationOver1: 0.195,
  punctuationRepeated: 0.101,
  lineBreak: 1.077,
  lineBreakAfterPunctuation: 0.494,
  indent: 0.503,
  gap: 0.491,
  whiteSpaceOver16: 0.01,
  cyrillic: 0.301,
  greek: 0.62,
  arabic: 0.522,
  devanagari: 0.65,
  scriptWord: 0.535,
  han: 0.805,
  kana: 0.858,
  hangul: 0.96,
  thai: 0.865,
  rareScript: 1.5, // The starting cost: no calibration sample has this feature.
  widePunctuation: 0.999,
  combining: 1.015,
  symbol: 1.547,
  emoji: 2.35,
  otherPair: 3, // The starting cost: no calibration sample has this feature.
};

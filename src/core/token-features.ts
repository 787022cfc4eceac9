/**
 * Names of the things in a text that tokenizers turn into tokens: words,
 * digits, punctuation, white space, letters of each script.
 */

/** The features, in the order of the counts. `Over4` counts the characters beyond the 4th. */
export const TOKEN_FEATURES = [
  // Words in Latin letters. A word counts as English and as non-English by the share that the text before it suggests.
  'word',
  'wordOver4',
  'wordOver7',
  'nonEnglishWord',
  'nonEnglishWordOver3',
  // Letters outside ASCII: from Latin-1, and from the other Latin blocks.
  'accent',
  'rareAccent',
  // Runs of two or more capitals.
  'capitals',
  'capitalsOver2',
  // Each letter of a run that mixes cases and digits like base64. It adds to the cost of the word.
  'mixedLetter',
  // Groups of up to three digits, and the space before a number, which most tokenizers keep apart.
  'digitGroup',
  'spaceBeforeDigits',
  // Runs of ASCII punctuation. Directly before a word, the last sign often joins the token of the word.
  'punctuation',
  'punctuationBeforeWord',
  'punctuationOver1',
  'punctuationRepeated',
  // White space. A single space within a line is part of the token after it and counts nothing.
  'lineBreak',
  'lineBreakAfterPunctuation',
  'indent',
  'gap',
  'whiteSpaceOver16',
  // Characters of scripts with spaces between words, and their words.
  'cyrillic',
  'greek',
  'arabic',
  'devanagari',
  'scriptWord',
  // Other characters, each counted on its own.
  'han',
  'kana',
  'hangul',
  'thai',
  'rareScript',
  'widePunctuation',
  'combining',
  'symbol',
  // Characters outside the basic plane, each a surrogate pair.
  'emoji',
  'otherPair',
] as const;
export type TokenFeature = (typeof TOKEN_FEATURES)[number];

export const FEATURE_INDEX = Object.fromEntries(TOKEN_FEATURES.map((feature, index) => [feature, index])) as Record<
  TokenFeature,
  number
>;

/** Kinds of characters that tokenizers treat alike, as a table over the UTF-16 code units. */

export const SYMBOL = 0;
export const SPACE = 1;
export const LINE_BREAK = 2;
export const DIGIT = 3;
export const LOWER = 4;
export const UPPER = 5;
/** A Latin letter outside ASCII, in either case. */
export const ACCENTED = 6;
export const PUNCTUATION = 7;
/** Punctuation outside ASCII: typographic quotes and dashes, currency signs, full-width forms. */
export const WIDE_PUNCTUATION = 8;
export const HAN = 9;
export const KANA = 10;
export const HANGUL = 11;
export const CYRILLIC = 12;
export const GREEK = 13;
export const ARABIC = 14;
export const DEVANAGARI = 15;
export const THAI = 16;
/** Georgian, Tamil, Amharic and other scripts that no sample of the corpus contains. */
export const RARE_SCRIPT = 17;
/** Combining marks, variation selectors, zero-width characters. */
export const COMBINING = 18;
export const SURROGATE = 19;
/** Returned for an index behind the last character. */
export const END = 20;

/**
 * Ranges of code units by kind, in hexadecimal digits; a later kind
 * overrides an earlier one. A code unit in no range is a symbol.
 */
const RANGES: readonly (readonly [kind: number, ranges: string])[] = [
  [PUNCTUATION, '00-7f'],
  [WIDE_PUNCTUATION, '80-bf d7 f7 2010-2027 2030-205e 20a0-20cf 3000-303f ff00-ff65'],
  [SPACE, '09 20 a0 2000-200a'],
  [LINE_BREAK, '0a 0d 2028-2029'],
  [DIGIT, '30-39'],
  [UPPER, '41-5a'],
  [LOWER, '61-7a'],
  [ACCENTED, 'aa b5 ba c0-d6 d8-f6 f8-24f 1e00-1eff'],
  [COMBINING, '300-36f 200b-200f 20d0-20ff fe00-fe0f feff'],
  [GREEK, '370-3ff 1f00-1fff'],
  [CYRILLIC, '400-52f'],
  [ARABIC, '590-8ff fb50-fdff fe70-fefc'],
  [DEVANAGARI, '900-97f'],
  [THAI, 'e00-e7f'],
  [HANGUL, '1100-11ff 3130-318f ac00-d7af ffa0-ffdc'],
  [KANA, '3040-30ff 31f0-31ff ff66-ff9f'],
  [HAN, '3400-4dbf 4e00-9fff f900-faff'],
  [RARE_SCRIPT, '530-58f 980-dff e80-10ff 1200-1cff'],
  [SURROGATE, 'd800-dfff'],
];

const KINDS = new Uint8Array(0x10000);
for (const [kind, ranges] of RANGES)
  for (const range of ranges.split(' ')) {
    const [first = 0, last = first] = range.split('-').map((digits) => Number.parseInt(digits, 16));
    KINDS.fill(kind, first, last + 1);
  }

export function kindAt(text: string, index: number): number {
  return index < text.length ? (KINDS[text.charCodeAt(index)] ?? SYMBOL) : END;
}

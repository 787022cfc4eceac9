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

/** A later range overrides an earlier one. A code unit in no range is a symbol. */
const RANGES: readonly (readonly [first: number, last: number, kind: number])[] = [
  [0x00, 0x7f, PUNCTUATION],
  [0x09, 0x09, SPACE],
  [0x0a, 0x0a, LINE_BREAK],
  [0x0d, 0x0d, LINE_BREAK],
  [0x20, 0x20, SPACE],
  [0x30, 0x39, DIGIT],
  [0x41, 0x5a, UPPER],
  [0x61, 0x7a, LOWER],
  [0x80, 0xbf, WIDE_PUNCTUATION],
  [0xa0, 0xa0, SPACE],
  [0xaa, 0xaa, ACCENTED],
  [0xb5, 0xb5, ACCENTED],
  [0xba, 0xba, ACCENTED],
  [0xc0, 0x24f, ACCENTED],
  [0xd7, 0xd7, WIDE_PUNCTUATION],
  [0xf7, 0xf7, WIDE_PUNCTUATION],
  [0x300, 0x36f, COMBINING],
  [0x370, 0x3ff, GREEK],
  [0x400, 0x52f, CYRILLIC],
  [0x530, 0x58f, RARE_SCRIPT],
  [0x590, 0x8ff, ARABIC],
  [0x900, 0x97f, DEVANAGARI],
  [0x980, 0xdff, RARE_SCRIPT],
  [0xe00, 0xe7f, THAI],
  [0xe80, 0x10ff, RARE_SCRIPT],
  [0x1100, 0x11ff, HANGUL],
  [0x1200, 0x1cff, RARE_SCRIPT],
  [0x1e00, 0x1eff, ACCENTED],
  [0x1f00, 0x1fff, GREEK],
  [0x2000, 0x200a, SPACE],
  [0x200b, 0x200f, COMBINING],
  [0x2010, 0x2027, WIDE_PUNCTUATION],
  [0x2028, 0x2029, LINE_BREAK],
  [0x2030, 0x205e, WIDE_PUNCTUATION],
  [0x20a0, 0x20cf, WIDE_PUNCTUATION],
  [0x20d0, 0x20ff, COMBINING],
  [0x3000, 0x303f, WIDE_PUNCTUATION],
  [0x3040, 0x30ff, KANA],
  [0x3130, 0x318f, HANGUL],
  [0x31f0, 0x31ff, KANA],
  [0x3400, 0x4dbf, HAN],
  [0x4e00, 0x9fff, HAN],
  [0xac00, 0xd7af, HANGUL],
  [0xd800, 0xdfff, SURROGATE],
  [0xf900, 0xfaff, HAN],
  [0xfb50, 0xfdff, ARABIC],
  [0xfe00, 0xfe0f, COMBINING],
  [0xfe70, 0xfefc, ARABIC],
  [0xfeff, 0xfeff, COMBINING],
  [0xff00, 0xff65, WIDE_PUNCTUATION],
  [0xff66, 0xff9f, KANA],
  [0xffa0, 0xffdc, HANGUL],
];

const KINDS = new Uint8Array(0x10000);
for (const [first, last, kind] of RANGES) KINDS.fill(kind, first, last + 1);

/** Returns the kind of the character at an index, or END behind the text. */
export function kindAt(text: string, index: number): number {
  return index < text.length ? (KINDS[text.charCodeAt(index)] ?? SYMBOL) : END;
}

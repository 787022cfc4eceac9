/**
 * How many tokens a text is likely to be, for the case that nobody who knows can be asked.
 *
 * One pass over the characters sorts them into kinds, and runs of a kind into what tokenizers tend to make of them.
 * The costs below are fitted to the calibration half of test/fixtures/tokens.corpus.json and, with little weight, to source code and
 * documentation outside of it; the check half took no part. The corpus says which tokenizers the counts come from.
 * Those disagree by up to a factor of four on scripts that few of them were trained on, so treat the answer there as
 * the middle of a wide range.
 */
const COST = {
  // A word among English words or code, and what each letter beyond the 4th, 7th and 11th adds to it.
  word: 0.975,
  wordOver4: 0.03,
  wordOver7: 0.075,
  wordOver11: 0.106,
  // The same among words of other languages in Latin letters, with letters beyond the 3rd and 7th.
  foreign: 0.936,
  foreignOver3: 0.234,
  foreignOver7: 0.166,
  // A letter with an accent, from Latin-1 and from anywhere else.
  accent: 0.138,
  rareAccent: 1.348,
  // A run of capitals, and each beyond the 2nd.
  capitals: 0.836,
  capitalsOver2: 0.082,
  // Each letter of a run that mixes cases and digits as base64 does.
  mixed: 0.299,
  // Up to three digits, and the space before a number.
  digits: 1.183,
  spaceBeforeDigits: 0.757,
  // A run of punctuation, its 2nd sign, each further one, and each that repeats the one before it.
  punctuation: 0.886,
  punctuation2: 0.213,
  punctuation3: 0.121,
  punctuationRepeated: 0.101,
  // Less for a run directly before a word: its last sign often belongs to the token of the word.
  punctuationBeforeWord: -0.176,
  // The end of a line, after punctuation and after anything else, and the indentation of the next one.
  lineAfterPunctuation: 0.566,
  line: 0.984,
  indent: 0.42,
  tabIndent: 0.632,
  // Several spaces in a row or a tab, within a line.
  gap: 0.568,
  // Each character of a long run of white space, so that endless ones are not free.
  longSpace: 1 / 80,
  // Characters outside the basic plane: emoji, and the others.
  emoji: 2.538,
  astral: 3,
  loneSurrogate: 1.023,
} as const;

const SYMBOL = 0;
const SPACE = 1;
const LINE = 2;
const DIGIT = 3;
const LOWER = 4;
const UPPER = 5;
const ACCENTED = 6;
const PUNCTUATION = 7;
const HAN = 8;
const KANA = 9;
const HANGUL = 10;
const CYRILLIC = 11;
const GREEK = 12;
const ARABIC = 13;
const DEVANAGARI = 14;
const THAI = 15;
const RARE_SCRIPT = 16;
const WIDE_MARK = 17;
const JOINER = 18;
const SURROGATE = 19;

/** For the kinds that are counted by the character: what each costs, and what the first of a run adds. */
const EACH = new Float64Array(20);
const FIRST = new Float64Array(20);
EACH[SYMBOL] = 1.644;
EACH[HAN] = 0.795;
EACH[KANA] = 0.843;
EACH[HANGUL] = 0.962;
EACH[CYRILLIC] = 0.284;
FIRST[CYRILLIC] = 0.637;
EACH[GREEK] = 0.612;
FIRST[GREEK] = 0.631;
EACH[ARABIC] = 0.504;
FIRST[ARABIC] = 0.631;
EACH[DEVANAGARI] = 0.639;
FIRST[DEVANAGARI] = 0.626;
EACH[THAI] = 0.901;
EACH[RARE_SCRIPT] = 1.455;
EACH[WIDE_MARK] = 1.087;
EACH[JOINER] = 1.023;

/** A later range overrides an earlier one; what is in none is a symbol. */
const RANGES: readonly (readonly [first: number, last: number, kind: number])[] = [
  [0x00, 0x7f, PUNCTUATION],
  [0x09, 0x09, SPACE],
  [0x0a, 0x0a, LINE],
  [0x0d, 0x0d, LINE],
  [0x20, 0x20, SPACE],
  [0x30, 0x39, DIGIT],
  [0x41, 0x5a, UPPER],
  [0x61, 0x7a, LOWER],
  [0x80, 0xbf, WIDE_MARK],
  [0xa0, 0xa0, SPACE],
  [0xaa, 0xaa, ACCENTED],
  [0xb5, 0xb5, ACCENTED],
  [0xba, 0xba, ACCENTED],
  [0xc0, 0x24f, ACCENTED],
  [0xd7, 0xd7, WIDE_MARK],
  [0xf7, 0xf7, WIDE_MARK],
  [0x300, 0x36f, JOINER],
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
  [0x200b, 0x200f, JOINER],
  [0x2010, 0x2027, WIDE_MARK],
  [0x2028, 0x2029, LINE],
  [0x2030, 0x205e, WIDE_MARK],
  [0x20a0, 0x20cf, WIDE_MARK],
  [0x20d0, 0x20ff, JOINER],
  [0x3000, 0x303f, WIDE_MARK],
  [0x3040, 0x30ff, KANA],
  [0x3130, 0x318f, HANGUL],
  [0x31f0, 0x31ff, KANA],
  [0x3400, 0x4dbf, HAN],
  [0x4e00, 0x9fff, HAN],
  [0xac00, 0xd7af, HANGUL],
  [0xd800, 0xdfff, SURROGATE],
  [0xf900, 0xfaff, HAN],
  [0xfb50, 0xfdff, ARABIC],
  [0xfe00, 0xfe0f, JOINER],
  [0xfe70, 0xfefc, ARABIC],
  [0xfeff, 0xfeff, JOINER],
  [0xff00, 0xff65, WIDE_MARK],
  [0xff66, 0xff9f, KANA],
  [0xffa0, 0xffdc, HANGUL],
];

const KINDS = new Uint8Array(0x10000);
for (const [first, last, kind] of RANGES) KINDS.fill(kind, first, last + 1);

/** Short words that tell English and code from the other languages that are written in Latin letters. */
const ENGLISH_WORDS =
  'the of and to is it for on as you are be by not or at we if an can has was but all out up so my he she his her our ' +
  'had who how did its one two new use get set let var int try def end any may via see yet too own why now';
const FOREIGN_WORDS =
  'der das und ist ein zu den mit von im dem des auf es sie ich er als bei nur um zum zur vor wie bis le la les et un ' +
  'une est que en il du au aux ce qui pas ne se sa par sur ou el los las por con del al lo su si mi ya muy di che non ' +
  'gli da os dos na em uma ao nas nos het een van je te dat bu bir ve ile de och att som det av jag til og az egy ta ' +
  'dan ini itu';
const LONGEST_HINT = 3;
const ENGLISH = 1;
const FOREIGN = 2;
const HINTS = new Uint8Array(1 << (5 * LONGEST_HINT));
for (const [words, hint] of [[ENGLISH_WORDS, ENGLISH] as const, [FOREIGN_WORDS, FOREIGN] as const]) {
  for (const word of words.split(' ')) HINTS[keyOf(word)] = hint;
}

/** How far one hint moves the belief that the words around here are foreign. */
const PACE = 0.3;

/** Always at least 1 for a text that is not empty. Time is linear in the length, whatever the text. */
export function estimateTokens(text: string): number {
  const end = text.length;
  if (end === 0) return 0;
  let total = 0;
  let before: number = LINE;
  // 0: the words around here are English or code. 1: they are of another language.
  let foreignness = 0;
  // In the present run of letters and digits: the pieces that begin with a capital, and those of digits.
  let humps = 0;
  let figures = 0;
  let at = 0;
  while (at < end) {
    const start = at;
    const code = text.charCodeAt(start);
    const kind = KINDS[code] ?? SYMBOL;
    at += 1;
    let next = at < end ? kindAt(text, at) : SYMBOL;
    switch (kind) {
      case LOWER:
      case UPPER:
      case ACCENTED: {
        if (before !== LOWER && before !== DIGIT) {
          humps = 0;
          figures = 0;
        }
        if (kind === UPPER) humps += 1;
        if (kind === UPPER && next === UPPER) {
          while (next === UPPER) {
            at += 1;
            next = at < end ? kindAt(text, at) : SYMBOL;
          }
          // The last capital begins the next word: HTTPServer.
          if (next === LOWER && at - start > 2) at -= 1;
          total += COST.capitals + over(at - start, 2) * COST.capitalsOver2;
        } else {
          let accents = kind === ACCENTED ? 1 : 0;
          let rareAccents = code > 0xff ? 1 : 0;
          let key = code & 31;
          while (next === LOWER || next === ACCENTED) {
            const letter = text.charCodeAt(at);
            if (next === ACCENTED) {
              accents += 1;
              if (letter > 0xff) rareAccents += 1;
            }
            key = (key << 5) | (letter & 31);
            at += 1;
            next = at < end ? kindAt(text, at) : SYMBOL;
          }
          const length = at - start;
          if (accents > 0) foreignness += (1 - foreignness) * PACE;
          else if (length <= LONGEST_HINT && before !== DIGIT && before !== LOWER) {
            const hint = HINTS[key];
            if (hint === ENGLISH) foreignness -= foreignness * PACE;
            else if (hint === FOREIGN) foreignness += (1 - foreignness) * PACE;
          }
          const english =
            COST.word +
            over(length, 4) * COST.wordOver4 +
            over(length, 7) * COST.wordOver7 +
            over(length, 11) * COST.wordOver11;
          const foreign = COST.foreign + over(length, 3) * COST.foreignOver3 + over(length, 7) * COST.foreignOver7;
          total += english + (foreign - english) * foreignness;
          total += (accents - rareAccents) * COST.accent + rareAccents * COST.rareAccent;
        }
        if (humps > 2 && figures > 0) total += (at - start) * COST.mixed;
        before = LOWER;
        continue;
      }
      case DIGIT: {
        if (before !== LOWER) {
          humps = 0;
          figures = 0;
        }
        figures += 1;
        while (at < end && kindAt(text, at) === DIGIT) at += 1;
        total += Math.ceil((at - start) / 3) * COST.digits;
        break;
      }
      case SPACE:
      case LINE: {
        // Where the last line of the run begins, or the run itself when it ends no line.
        let tail = kind === LINE ? at : start;
        while (next === SPACE || next === LINE) {
          at += 1;
          if (next === LINE) tail = at;
          next = at < end ? kindAt(text, at) : SYMBOL;
        }
        if (kind === LINE || tail > start) {
          const marked = before === PUNCTUATION || before === WIDE_MARK;
          total += marked ? COST.lineAfterPunctuation : COST.line;
          if (at > tail && text.charCodeAt(tail) === 9) total += COST.tabIndent;
          else if (at > tail + 1) total += COST.indent;
        } else {
          // A single space is part of the word after it.
          if (at > start + 1 || code === 9) total += COST.gap;
          if (next === DIGIT) total += COST.spaceBeforeDigits;
        }
        if (at > start + 1) total += (at - start) * COST.longSpace;
        break;
      }
      case PUNCTUATION: {
        let previous = code;
        let repeated = 0;
        while (next === PUNCTUATION) {
          const sign = text.charCodeAt(at);
          if (sign === previous) repeated += 1;
          previous = sign;
          at += 1;
          next = at < end ? kindAt(text, at) : SYMBOL;
        }
        const length = at - start;
        total += COST.punctuation;
        if (length > 1) total += COST.punctuation2;
        total += over(length - repeated, 2) * COST.punctuation3 + repeated * COST.punctuationRepeated;
        if (next === LOWER || next === UPPER) total += COST.punctuationBeforeWord;
        break;
      }
      case SURROGATE: {
        const low = code < 0xdc00 && at < end ? text.charCodeAt(at) : 0;
        if (low >= 0xdc00 && low <= 0xdfff) {
          at += 1;
          total += code >= 0xd83c && code <= 0xd83e ? COST.emoji : COST.astral;
        } else total += COST.loneSurrogate;
        break;
      }
      default:
        total += EACH[kind] ?? 0;
        if (before !== kind) total += FIRST[kind] ?? 0;
    }
    before = kind;
  }
  return Math.max(1, Math.round(total));
}

function kindAt(text: string, at: number): number {
  return KINDS[text.charCodeAt(at)] ?? SYMBOL;
}

function over(length: number, limit: number): number {
  return length > limit ? length - limit : 0;
}

function keyOf(word: string): number {
  let key = 0;
  for (let i = 0; i < word.length; i += 1) key = (key << 5) | (word.charCodeAt(i) & 31);
  return key;
}

/** Counts of the token features of a text, in one pass of linear time. Contains no costs; see token-costs.ts. */
import * as kinds from './token-characters.ts';
import { FEATURE_INDEX as INDEX, type TokenFeature } from './token-features.ts';
import { ENGLISH, languageHint, NO_HINT } from './token-language.ts';

const CHARACTER_FEATURES: readonly (readonly [kind: number, feature: TokenFeature])[] = [
  [kinds.CYRILLIC, 'cyrillic'],
  [kinds.GREEK, 'greek'],
  [kinds.ARABIC, 'arabic'],
  [kinds.DEVANAGARI, 'devanagari'],
  [kinds.HAN, 'han'],
  [kinds.KANA, 'kana'],
  [kinds.HANGUL, 'hangul'],
  [kinds.THAI, 'thai'],
  [kinds.RARE_SCRIPT, 'rareScript'],
  [kinds.WIDE_PUNCTUATION, 'widePunctuation'],
  [kinds.COMBINING, 'combining'],
  [kinds.SYMBOL, 'symbol'],
];

/** By kind, for the kinds that are counted by the character: the index of the feature. */
const FEATURE_OF_KIND = new Uint8Array(kinds.END);
for (const [kind, feature] of CHARACTER_FEATURES) FEATURE_OF_KIND[kind] = INDEX[feature];

/** How far one hint moves the share of non-English words towards 0 or 1. About five hints in a row decide. */
const HINT_WEIGHT = 0.3;
const TAB = 0x09;

/** Overwrites `counts`, which has one element per feature, with the counts of a text. Time is linear in its length. */
export function countFeatures(text: string, counts: Float64Array): void {
  counts.fill(0);
  new FeatureCounter(text, counts).countAll();
}

class FeatureCounter {
  readonly #text: string;
  readonly #counts: Float64Array;
  /** Index of the first character that is not counted yet. */
  #at = 0;
  /** Kind of the character before `#at`; any Latin letter is LOWER. */
  #previous = kinds.LINE_BREAK;
  /** Share of non-English words around here, from 0 to 1. */
  #nonEnglish = 0;
  /** In the current run of letters and digits: the pieces that begin with a capital, and those of digits. */
  #capitalPieces = 0;
  #digitPieces = 0;

  constructor(text: string, counts: Float64Array) {
    this.#text = text;
    this.#counts = counts;
  }

  countAll(): void {
    const text = this.#text;
    while (this.#at < text.length) {
      const kind = kinds.kindAt(text, this.#at);
      switch (kind) {
        case kinds.LOWER:
        case kinds.UPPER:
        case kinds.ACCENTED:
          this.#countLetters(kind);
          this.#previous = kinds.LOWER;
          continue;
        case kinds.DIGIT:
          this.#countDigits();
          break;
        case kinds.SPACE:
        case kinds.LINE_BREAK:
          this.#countWhiteSpace();
          break;
        case kinds.PUNCTUATION:
          this.#countPunctuation();
          break;
        case kinds.SURROGATE:
          this.#countSurrogate();
          break;
        default:
          this.#countCharacters(kind);
      }
      this.#previous = kind;
    }
  }

  #countLetters(kind: number): void {
    const start = this.#at;
    this.#beginPiece();
    if (kind === kinds.UPPER) this.#capitalPieces += 1;
    if (kind === kinds.UPPER && kinds.kindAt(this.#text, start + 1) === kinds.UPPER) this.#countCapitals();
    else this.#countWord();
    if (this.#capitalPieces > 2 && this.#digitPieces > 0) this.#add(INDEX.mixedLetter, this.#at - start);
  }

  #beginPiece(): void {
    if (this.#previous === kinds.LOWER || this.#previous === kinds.DIGIT) return;
    this.#capitalPieces = 0;
    this.#digitPieces = 0;
  }

  #countCapitals(): void {
    const start = this.#at;
    const end = this.#endOfRun(kinds.UPPER);
    // The last capital begins the next word, as in HTTPServer.
    this.#at = kinds.kindAt(this.#text, end) === kinds.LOWER && end - start > 2 ? end - 1 : end;
    this.#add(INDEX.capitals, 1);
    this.#addOver(INDEX.capitalsOver2, this.#at - start, 2);
  }

  /** Counts one letter of any case and the lower-case and accented letters behind it. */
  #countWord(): void {
    const text = this.#text;
    const start = this.#at;
    let end = start;
    let accents = 0;
    let rareAccents = 0;
    let kind = kinds.kindAt(text, start);
    do {
      if (kind === kinds.ACCENTED) {
        if (text.charCodeAt(end) > 0xff) rareAccents += 1;
        else accents += 1;
      }
      end += 1;
      kind = kinds.kindAt(text, end);
    } while (kind === kinds.LOWER || kind === kinds.ACCENTED);
    this.#at = end;
    if (accents + rareAccents > 0) {
      this.#add(INDEX.accent, accents);
      this.#add(INDEX.rareAccent, rareAccents);
      this.#moveLanguage(1);
    } else if (this.#previous !== kinds.LOWER && this.#previous !== kinds.DIGIT) {
      const hint = languageHint(text, start, end);
      if (hint !== NO_HINT) this.#moveLanguage(hint === ENGLISH ? 0 : 1);
    }
    this.#addWord(end - start);
  }

  #moveLanguage(target: 0 | 1): void {
    this.#nonEnglish += (target - this.#nonEnglish) * HINT_WEIGHT;
  }

  #addWord(length: number): void {
    const nonEnglish = this.#nonEnglish;
    const english = 1 - nonEnglish;
    this.#add(INDEX.word, english);
    this.#add(INDEX.nonEnglishWord, nonEnglish);
    if (length <= 3) return;
    this.#add(INDEX.nonEnglishWordOver3, nonEnglish * (length - 3));
    this.#add(INDEX.wordOver4, english * (length - 4));
    if (length > 7) this.#add(INDEX.wordOver7, english * (length - 7));
  }

  #countDigits(): void {
    this.#beginPiece();
    this.#digitPieces += 1;
    const start = this.#at;
    this.#at = this.#endOfRun(kinds.DIGIT);
    this.#add(INDEX.digitGroup, Math.ceil((this.#at - start) / 3));
  }

  #countWhiteSpace(): void {
    const text = this.#text;
    const start = this.#at;
    let end = start;
    let lastLine = -1;
    let kind = kinds.kindAt(text, start);
    do {
      end += 1;
      if (kind === kinds.LINE_BREAK) lastLine = end;
      kind = kinds.kindAt(text, end);
    } while (kind === kinds.SPACE || kind === kinds.LINE_BREAK);
    this.#at = end;
    if (lastLine >= 0) this.#addLineBreak(lastLine, end);
    else {
      if (end - start > 1 || text.charCodeAt(start) === TAB) this.#add(INDEX.gap, 1);
      if (kind === kinds.DIGIT) this.#add(INDEX.spaceBeforeDigits, 1);
    }
    this.#addOver(INDEX.whiteSpaceOver16, end - start, 16);
  }

  /** Adds the line breaks of one run of white space as one, and the indentation of the line behind them. */
  #addLineBreak(lineStart: number, end: number): void {
    const isAfterPunctuation = this.#previous === kinds.PUNCTUATION || this.#previous === kinds.WIDE_PUNCTUATION;
    this.#add(isAfterPunctuation ? INDEX.lineBreakAfterPunctuation : INDEX.lineBreak, 1);
    // A single space joins the word behind it; a tab does not.
    const isIndented = end - lineStart > 1 || (end > lineStart && this.#text.charCodeAt(lineStart) === TAB);
    if (isIndented) this.#add(INDEX.indent, 1);
  }

  #countPunctuation(): void {
    const text = this.#text;
    const start = this.#at;
    let end = start + 1;
    let repeated = 0;
    let kind = kinds.kindAt(text, end);
    while (kind === kinds.PUNCTUATION) {
      if (text.charCodeAt(end) === text.charCodeAt(end - 1)) repeated += 1;
      end += 1;
      kind = kinds.kindAt(text, end);
    }
    this.#at = end;
    const isBeforeWord = kind === kinds.LOWER || kind === kinds.UPPER;
    this.#add(isBeforeWord ? INDEX.punctuationBeforeWord : INDEX.punctuation, 1);
    if (end - start === 1) return;
    this.#add(INDEX.punctuationOver1, end - start - 1 - repeated);
    this.#add(INDEX.punctuationRepeated, repeated);
  }

  #countSurrogate(): void {
    const text = this.#text;
    const high = text.charCodeAt(this.#at);
    const low = this.#at + 1 < text.length ? text.charCodeAt(this.#at + 1) : 0;
    const isPair = high < 0xdc00 && low >= 0xdc00 && low <= 0xdfff;
    this.#at += isPair ? 2 : 1;
    if (!isPair) {
      this.#add(INDEX.symbol, 1);
      return;
    }
    // U+1F000 to U+1FBFF.
    const isEmoji = high >= 0xd83c && high <= 0xd83e;
    this.#add(isEmoji ? INDEX.emoji : INDEX.otherPair, 1);
  }

  #countCharacters(kind: number): void {
    const start = this.#at;
    this.#at = this.#endOfRun(kind);
    this.#add(FEATURE_OF_KIND[kind] ?? INDEX.symbol, this.#at - start);
    if (kind === kinds.CYRILLIC || kind === kinds.GREEK || kind === kinds.ARABIC || kind === kinds.DEVANAGARI)
      this.#add(INDEX.scriptWord, 1);
  }

  #endOfRun(kind: number): number {
    const text = this.#text;
    let end = this.#at + 1;
    while (kinds.kindAt(text, end) === kind) end += 1;
    return end;
  }

  #addOver(feature: number, length: number, limit: number): void {
    if (length > limit) this.#add(feature, length - limit);
  }

  #add(feature: number, amount: number): void {
    this.#counts[feature] = (this.#counts[feature] ?? 0) + amount;
  }
}

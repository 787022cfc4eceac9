/**
 * A text with URL encoding and JSON escapes undone, and the place of each
 * byte; in lower case, so that a native search finds any spelling.
 */

const PERCENT = 0x25;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
/** What an escape of JSON stands for, where that is not the character itself. */
const CONTROLS: ReadonlyMap<number, number> = new Map(
  [...'bfnrt'].map((letter, n) => [letter.charCodeAt(0), [8, 12, 10, 13, 9][n] ?? 0]),
);
const QUOTES: ReadonlySet<number> = new Set([0x22, 0x2f]);

export class UnescapedText {
  readonly text: string;
  readonly #source: Buffer;
  /**
   * Where each byte begins in the source, and at last its end;
   * undefined without escapes, because the places are the same.
   */
  readonly #starts: readonly number[] | undefined;

  constructor(source: string) {
    this.#source = Buffer.from(source);
    if (!/[%\\]/.test(source)) {
      this.text = this.#source.toString('latin1').toLowerCase();
      return;
    }
    const starts: number[] = [];
    const bytes: number[] = [];
    for (let at = 0; at < this.#source.length; ) {
      const { value, end } = unitAt(this.#source, at);
      for (const byte of value) {
        bytes.push(byte);
        starts.push(at);
      }
      at = end;
    }
    starts.push(this.#source.length);
    this.#starts = starts;
    this.text = Buffer.from(bytes).toString('latin1').toLowerCase();
  }

  /** The original text between two places of the unescaped one. */
  original(from: number, to = this.text.length): string {
    return this.#source.toString('utf8', this.#starts?.[from] ?? from, this.#starts?.[to] ?? to);
  }
}

interface Unit {
  readonly value: Iterable<number>;
  readonly end: number;
}

function unitAt(source: Buffer, at: number): Unit {
  const byte = source[at] ?? 0;
  if (byte === PERCENT) return percentAt(source, at);
  return byte === BACKSLASH ? escapeAt(source, at) : { value: [byte], end: at + 1 };
}

/** `%2541` is an `A` that was encoded twice. */
function percentAt(source: Buffer, at: number): Unit {
  let end = at + 1;
  let value = hexAt(source, end, 2);
  if (value === undefined) return { value: [PERCENT], end };
  for (
    let next = hexAt(source, end + 2, 2);
    value === PERCENT && next !== undefined;
    next = hexAt(source, end + 2, 2)
  ) {
    value = next;
    end += 2;
  }
  return { value: [value], end: end + 2 };
}

/** A text that is JSON inside JSON has several backslashes before each escaped character. */
function escapeAt(source: Buffer, at: number): Unit {
  let end = at;
  while (source[end] === BACKSLASH) end += 1;
  const next = source[end] ?? 0;
  if (QUOTES.has(next)) return { value: [next], end: end + 1 };
  if (next === LETTER_U) return unicodeAt(source, end) ?? { value: [BACKSLASH], end };
  const control = CONTROLS.get(next);
  return control === undefined ? { value: [BACKSLASH], end } : { value: [control], end: end + 1 };
}

/** `at` is the place of the `u`. A character beyond the first 65,536 is a pair of escapes. */
function unicodeAt(source: Buffer, at: number): Unit | undefined {
  const first = hexAt(source, at + 1, 4);
  if (first === undefined) return undefined;
  let next = at + 5;
  while (source[next] === BACKSLASH) next += 1;
  const second = source[next] === LETTER_U ? hexAt(source, next + 1, 4) : undefined;
  const pair = String.fromCharCode(first, second ?? 0);
  return second !== undefined && next > at + 5 && pair.isWellFormed() && [...pair].length === 1
    ? { value: Buffer.from(pair), end: next + 5 }
    : { value: Buffer.from(String.fromCharCode(first)), end: at + 5 };
}

function hexAt(source: Buffer, at: number, digits: number): number | undefined {
  let value = 0;
  for (let n = 0; n < digits; n += 1) {
    const digit = DIGITS.indexOf(String.fromCharCode(source[at + n] ?? 0).toLowerCase());
    if (digit < 0) return undefined;
    value = value * 16 + digit;
  }
  return value;
}
const DIGITS = '0123456789abcdef';

/**
 * Parser of the events of one stream. Most events differ from an earlier one in a few values only: a
 * piece of text, a number. Such an event is compared with the text of the earlier one, and only these
 * values are read. Returns what `JSON.parse` would return, which reads everything else.
 */
import type { JsonObject } from '../hub/types.ts';
import { isObject, parseEvent } from './read.ts';

/** The returned object is valid until the next call, which may change it. */
export type EventParser = (text: string) => JsonObject | undefined;

/** Longer events are rare, and their time is not in the parser. */
const MAX_PATTERN_CHARS = 4_096;
/** Events in a row that gave a pattern which the next one did not fit. Then the stream has no pattern. */
const MAX_VAIN_PATTERNS = 8;

/**
 * `varying` names the members whose values may differ: texts, and whole
 * numbers above zero. See `parseEvent` for `holdsArguments`.
 */
export function openEventParser(
  varying: readonly string[],
  holdsArguments: (event: JsonObject) => boolean,
): EventParser {
  let pattern: Pattern | undefined;
  let vain = 0;
  return (text) => {
    const known = pattern?.read(text);
    if (known) {
      vain = 0;
      return known;
    }
    const event = parseEvent(text, holdsArguments);
    if (event && vain < MAX_VAIN_PATTERNS && text.length <= MAX_PATTERN_CHARS && !text.includes('\\')) {
      const found = holdsArguments(event) ? undefined : Pattern.of(text, varying);
      if (found) vain += 1;
      pattern = found ?? pattern;
    }
    return event;
  };
}

/** A value that varies, and the fixed text before it. */
interface Gap {
  readonly before: string;
  readonly holder: Record<string, unknown>;
  readonly key: string;
  readonly isText: boolean;
}

/** What may vary without a change of anything else: a text without escapes, a whole number. */
const VALUE = String.raw`(?:"[^"\\]*"|[1-9]\d{0,14}(?=[\s,}]))`;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

class Pattern {
  readonly #event: JsonObject;
  readonly #gaps: readonly Gap[];
  readonly #after: string;
  readonly #values: (string | number)[];

  private constructor(event: JsonObject, gaps: readonly Gap[], after: string) {
    this.#event = event;
    this.#gaps = gaps;
    this.#after = after;
    this.#values = gaps.map(() => '');
  }

  /** `text` is JSON without a backslash. Undefined when none of the members is a text. */
  static of(text: string, varying: readonly string[]): Pattern | undefined {
    const event = JSON.parse(text) as JsonObject;
    const places = varying.flatMap((key) => placeOf(key, text, event) ?? []).sort((a, b) => a.start - b.start);
    if (!places.some(({ isText }) => isText)) return undefined;
    let at = 0;
    const gaps = places.map(({ start, end, ...place }): Gap => {
      const before = text.slice(at, start);
      at = end;
      return { ...place, before };
    });
    return new Pattern(event, gaps, text.slice(at));
  }

  /** The event, when only the values differ. */
  read(text: string): JsonObject | undefined {
    let at = 0;
    for (let n = 0; n < this.#gaps.length; n += 1) {
      const { before, isText } = this.#gaps[n] as Gap;
      // A seventh of the time of `startsWith`.
      if (text.slice(at, at + before.length) !== before) return undefined;
      at += before.length;
      const end = isText ? endOfText(text, at) : endOfNumber(text, at);
      const value = end < 0 ? undefined : isText ? unescaped(text.slice(at, end)) : Number(text.slice(at, end));
      if (value === undefined) return undefined;
      this.#values[n] = value;
      at = end;
    }
    if (text.slice(at) !== this.#after) return undefined;
    for (let n = 0; n < this.#gaps.length; n += 1) {
      const { holder, key } = this.#gaps[n] as Gap;
      holder[key] = this.#values[n];
    }
    return this.#event;
  }
}

interface Place extends Omit<Gap, 'before'> {
  readonly start: number;
  readonly end: number;
}

/** Where the value of the only member of this name is. For a text, without its quotes. */
function placeOf(key: string, text: string, event: JsonObject): Place | undefined {
  const [holder, ...others] = holdersOf(key, event);
  const [found, ...further] = text.matchAll(new RegExp(`"${key}"\\s*:\\s*(${VALUE})?`, 'g'));
  const value = found?.[1];
  if (!holder || others.length > 0 || !found || value === undefined || further.length > 0) return undefined;
  const isText = value.startsWith('"');
  const end = found.index + found[0].length - (isText ? 1 : 0);
  return { start: end - value.length + (isText ? 2 : 0), end, holder, key, isText };
}

function holdersOf(key: string, value: unknown): Record<string, unknown>[] {
  if (Array.isArray(value)) return value.flatMap((one) => holdersOf(key, one));
  if (!isObject(value)) return [];
  const inside = Object.values(value).flatMap((one) => holdersOf(key, one));
  return Object.hasOwn(value, key) ? [value as Record<string, unknown>, ...inside] : inside;
}

/** The place of the quote that ends the text; -1 when there is none, or JSON forbids one of the characters. */
function endOfText(text: string, start: number): number {
  for (let end = start; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code === QUOTE) return end;
    if (code < SPACE) return -1;
    if (code === BACKSLASH) end += 1;
  }
  return -1;
}

/** Undefined when the text has an invalid escape. */
function unescaped(text: string): string | undefined {
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return undefined;
  }
}

/** -1 when no whole number above zero begins here. */
function endOfNumber(text: string, start: number): number {
  let end = start;
  for (let code = text.charCodeAt(end); code >= 0x30 && code <= 0x39; code = text.charCodeAt(end)) end += 1;
  return end === start || end - start > 15 || text[start] === '0' ? -1 : end;
}

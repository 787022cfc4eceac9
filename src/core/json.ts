/**
 * JSON scanner for untrusted bodies. One pass over the bytes checks the grammar and the limits and
 * returns the byte spans of selected top-level members, without building values. Native forwarding
 * replaces such a span, so that everything else (key order, number formats, unknown fields) reaches
 * the provider unchanged. Reasons: docs/adr/0002-bytes-through.md
 */
import { isUtf8 } from 'node:buffer';
import { type MemberShape, type Shape, type ShapeFindings, TYPE_MEMBER, type TypeShape } from './json-shape.ts';
import { addMark, type MarkedList, type ScanMark } from './scan-trail.ts';

/** Byte offsets; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface JsonLimits {
  readonly depth: number;
  readonly tokens: number;
  /** Members of the top level. */
  readonly members?: number;
  /** Elements of lists at the top level, by the name of their member. */
  readonly elements?: ReadonlyMap<string, number>;
  /** Elements of all lists inside the elements of one of these lists. */
  readonly innerElements?: number;
  /** Lists of the top level between whose elements a later scan may go on. */
  readonly marked?: ReadonlySet<string>;
}

/** Why the body is rejected; `at` is a byte offset, `member` the member of the body at fault. */
export class JsonScanError extends Error {
  readonly at: number;
  readonly member: string | undefined;
  constructor(message: string, at: number, member?: string) {
    super(message);
    this.at = at;
    this.member = member;
  }
}

/** It may be valid, and has more than the limits allow. */
export class JsonLimitError extends JsonScanError {}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const LETTER_N = 0x6e;

/**
 * Spans of the wanted top-level members, each at most once, because
 * parsers differ. Compares the body with the shape of `findings`.
 */
export function scanMembers(
  bytes: Buffer,
  wanted: ReadonlySet<string>,
  limits: JsonLimits,
  findings?: ShapeFindings,
): Map<string, Span> {
  const { members, values } = measureMembers(bytes, wanted, limits, findings);
  findings?.steps.take(values);
  return members;
}

export interface MeasuredBody {
  readonly members: Map<string, Span>;
  /** How many values the body holds, which determines the memory of the parsed body. */
  readonly values: number;
  /** `JSON.stringify` writes its numbers as they are, and moves no names. */
  readonly isPlain: boolean;
}

/** The members as above, and more that the scan has seen. */
export function measureMembers(
  bytes: Buffer,
  wanted: ReadonlySet<string>,
  limits: JsonLimits,
  findings?: ShapeFindings,
): MeasuredBody {
  const { known } = findings ?? {};
  if (!isUtf8(known ? bytes.subarray(known.at) : bytes)) throw new JsonScanError('The body is not valid UTF-8.', 0);
  const scanner = new Scanner(bytes, limits, 0, findings);
  const members = scanner.members(wanted);
  return { members, values: scanner.values, isPlain: scanner.isPlain };
}

/** Spans of members of a nested object; none of another value. The body must have passed `scanMembers`. */
export const membersAt = (bytes: Buffer, at: Span | undefined, wanted: ReadonlySet<string>): Map<string, Span> =>
  at && bytes[at.start] === OPEN_OBJECT
    ? new Scanner(bytes, UNBOUNDED, at.start).objectMembers(wanted)
    : new Map<string, Span>();

/** The span of one of them. */
export const spanAt = (bytes: Buffer, at: Span | undefined, name: string): Span | undefined =>
  membersAt(bytes, at, new Set([name])).get(name);

export const NO_MEMBERS: ReadonlySet<string> = new Set();

/** Spans of the elements of a nested array; none of another value. The body must have passed `scanMembers`. */
export const elementsAt = (bytes: Buffer, at: Span | undefined): Span[] =>
  at && bytes[at.start] === OPEN_ARRAY ? new Scanner(bytes, UNBOUNDED, at.start).elements() : [];

const UNBOUNDED: JsonLimits = { depth: Number.POSITIVE_INFINITY, tokens: Number.POSITIVE_INFINITY };

export const splice = (bytes: Buffer, span: Span, replacement: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, span.start), replacement, bytes.subarray(span.end)]);

export interface SpanChange {
  readonly span: Span;
  readonly bytes: Buffer;
}

/** Returns `bytes` with several spans replaced; they must not overlap. */
export function spliceAll(bytes: Buffer, changes: readonly SpanChange[]): Buffer {
  if (changes.length === 0) return bytes;
  const pieces: Buffer[] = [];
  let at = 0;
  for (const change of [...changes].sort((a, b) => a.span.start - b.span.start)) {
    pieces.push(bytes.subarray(at, change.span.start), change.bytes);
    at = change.span.end;
  }
  return Buffer.concat([...pieces, bytes.subarray(at)]);
}

/** Of an escape, without its first byte, which quoted code is full of. */
const ESCAPE = Buffer.from('u00');
const ESCAPED_LETTER = /\\u00(?:5f|[46][1-9a-f]|[57][0-9a])/i;

/**
 * Whether a letter or underscore is written as an escape. No JSON writer
 * does that; it could hide a word from a search for its bytes.
 */
export const hasEscapedLetters = (bytes: Buffer): boolean =>
  bytes.includes(ESCAPE) && ESCAPED_LETTER.test(bytes.toString('latin1'));

/** Undefined without a span. */
export function valueAt(bytes: Buffer, span: Span | undefined): unknown {
  if (!span) return undefined;
  const { start, end } = span;
  try {
    return JSON.parse(bytes.toString('utf8', start, end));
  } catch {
    // The scan skips the inside of long strings, so errors there show only here.
    throw new JsonScanError(
      'The body is not valid JSON: a string contains an unescaped control character or a bad escape.',
      start,
    );
  }
}

class Scanner {
  isPlain = true;
  /** Scalars and empty containers so far. */
  values = 0;
  readonly #bytes: Buffer;
  readonly #limits: JsonLimits;
  #at = 0;
  /** Of the current member of the top level, where it is a list: its elements, and those of lists inside them. */
  #elements = 0;
  #innerElements = 0;
  /** The current member, where marks are kept in it. */
  #list: MarkedList | undefined;
  /** Objects with members in values that were skipped. */
  #objects = 0;
  readonly #findings: ShapeFindings | undefined;
  #window = '';
  #windowStart = 0;
  readonly #path: (string | number)[] = [];

  constructor(bytes: Buffer, limits: JsonLimits, at = 0, findings?: ShapeFindings) {
    this.#bytes = bytes;
    this.#limits = limits;
    this.#at = at;
    this.#findings = findings;
  }

  members(wanted: ReadonlySet<string>): Map<string, Span> {
    const { known } = this.#findings ?? {};
    const found = known ? this.#membersFrom(known, wanted) : this.#firstMembers(wanted);
    this.#space();
    if (this.#at < this.#bytes.length) throw this.#unexpected();
    return found;
  }

  #membersFrom(mark: ScanMark, wanted: ReadonlySet<string>): Map<string, Span> {
    const found = new Map(mark.list.found);
    this.#at = mark.at;
    this.values = mark.values;
    this.#topLevel(wanted, found, mark);
    return found;
  }

  #firstMembers(wanted: ReadonlySet<string>): Map<string, Span> {
    // Not valid JSON, but some editors write a byte order mark into a file that curl then sends.
    if (this.#bytes[0] === 0xef && this.#bytes[1] === 0xbb && this.#bytes[2] === 0xbf) this.#at = 3;
    this.#space();
    if (this.#peek() !== OPEN_OBJECT) throw new JsonScanError('The body must be a JSON object.', this.#at);
    return this.objectMembers(wanted);
  }

  /** Reads from the opening brace to after the closing one. */
  objectMembers(wanted: ReadonlySet<string>): Map<string, Span> {
    const found = new Map<string, Span>();
    this.#at += 1;
    this.#space();
    if (this.#peek() === CLOSE_OBJECT) this.#at += 1;
    else this.#topLevel(wanted, found);
    return found;
  }

  elements(): Span[] {
    const found: Span[] = [];
    this.#enter(0);
    for (let hasMore = !this.#isEmpty(CLOSE_ARRAY); hasMore; hasMore = this.#hasNext(CLOSE_ARRAY)) {
      const start = this.#at;
      this.#value();
      found.push({ start, end: this.#at });
    }
    return found;
  }

  /** `mark`: within the first of the members. */
  #topLevel(wanted: ReadonlySet<string>, found: Map<string, Span>, mark?: ScanMark): void {
    const { members = Number.POSITIVE_INFINITY, marked } = this.#limits;
    let known = mark;
    for (let count = known?.list.member ?? 1; ; count += 1) {
      if (count > members) throw new JsonScanError(`The body has more than ${members} members.`, this.#at);
      const key = known?.list.name ?? this.#key();
      const start = known?.list.start ?? this.#at;
      this.#elements = known?.index ?? 0;
      this.#innerElements = known?.innerElements ?? 0;
      this.#list = undefined;
      if (this.#findings?.marks && marked?.has(key))
        this.#list = known?.list ?? { name: key, start, member: count, found: [...found] };
      this.#member(key, known);
      known = undefined;
      if (this.#limits.elements && this.#bytes[start] === OPEN_ARRAY) this.#checkList(key, this.#limits.elements);
      if (wanted.has(key)) {
        if (found.has(key)) throw new JsonScanError(`The member "${key}" occurs twice.`, start);
        found.set(key, { start, end: this.#at });
      }
      if (!this.#hasNext(CLOSE_OBJECT)) return;
    }
  }

  /** Reads the value of a member of the body, or the rest of it. */
  #member(name: string, mark: ScanMark | undefined): void {
    if (!this.#findings) return this.#value();
    const member = this.#findings.shape.request.members.get(name);
    if (!mark || !member) return this.#compare(member, name, 0);
    this.#path.push(name);
    this.#elementsFrom(member, 0, mark.index);
    this.#path.pop();
  }

  #checkList(member: string, limits: ReadonlyMap<string, number>): void {
    const limit = limits.get(member);
    if (limit === undefined) return;
    const { innerElements = Number.POSITIVE_INFINITY } = this.#limits;
    if (this.#elements > limit)
      throw new JsonScanError(`${member}: the list has more than ${limit} entries.`, this.#at, member);
    if (this.#innerElements > innerElements)
      throw new JsonScanError(
        `${member}: the entries have more than ${innerElements} parts together.`,
        this.#at,
        member,
      );
  }

  /** `depth`: of the list that the element is in. */
  #countElement(depth: number): void {
    if (depth === 1) this.#elements += 1;
    else if (depth === 3) this.#innerElements += 1;
  }

  /** Reads `"name" :` and the space after it. */
  #key(): string {
    const start = this.#at;
    const escaped = this.#string();
    this.#watch(start, escaped);
    const text = this.#bytes.toString('latin1', start + 1, this.#at - 1);
    const key = escaped ? String(valueAt(this.#bytes, { start, end: this.#at })) : text;
    this.#colon();
    return key;
  }

  #colon(): void {
    this.#space();
    if (this.#take() !== COLON) throw this.#unexpected(-1);
    this.#space();
  }

  /** Reads the value of a member. `depth`: of the objects and lists around it. */
  #compare(member: MemberShape | undefined, name: string, depth: number): void {
    const start = this.#at;
    this.#path.push(name);
    // Null is the same as absent.
    if (!member && this.#peek() !== LETTER_N) this.#reportUnknown();
    if (member && !member.isFree) this.#shaped(member, depth);
    else this.#value(depth);
    if (member?.isFree && member.tag) this.#report(member.tag, start);
    this.#path.pop();
  }

  /** Recursive, because kinds of objects are nested only as deep as the limit allows. */
  #shaped(member: MemberShape, depth: number): void {
    const start = this.#at;
    const byte = this.#peek();
    const { objects, tag } = member;
    if (byte === OPEN_ARRAY && (objects || tag)) this.#shapedList(member, depth);
    else if (byte === OPEN_OBJECT && objects) this.#shapedObject(objects, depth);
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      const before = this.#objects;
      this.#value(depth);
      if (this.#objects > before) this.#reportUnknown();
    } else {
      this.#scalar(byte);
      this.#countValue();
      if (tag && byte === QUOTE) this.#report(tag, start);
    }
  }

  #shapedList(member: MemberShape, depth: number): void {
    this.#enter(depth);
    if (!this.#isEmpty(CLOSE_ARRAY)) this.#elementsFrom(member, depth, 0);
  }

  #elementsFrom(member: MemberShape, depth: number, from: number): void {
    for (let index = from; ; index += 1) {
      this.#countElement(depth + 1);
      this.#path.push(index);
      this.#shaped(member, depth + 1);
      this.#path.pop();
      if (!this.#hasNext(CLOSE_ARRAY)) return;
      if (depth === 0 && this.#list) this.#mark(this.#list, index + 1);
    }
  }

  #mark(list: MarkedList, index: number): void {
    const findings = this.#findings;
    if (!findings?.marks) return;
    addMark(findings.marks, {
      at: this.#at,
      list,
      index,
      innerElements: this.#innerElements,
      values: this.values,
      isWatched: findings.isWatched,
      unknown: findings.unknown,
      tagged: findings.tagged.length,
    });
  }

  #shapedObject(shape: Shape, depth: number): void {
    const start = this.#at;
    const { unknown } = this.#findings ?? {};
    let type: TypeShape | undefined;
    /** Members in front of the type. */
    let early: MemberShape[] | undefined;
    let { tag } = shape;
    this.#enter(depth);
    for (let hasMore = !this.#isEmpty(CLOSE_OBJECT); hasMore; hasMore = this.#hasNext(CLOSE_OBJECT)) {
      const name = this.#memberName(shape);
      if (name === TYPE_MEMBER) {
        // Parsers differ on which one counts.
        if (type) throw new JsonScanError('type: the member occurs twice.', this.#at, 'type');
        type = this.#type(shape, depth + 1);
      } else if (type?.isFree) this.#value(depth + 1);
      else if (typeof name === 'string' || type?.has(name) === false) {
        this.#compare(undefined, typeof name === 'string' ? name : name.name, depth + 1);
      } else {
        if (shape.types && !type && this.#peek() !== LETTER_N) early = [...(early ?? []), name];
        tag ??= name.objectTag;
        this.#compare(name, name.name, depth + 1);
      }
    }
    if (shape.types) this.#endTyped(type ?? shape.untyped, early, unknown);
    tag = (type ?? shape.untyped)?.tag ?? tag;
    if (tag) this.#report(tag, start);
  }

  /** `unknown`: what was unknown in front of the object. */
  #endTyped(type: TypeShape | undefined, early: readonly MemberShape[] = [], unknown: string | undefined): void {
    const isFree = type?.isFree === true;
    if (isFree && this.#findings) this.#findings.unknown = unknown;
    const wrong = isFree ? undefined : early.find((member) => type?.has(member) === false);
    if (!type || wrong) this.#reportUnknown(wrong?.name ?? 'type');
  }

  /** Reads a name and its colon. A string is the name of a member that the shape does not have. */
  #memberName(shape: Shape): MemberShape | string {
    const start = this.#at;
    const isEscaped = this.#string();
    const end = this.#at;
    this.#watch(start, isEscaped);
    this.#colon();
    if (!isEscaped) {
      const member = shape.members.at(this.#bytes, start + 1, end - 1);
      return member ?? this.#bytes.toString('utf8', start + 1, end - 1);
    }
    const name = String(valueAt(this.#bytes, { start, end }));
    return shape.members.get(name) ?? name;
  }

  /** Reads the value of `type`. Undefined for null, which is the same as none. */
  #type(shape: Shape, depth: number): TypeShape | undefined {
    const start = this.#at;
    if (this.#peek() === QUOTE) {
      this.#watch(start, this.#string());
      this.#countValue();
    } else this.#value(depth);
    const end = this.#at;
    const known = this.#bytes[start] === QUOTE ? shape.types?.at(this.#bytes, start + 1, end - 1) : undefined;
    if (known) return known;
    const value = valueAt(this.#bytes, { start, end });
    if (value === null) return undefined;
    const row = typeof value === 'string' ? (shape.types?.get(value) ?? shape.types?.get(undated(value))) : undefined;
    if (!row) this.#reportUnknown('type');
    return row ?? ANY_TYPE;
  }

  #reportUnknown(name?: string): void {
    if (!this.#findings || this.#findings.unknown !== undefined) return;
    this.#findings.unknown = pathText(name === undefined ? this.#path : [...this.#path, name]);
  }

  #report(tag: string, start: number): void {
    this.#findings?.tagged.push({ tag, path: pathText(this.#path), span: { start, end: this.#at } });
  }

  /** After an opening bracket: whether the closing one follows. */
  #isEmpty(closer: number): boolean {
    if (this.#peek() !== closer) return false;
    this.#at += 1;
    this.#countValue();
    return true;
  }

  /** After a value: reads a comma, or the closing bracket. */
  #hasNext(closer: number): boolean {
    this.#space();
    const byte = this.#take();
    if (byte !== COMMA && byte !== closer) throw this.#unexpected(-1);
    this.#space();
    return byte === COMMA;
  }

  #countValue(): void {
    this.values += 1;
    const { tokens } = this.#limits;
    if (this.values > tokens) throw new JsonLimitError(`The body has more than ${tokens} values.`, this.#at);
  }

  #enter(depth: number): void {
    const { depth: maxDepth } = this.#limits;
    if (depth + 1 >= maxDepth) throw new JsonLimitError(`The body is nested deeper than ${maxDepth} levels.`, this.#at);
    this.#at += 1;
    this.#space();
  }

  /** Skips one value of any depth. Iterative, because a million brackets must not need a million stack frames. */
  #value(base = 0): void {
    const closers: number[] = [];
    for (;;) {
      const byte = this.#peek();
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        const closer = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
        this.#enter(base + closers.length);
        if (this.#peek() !== closer) {
          closers.push(closer);
          if (closer === CLOSE_OBJECT) {
            this.#objects += 1;
            this.#name();
          } else this.#countElement(closers.length);
          continue;
        }
        this.#at += 1;
      } else {
        this.#scalar(byte);
      }
      this.#countValue();
      if (this.#closeFinished(closers)) return;
    }
  }

  /**
   * After a value: closes the containers that end here and moves to
   * the next value. True when the outermost one is complete.
   */
  #closeFinished(closers: number[]): boolean {
    for (;;) {
      const closer = closers[closers.length - 1];
      if (closer === undefined) return true;
      this.#space();
      const byte = this.#take();
      if (byte === COMMA) {
        this.#space();
        if (closer === CLOSE_OBJECT) this.#name();
        else this.#countElement(closers.length);
        return false;
      }
      if (byte !== closer) throw this.#unexpected(-1);
      closers.pop();
    }
  }

  #name(): void {
    const start = this.#at;
    if (isDigit(this.#bytes[start + 1])) this.isPlain = false;
    this.#watch(start, this.#string());
    this.#colon();
  }

  /** The string that was read is the name of a member or a type. */
  #watch(start: number, mayBeEscaped: boolean): void {
    const findings = this.#findings;
    if (!findings || findings.isWatched) return;
    const [bytes, end] = [this.#bytes, this.#at - 1];
    findings.isWatched =
      findings.shape.watched.at(bytes, start + 1, end) ??
      (mayBeEscaped && bytes.subarray(start, end).includes(BACKSLASH));
  }

  #scalar(byte: number | undefined): void {
    if (byte === QUOTE) this.#string();
    else if (byte === 0x74) this.#literal('true');
    else if (byte === 0x66) this.#literal('false');
    else if (byte === LETTER_N) this.#literal('null');
    else this.#number();
  }

  #literal(word: string): void {
    for (let n = 0; n < word.length; n += 1)
      if (this.#bytes[this.#at + n] !== word.charCodeAt(n)) throw this.#unexpected();
    this.#at += word.length;
  }

  #number(): void {
    const bytes = this.#bytes;
    const start = this.#at;
    let at = start;
    if (bytes[at] === MINUS) at += 1;
    at = bytes[at] === ZERO ? at + 1 : this.#digits(at);
    const integerEnd = at;
    if (bytes[at] === DOT) at = this.#digits(at + 1);
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      at += 1;
      at = this.#digits(bytes[at] === MINUS || bytes[at] === PLUS ? at + 1 : at);
    }
    this.#at = at;
    const isShort = at === integerEnd && at - start < EXACT_DIGITS && bytes[start] !== MINUS;
    if (!isShort && this.isPlain) this.isPlain = isWrittenSo(bytes.toString('latin1', start, at));
  }

  /** Offset after a run of digits; throws when there is none. */
  #digits(from: number): number {
    let at = from;
    while (isDigit(this.#bytes[at])) at += 1;
    if (at === from) throw this.#unexpected();
    return at;
  }

  /**
   * Skips a string; true when it may contain an escape. In a long one (base64) a native
   * search finds the end, thirty times faster, without checking the bytes.
   */
  #string(): boolean {
    const bytes = this.#bytes;
    if (this.#take() !== QUOTE) throw this.#unexpected(-1);
    let escaped = false;
    let at = this.#at;
    for (const near = at + WALK_BYTES; at < near; at += 1) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        this.#at = at + 1;
        return escaped;
      }
      if (byte === undefined) throw new JsonScanError('The body ends inside a string.', at);
      if (byte < 0x20) throw new JsonScanError('A string contains an unescaped control character.', at);
      if (byte === BACKSLASH) {
        escaped = true;
        at += 1;
      }
    }
    const quote = bytes.indexOf(QUOTE, at);
    const closing = isEscaped(bytes, quote, at) ? this.#closingQuote(at, quote) : quote;
    if (closing < 0) throw new JsonScanError('The body ends inside a string.', bytes.length);
    this.#at = closing + 1;
    return true;
  }

  /**
   * After an escaped quote of a string whose rest begins `from`; -1 when there is
   * none. In quoted code, a search in a string costs a tenth of one in bytes.
   */
  #closingQuote(from: number, escaped: number): number {
    const bytes = this.#bytes;
    let quote = escaped;
    while (quote >= 0) {
      if (quote + 1 >= this.#windowStart + this.#window.length) this.#moveWindow(quote + 1);
      const [text, start] = [this.#window, this.#windowStart];
      let found = text.indexOf('"', quote + 1 - start);
      while (found > 0 && text.charCodeAt(found - 1) === BACKSLASH && isEscaped(bytes, start + found, from))
        found = text.indexOf('"', found + 1);
      quote = found >= 0 ? start + found : bytes.indexOf(QUOTE, start + text.length);
      if (!isEscaped(bytes, quote, from)) return quote;
    }
    return -1;
  }

  #moveWindow(start: number): void {
    const length = Math.min(Math.max(this.#window.length * 2, MIN_WINDOW), MAX_WINDOW);
    this.#window = this.#bytes.toString('latin1', start, start + length);
    this.#windowStart = start;
  }

  #space(): void {
    for (;;) {
      const byte = this.#bytes[this.#at];
      // Most JSON has none.
      if (byte === undefined || byte > 0x20) return;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.#at += 1;
    }
  }

  #peek(): number | undefined {
    return this.#bytes[this.#at];
  }

  #take(): number | undefined {
    return this.#bytes[this.#at++];
  }

  #unexpected(offset = 0): JsonScanError {
    const at = this.#at + offset;
    return at >= this.#bytes.length
      ? new JsonScanError('The body ends in the middle of the JSON.', at)
      : new JsonScanError(`The body is not valid JSON: unexpected character at byte ${at}.`, at);
  }
}

const WALK_BYTES = 32;
/** They grow, because a scan of a small part needs little of it. */
const MIN_WINDOW = 1024;
const MAX_WINDOW = 64 * 1024;

/** Of an object whose type is not known: nothing else of it is reported. */
const ANY_TYPE: TypeShape = { isFree: false, tag: undefined, has: () => true };
/** Providers add a date to the type of a tool for each version of it. */
const undated = (type: string): string => type.replace(/_(?:\d{8}|\d{4}_\d{2}_\d{2})$/, '');

/** `messages[0].content[1].type` */
function pathText(path: readonly (string | number)[]): string {
  const [first = '', ...others] = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`));
  const begin = typeof path[0] === 'string' ? first.slice(1) : first;
  return [begin, ...others].join('').slice(0, MAX_PATH);
}
const MAX_PATH = 200;

/** Longer numbers may be rounded. */
const EXACT_DIGITS = 16;
/** Whether `JSON.stringify` writes the number in the same way. */
const isWrittenSo = (number: string): boolean => JSON.stringify(Number(number)) === number;

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= 0x39;

/**
 * Whether an odd number of backslashes is in front of the quote.
 * `from` is a character boundary, where the search began.
 */
function isEscaped(bytes: Buffer, quote: number, from: number): boolean {
  let at = quote;
  while (at > from && bytes[at - 1] === BACKSLASH) at -= 1;
  return (quote - at) % 2 === 1;
}

/**
 * JSON with exact tool arguments: `JSON.parse` rounds long numbers and
 * moves names such as "1" to the front; these values keep both.
 */
import { JSON_LIMITS } from '../rules/index.ts';
import { JsonScanError } from './json.ts';

/** Members that hold tool arguments or results as a value, in any dialect, and how that value begins. */
const ARGUMENT_MEMBERS: ReadonlyMap<string, string> = new Map([
  ['input', '{'],
  ['args', '{'],
  ['arguments', '{'],
  ['action', '{'],
  ['operation', '{'],
  ['functionResponse', '{'],
  ['function_response', '{'],
  ['partialArgs', '['],
]);

/** Declarations of tools and formats: readers expect plain numbers there, also in a property that is called `input`. */
const PLAIN_MEMBERS: ReadonlySet<string> = new Set([
  'tools',
  'functions',
  'schema',
  'responseSchema',
  'responseJsonSchema',
  'response_schema',
  'response_json_schema',
]);

/** Finds every number that `JSON.stringify` writes in another way and every name that it moves, and a few others. */
const MAY_CHANGE = /[\s:,[](?:-0[\s,\]}]|-?[\d.]*(?:[\d.]{16}|\.\d*0[\s,\]}]|[eE])|-?0\.0{6})|"\d+"\s*:/;

/**
 * Parses as `JSON.parse` does, with exact tool arguments. Beyond their limit a
 * client's body is rejected; a provider's, already paid for, gets plain ones.
 */
export const parseJson = (text: string, from: 'client' | 'provider' = 'provider'): unknown =>
  withExactArguments(text, JSON.parse(text), from);

/** The value of a text that may be no JSON: undefined then, which no JSON stands for. */
export function valueOfJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value of the text, which `JSON.parse` has read, with exact values inside tool arguments. */
export function withExactArguments(text: string, value: unknown, from: 'client' | 'provider' = 'provider'): unknown {
  if (!holdsArguments(value) || !MAY_CHANGE.test(text)) return value;
  const exact = readExact(text, false);
  if (typeof exact !== 'string') return exact.value;
  if (from === 'client' && exact === 'too many') throw new JsonScanError(TOO_MANY, text.length);
  return value;
}

/**
 * Iterative, because a provider's reply may be of any depth. A
 * search in the text takes half as long as `JSON.parse`.
 */
function holdsArguments(root: unknown): boolean {
  const open: unknown[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      for (const element of value) {
        if (typeof element === 'object' && element !== null) open.push(element);
      }
      continue;
    }
    for (const name in value) {
      const member = (value as Readonly<Record<string, unknown>>)[name];
      if (typeof member !== 'object' || member === null) continue;
      const opener = ARGUMENT_MEMBERS.get(name);
      if (opener !== undefined && opener === (Array.isArray(member) ? '[' : '{')) return true;
      open.push(member);
    }
  }
  return false;
}

const TOO_MANY =
  `The tool arguments in the body have more than ${JSON_LIMITS.exactValues} numbers that only their text holds ` +
  'exactly. Send fewer.';

/**
 * Parses tool arguments; undefined if they are not JSON, or so deep or
 * large that they could not be written again as they are.
 */
export function parseExact(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (!MAY_CHANGE.test(text) && !mayBeDeep(text)) return value;
    const exact = readExact(text, true);
    return typeof exact === 'string' ? undefined : exact.value;
  } catch {
    return undefined;
  }
}

/** Whether the value is a number kept by its text. */
export const isExactNumber = (value: unknown): boolean => typeof value === 'object' && rawJson.isRawJSON(value);

/** A copy that lists its members in the order of their definition, also later ones with names such as "1". */
export function orderedObject(members: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const ordered = new Proxy<Record<string, unknown>>({}, new MemberOrder(new Set()));
  for (const [name, value] of Object.entries(members)) define(ordered, name, value);
  return ordered;
}

/** Traps of a proxy: the names of its object in the order of their definition. */
class MemberOrder {
  readonly #names: Set<string | symbol>;

  constructor(names: Set<string | symbol>) {
    this.#names = names;
  }

  ownKeys(): (string | symbol)[] {
    return [...this.#names];
  }

  defineProperty(target: object, name: string | symbol, descriptor: PropertyDescriptor): boolean {
    this.#names.add(name);
    return Reflect.defineProperty(target, name, descriptor);
  }
}

/** An assignment to `__proto__` would change the prototype. */
function define(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}

/** True with more opening brackets than allowed levels, inside strings or not. `indexOf` searches natively. */
export function mayBeDeep(text: string): boolean {
  let count = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      count += 1;
      if (count > JSON_LIMITS.depth) return true;
    }
  }
  return false;
}

/** The types of TypeScript lack these two functions. */
const rawJson = JSON as unknown as { rawJSON(text: string): unknown; isRawJSON(value: unknown): boolean };

type Container = Record<string, unknown> | unknown[];

interface Frame {
  readonly value: Container;
  /** Name of the member that comes next. */
  name: string;
  readonly mode: Mode;
  /** Names in their order, from the first one on that `JSON.stringify` would move. */
  names?: Set<string>;
}
/** `exact` and `plain` hold for everything below; in `open` the name of a member decides. */
type Mode = 'open' | 'plain' | 'exact';

/**
 * Reads a text that `JSON.parse` has accepted, or names the limit
 * that it exceeds. Iterative, so depth costs no stack.
 */
function readExact(text: string, isExact: boolean): { readonly value: unknown } | 'too deep' | 'too many' {
  const cursor: Cursor = { text, at: 0, exactValues: 0 };
  const frames: Frame[] = [];
  for (;;) {
    const parent = frames.at(-1);
    const first = nextToken(cursor);
    let value: unknown;
    if (first === '{' || first === '[') {
      if (frames.length >= JSON_LIMITS.depth) return 'too deep';
      const frame = openFrame(first, parent, isExact);
      cursor.at += 1;
      const next = nextToken(cursor);
      if (next !== '}' && next !== ']') {
        if (first === '{') frame.name = readName(cursor);
        frames.push(frame);
        continue;
      }
      cursor.at += 1;
      value = frame.value;
    } else {
      value = readScalar(cursor, first, parent ? parent.mode === 'exact' : isExact);
    }
    const complete = closeFinished(cursor, frames, value);
    if (cursor.exactValues > JSON_LIMITS.exactValues) return 'too many';
    if (complete) return complete;
  }
}

interface Cursor {
  readonly text: string;
  at: number;
  /** Numbers and objects so far that need more than a plain value. */
  exactValues: number;
}

function openFrame(first: string, parent: Frame | undefined, isExact: boolean): Frame {
  const value: Container = first === '{' ? {} : [];
  if (parent) return { value, name: '', mode: modeBelow(parent, first) };
  return { value, name: '', mode: isExact ? 'exact' : 'open' };
}

function modeBelow({ mode, name, value }: Frame, first: string): Mode {
  if (mode !== 'open' || Array.isArray(value)) return mode;
  if (PLAIN_MEMBERS.has(name)) return 'plain';
  return ARGUMENT_MEMBERS.get(name) === first ? 'exact' : 'open';
}

/**
 * Adds a finished value to its container, and closes the containers that
 * end behind it. Returns the outermost when it ends.
 */
function closeFinished(cursor: Cursor, frames: Frame[], finished: unknown): { readonly value: unknown } | undefined {
  let value = finished;
  for (;;) {
    const frame = frames.at(-1);
    if (frame === undefined) return { value };
    add(frame, value);
    const separator = nextToken(cursor);
    cursor.at += 1;
    if (separator === ',') {
      nextToken(cursor);
      if (!Array.isArray(frame.value)) frame.name = readName(cursor);
      return undefined;
    }
    frames.pop();
    if (frame.names) cursor.exactValues += 1;
    value = frame.names ? new Proxy(frame.value, new MemberOrder(frame.names)) : frame.value;
  }
}

const ARRAY_INDEX = /^\d+$/;

function add(frame: Frame, value: unknown): void {
  const { name } = frame;
  if (Array.isArray(frame.value)) {
    frame.value.push(value);
    return;
  }
  if (frame.names) frame.names.add(name);
  else if (frame.mode === 'exact' && ARRAY_INDEX.test(name)) frame.names = new Set(Object.keys(frame.value)).add(name);
  define(frame.value, name, value);
}

function readName(cursor: Cursor): string {
  const name = readString(cursor);
  nextToken(cursor);
  cursor.at += 1;
  return name;
}

function readScalar(cursor: Cursor, first: string, isExact: boolean): unknown {
  if (first === '"') return readString(cursor);
  SCALAR.lastIndex = cursor.at;
  const token = SCALAR.exec(cursor.text)?.[0] ?? '';
  cursor.at += token.length;
  const value: unknown = JSON.parse(token);
  if (!isExact || typeof value !== 'number' || String(value) === token) return value;
  cursor.exactValues += 1;
  return rawJson.rawJSON(token);
}
const SCALAR = /[^\s,\]}]+/y;

function readString(cursor: Cursor): string {
  const { text, at } = cursor;
  let end = text.indexOf('"', at + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  cursor.at = end + 1;
  const content = text.slice(at + 1, end);
  return content.includes('\\') ? String(JSON.parse(text.slice(at, end + 1))) : content;
}

function isEscaped(text: string, quote: number): boolean {
  let at = quote;
  while (text[at - 1] === '\\') at -= 1;
  return (quote - at) % 2 === 1;
}

const SPACE: ReadonlySet<string | undefined> = new Set([' ', '\n', '\r', '\t']);

/** Moves to the next character that is not white space, and returns it. */
function nextToken(cursor: Cursor): string {
  while (SPACE.has(cursor.text[cursor.at])) cursor.at += 1;
  return cursor.text[cursor.at] ?? '';
}

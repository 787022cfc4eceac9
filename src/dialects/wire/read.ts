/**
 * Readers for JSON. `need` and `read` forms reject a client's field with
 * its path; `maybe` forms, for upstream bodies, never fail.
 */
import { failAt, parseExact, withExactArguments } from '../../core/index.ts';
import type { JsonObject } from '../hub/types.ts';

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const maybeObject = (value: unknown): JsonObject => (isObject(value) ? value : EMPTY);
export const maybeList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : NOTHING);
export const maybeString = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
export const maybeNumber = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** Returns a token count; undefined ("not reported") unless it is a non-negative integer. */
export const maybeCount = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

const EMPTY: JsonObject = Object.freeze({});
const NOTHING: readonly unknown[] = Object.freeze([]);

/** `null` counts as absent: SDKs send it for options that are not set. */
export const isGiven = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null;

export function wrongType(path: string, expected: string, value: unknown): never {
  throw failAt('invalid_request', path, `expected ${expected}, got ${typeName(value)}.`);
}

export function wrongValue(path: string, message: string): never {
  throw failAt('invalid_value', path, message);
}

export function unsupported(path: string, message: string): never {
  throw failAt('unsupported_parameter', path, message);
}

export type Reader<T> = (value: unknown, path: string) => T;

export const needObject: Reader<JsonObject> = (value, path) =>
  isObject(value) ? value : wrongType(path, 'an object', value);
export const needList: Reader<readonly unknown[]> = (value, path) =>
  Array.isArray(value) ? value : wrongType(path, 'an array', value);
export const needString: Reader<string> = (value, path) =>
  typeof value === 'string' ? value : wrongType(path, 'a string', value);

/** Reads `body[name]`; undefined if it is absent. */
export const optional = <T>(body: JsonObject, name: string, read: Reader<T>, at = ''): T | undefined =>
  isGiven(body[name]) ? read(body[name], at ? `${at}.${name}` : name) : undefined;

export const readNumber: Reader<number> = (value, path) =>
  typeof value === 'number' && Number.isFinite(value) ? value : wrongType(path, 'a number', value);
export const readCount: Reader<number> = (value, path) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? value
    : wrongType(path, 'a whole number', value);
export const readBoolean: Reader<boolean> = (value, path) =>
  typeof value === 'boolean' ? value : wrongType(path, 'true or false', value);
export const oneOf =
  <T extends string>(values: readonly T[]): Reader<T> =>
  (value, path) =>
    values.find((one) => one === value) ?? wrongValue(path, `expected one of ${values.join(', ')}.`);

export const between =
  (min: number, max: number): Reader<number> =>
  (value, path) => {
    const number = readNumber(value, path);
    return number >= min && number <= max ? number : wrongValue(path, `must be between ${min} and ${max}.`);
  };
export const readStrings: Reader<string[]> = (value, path) =>
  needList(value, path).map((one, n) => needString(one, `${path}[${n}]`));
export const readStringMap: Reader<Record<string, string>> = (value, path) =>
  Object.fromEntries(
    Object.entries(needObject(value, path)).map(([name, text]) => [name, needString(text, `${path}.${name}`)]),
  );

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'an array';
  return `${/^[aeiou]/.test(typeof value) ? 'an' : 'a'} ${typeof value}`;
}

/** Looks up an untrusted key, which may be a member of `Object.prototype`. */
export const lookUp = <T>(table: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

/** A text, or the texts of a list of parts. */
export const joinedTexts = (content: unknown, separator = ''): string =>
  maybeString(content) ??
  maybeList(content)
    .flatMap((part) => maybeString(maybeObject(part).text) ?? [])
    .join(separator);

/** Rows by an untrusted name, which may be that of a member of `Object.prototype`. */
export const tableOf = <T>(rows: Readonly<Record<string, T>>): ReadonlyMap<string, T> => new Map(Object.entries(rows));

/** Copies an object without its undefined members: wire bodies never have them, and tests compare exactly. */
export function compact<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const result: Record<string, unknown> = {};
  // `for in` instead of `Object.entries`, whose pairs cost more than
  // the copy. Callers pass literals, which inherit nothing.
  for (const name in value) if (value[name] !== undefined) result[name] = value[name];
  return result as { [K in keyof T]: Exclude<T[K], undefined> };
}

/**
 * Parses an event; undefined if it is no JSON object. Where
 * `holdsArguments`, tool arguments are read again for exact numbers.
 */
export function parseEvent(text: string, holdsArguments: (event: JsonObject) => boolean): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    return holdsArguments(value) ? (withExactArguments(text, value) as JsonObject) : value;
  } catch {
    return undefined;
  }
}

/**
 * Parses tool arguments as an object, with numbers and order as the model wrote them.
 * Other text stays readable, where the messages provider recommends.
 */
export function parseArgs(args: string): JsonObject {
  if (args.trim() === '') return EMPTY;
  const value = parseExact(args);
  if (isObject(value)) return value;
  return value === null ? EMPTY : { INVALID_JSON: args };
}

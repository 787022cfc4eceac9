/**
 * Reading other people's JSON: the fields we use, leniently; what is wrong is refused under its path in the caller's own
 * words. Upstream answers are read with the `maybe` forms only, since a provider's odd field must not fail a call.
 */
import { fail } from '../../core/index.ts';
import type { JsonObject } from '../hub/types.ts';

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const maybeObject = (value: unknown): JsonObject => (isObject(value) ? value : EMPTY);
export const maybeList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : NOTHING);
export const maybeString = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
export const maybeNumber = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
export const maybeBoolean = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined);

/** A token count: whole and not negative; anything else is "not reported". */
export const maybeCount = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

const EMPTY: JsonObject = Object.freeze({});
const NOTHING: readonly unknown[] = Object.freeze([]);

/** `null` counts as absent everywhere: SDKs send it for options that were not set. */
export const given = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null;

export function wrongType(path: string, expected: string, value: unknown): never {
  throw fail('invalid_request', `${path}: expected ${expected}, got ${nameOf(value)}.`, { param: path });
}

export function wrongValue(path: string, message: string): never {
  throw fail('invalid_value', `${path}: ${message}`, { param: path });
}

export function unsupported(path: string, message: string): never {
  throw fail('unsupported_parameter', `${path}: ${message}`, { param: path });
}

export function needObject(value: unknown, path: string): JsonObject {
  return isObject(value) ? value : wrongType(path, 'an object', value);
}
export function needList(value: unknown, path: string): readonly unknown[] {
  return Array.isArray(value) ? value : wrongType(path, 'an array', value);
}
export function needString(value: unknown, path: string): string {
  return typeof value === 'string' ? value : wrongType(path, 'a string', value);
}

type Reader<T> = (value: unknown, path: string) => T;

/** `body.name` read by `read`, or undefined when it is absent. */
export const optional = <T>(body: JsonObject, name: string, read: Reader<T>, at = ''): T | undefined =>
  given(body[name]) ? read(body[name], at ? `${at}.${name}` : name) : undefined;

export const aNumber: Reader<number> = (value, path) =>
  typeof value === 'number' && Number.isFinite(value) ? value : wrongType(path, 'a number', value);
export const aCount: Reader<number> = (value, path) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? value
    : wrongType(path, 'a whole number', value);
export const aBoolean: Reader<boolean> = (value, path) =>
  typeof value === 'boolean' ? value : wrongType(path, 'true or false', value);
export const oneOf =
  <T extends string>(words: readonly T[]): Reader<T> =>
  (value, path) =>
    words.find((word) => word === value) ?? wrongValue(path, `expected one of ${words.join(', ')}.`);

export const between =
  (least: number, most: number): Reader<number> =>
  (value, path) => {
    const number = aNumber(value, path);
    return number >= least && number <= most ? number : wrongValue(path, `must be between ${least} and ${most}.`);
  };
export const strings: Reader<string[]> = (value, path) =>
  needList(value, path).map((one, n) => needString(one, `${path}[${n}]`));
export const stringMap: Reader<Record<string, string>> = (value, path) =>
  Object.fromEntries(
    Object.entries(needObject(value, path)).map(([name, text]) => [name, needString(text, `${path}.${name}`)]),
  );

const nameOf = (value: unknown): string =>
  value === null
    ? 'null'
    : value === undefined
      ? 'nothing'
      : Array.isArray(value)
        ? 'an array'
        : `${/^[aeiou]/.test(typeof value) ? 'an' : 'a'} ${typeof value}`;

/** A look-up by a word of somebody else's, which may name something that every object has. */
export const own = <T>(table: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined;

/** An object without its undefined members: wire bodies never carry them, and exact equality in tests depends on it. */
export function compact<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const result: Record<string, unknown> = {};
  // Not `Object.entries`, whose pairs cost more than the copy; these are literals, which inherit nothing.
  for (const name in value) if (value[name] !== undefined) result[name] = value[name];
  return result as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** Undefined for text that is no JSON object. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Tool arguments as an object; broken or non-object JSON yields `{}`, which targets with typed input require. */
export const parseArgs = (args: string): JsonObject => parseObject(args) ?? EMPTY;

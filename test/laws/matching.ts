/** Partial matching of JSON: expected members must match, other members are ignored. */
import assert from 'node:assert/strict';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Lists must have the same length; `{"$match": "..."}` is a regular expression for a string. */
export function matches(actual: unknown, expected: unknown): boolean {
  if (isObject(expected) && typeof expected.$match === 'string') {
    return typeof actual === 'string' && new RegExp(expected.$match, 's').test(actual);
  }
  if (Array.isArray(expected)) {
    return (
      Array.isArray(actual) && actual.length === expected.length && expected.every((one, n) => matches(actual[n], one))
    );
  }
  if (!isObject(expected)) return Object.is(actual, expected);
  return isObject(actual) && Object.entries(expected).every(([name, one]) => matches(actual[name], one));
}

export function assertMatches(actual: unknown, expected: unknown, what: string): void {
  if (!matches(actual, expected)) assert.deepEqual(actual, expected, `${what} does not match`);
}

/** Returns the value at a path such as `messages[0].content`. */
export function at(value: unknown, path: string): unknown {
  let node = value;
  for (const step of path.match(/[^.[\]]+/g) ?? []) {
    node = typeof node === 'object' && node !== null ? (node as Record<string, unknown>)[step] : undefined;
  }
  return node;
}

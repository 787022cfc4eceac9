/** Zod issues as lines for people: the path, the value found and the value expected. Never repeats a secret. */
import type { z } from 'zod';

/**
 * One line per issue, such as `amount: found 5, expected text; put it in quotes: "5"`. `whole` names the value itself.
 */
export function issuesOf({ issues }: z.ZodError, value: unknown, whole = 'the file'): string[] {
  const lines = issues.slice(0, MAX_LINES).flatMap((issue) => describe(issue, value, whole));
  const more = lines.length + Math.max(0, issues.length - MAX_LINES) - MAX_LINES;
  return more > 0 ? [...lines.slice(0, MAX_LINES), `and ${more} more`] : lines;
}

/** Nobody reads more, and thousands of them would block the event loop. */
const MAX_LINES = 200;

function describe(issue: z.core.$ZodIssue, value: unknown, whole: string): string[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => `${pathText([...issue.path, name], whole)}: no such field`);
  const path = pathText(issue.path, whole);
  const found = valueAt(value, issue.path);
  if (found === undefined) return [`${path}: missing, expected ${expectation(issue)}`];
  const isSecret = issue.path.some((step) => SECRET.has(step));
  return [
    `${path}: found ${shown(issue, found, isSecret)}, expected ${expectation(issue)}${quoteAdvice(issue, found)}`,
  ];
}

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (at, step) => (typeof at === 'object' && at !== null ? Reflect.get(at, step) : undefined),
    value,
  );

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return TYPE_NAMES[issue.expected] ?? `a value of type ${issue.expected}`;
  if (issue.code === 'invalid_value') return `one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'too_small') return `at least ${issue.minimum}${UNITS[issue.origin] ?? ''}`;
  if (issue.code === 'too_big') return `at most ${issue.maximum}${UNITS[issue.origin] ?? ''}`;
  return issue.message;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' };

/** YAML reads an unquoted price, id or key of digits as a number. */
const quoteAdvice = (issue: z.core.$ZodIssue, found: unknown): string =>
  issue.code === 'invalid_type' && issue.expected === 'string' && ['number', 'boolean'].includes(typeof found)
    ? '; put it in quotes'
    : '';

const pathText = (path: readonly PropertyKey[], whole: string): string =>
  path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text ? `${text}.${String(step)}` : String(step);
  }, '') || whole;

const SECRET = new Set<PropertyKey>([
  'key',
  'api_key',
  'secret_key',
  'access_key',
  'proxy',
  'password',
  'current',
  'token',
]);
const CONTAINERS = new Set(['object', 'array', 'record']);
const MAX_SHOWN_CHARS = 80;

/** Hides secrets, and values that may contain one: an object, or text in place of an object. */
function shown(issue: z.core.$ZodIssue, found: unknown, isSecret: boolean): string {
  if (found === null) return 'null';
  if (Array.isArray(found)) return 'a list';
  if (typeof found === 'object') return 'an object';
  if (isSecret) return `${TYPE_NAMES[typeof found] ?? 'a value'} (not shown)`;
  if (typeof found === 'string' && issue.code === 'invalid_type' && CONTAINERS.has(issue.expected)) return 'text';
  return JSON.stringify(found).slice(0, MAX_SHOWN_CHARS);
}

/**
 * Query parameters of the admin API as zod schemas, and their reader. OpenAPI and docs/endpoints.md are derived from
 * the schemas.
 */
import { z } from 'zod';
import { issuesOf } from '../../catalog/setup/index.ts';
import { parseNanos } from '../../core/index.ts';
import { rejection } from './request-body.ts';

const MAX_CHARS = 512;
const text = z
  .string()
  .max(MAX_CHARS)
  .regex(/^\P{Cc}*$/u, 'text without control characters');

const filter = (description: string) => text.describe(description).optional();

export const inState = <const T extends readonly string[]>(objects: string, states: T) =>
  z
    .enum(states)
    .describe(`of ${objects}: ${states.map((state) => `\`${state}\``).join(', ')}; all by default`)
    .optional();

const STATUS = /^[1-5](?:xx|\d\d)$/;

/** A status, or a class of them such as 5xx, as the first and the last status. */
const status = text
  .transform((value, context): readonly [number, number] => {
    if (!STATUS.test(value)) context.addIssue('an HTTP status such as 429, or a class of them such as 5xx');
    return value.endsWith('xx')
      ? [Number(value[0]) * 100, Number(value[0]) * 100 + 99]
      : [Number(value), Number(value)];
  })
  .describe('with this HTTP status, or of a class such as `5xx`')
  .optional();

export const param = {
  user: filter('of this user'),
  key: filter('of this key (`key_...`)'),
  model: filter('of this model'),
  group: filter('of this group'),
  account: filter('of this upstream account'),
  operation: filter('of this operation, such as messages.create'),
  name: filter('of this name; `*` stands for any text'),
  task: filter('of this task (`task_...`)'),
  host: filter('of this host, with its port unless it is 443'),
  code: filter('with this error code, such as rate_limit_exceeded, or rate_*'),
  status,
  request_id: filter('of this request (`req_...`)'),
  action: filter('of this kind, such as credit.booked'),
  subject: filter('of this object, such as user:ana'),
  text: filter('a part of an id or a name; an empty one finds the first of each kind'),
  // `periodOf` of the ledger validates dates, as for GET /v1/usage.
  start_date: filter('first UTC day, such as 2030-01-31; by default the last 30 days up to `end_date`'),
  end_date: filter('last UTC day; by default today. At most 366 days'),
  format: z
    .enum(['json', 'csv'])
    .default('json')
    .describe('`json` (default) or `csv`; a CSV has every row, not a page'),
};

export const params = <const N extends keyof typeof param>(...names: readonly N[]) =>
  Object.fromEntries(names.map((name) => [name, param[name]])) as Pick<typeof param, N>;

const flag = (description: string) => z.enum(['true', 'false']).describe(description).optional();

export const flags = {
  dry_run: flag('`true` reports what would change and changes nothing'),
  prune: flag('`true` also removes objects that the document does not name'),
  confirm: z
    .string()
    .regex(/^\d{1,9}$/, 'a number of objects')
    .describe(
      'how many objects a prune removes, where that is more than it keeps; otherwise it gets 409 with the number',
    )
    .optional(),
  create_only: flag('`true` rejects a document that names an object that exists, with 409'),
  accept_repricing: flag('`true` accepts new prices of models that the document does not name'),
};

const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d))?$/;

/** A date without a time is its midnight in UTC. */
const time = (description: string) =>
  text
    .transform((value, context): Date => {
      const at = new Date(TIME.test(value) ? value : Number.NaN);
      if (Number.isNaN(at.getTime())) context.addIssue('a time such as 2030-01-31T00:00:00Z');
      return at;
    })
    .describe(description)
    .optional();

export const period = {
  start: time('from this time on, such as 2030-01-31T00:00:00Z or 2030-01-31'),
  end: time('before this time'),
};

/** A bigint column cannot be compared with a larger number. */
const MAX_NANOS = 10n ** 18n;

export const money = (description: string) =>
  text
    .transform((value, context): bigint => {
      const nanos = parseNanos(value);
      if (nanos !== undefined && nanos <= MAX_NANOS && nanos >= -MAX_NANOS) return nanos;
      context.addIssue('a decimal amount such as 1.25');
      return z.NEVER;
    })
    .describe(description)
    .optional();

/** Comma-separated values, each at most once. */
export const listOf = <T extends string>(values: readonly T[]) =>
  text.transform((value, context): T[] => {
    const given = value.split(',').map((item) => item.trim());
    const known = given.flatMap((item) => values.find((own) => own === item) ?? []);
    if (new Set(known).size < given.length)
      context.addIssue(`some of ${values.join(', ')}, separated by commas, each once`);
    return known;
  });

/** Rejects unknown and repeated parameters. An empty value counts as absent. */
export function readQuery<Q extends z.ZodObject>(query: string, schema: Q): z.output<Q> {
  const given: Record<string, string | undefined> = Object.create(null);
  for (const [name, value] of new URLSearchParams(query)) {
    if (name in given) throw rejectParameter(name, 'found it more than once, expected it once');
    given[name] = value || undefined;
  }
  const result = schema.safeParse({ ...given });
  if (result.success) return result.data;
  const unknown = result.error.issues.find((issue) => issue.code === 'unrecognized_keys');
  if (unknown) throw rejectParameter(unknown.keys[0] ?? '', knownText(Object.keys(schema.shape)));
  throw rejection(issuesOf(result.error, given, 'the query'), 'invalid_value');
}

const knownText = (known: readonly string[]): string =>
  known.length > 0 ? `unknown parameter, expected some of ${known.join(', ')}` : 'unknown parameter, expected none';

const MAX_SHOWN_CHARS = 40;

function rejectParameter(name: string, problem: string) {
  const shown = name.slice(0, MAX_SHOWN_CHARS);
  return rejection([`${shown}: ${problem}`], 'invalid_value', shown);
}

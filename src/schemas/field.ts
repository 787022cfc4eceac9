/** Formats of fields, and what docs/config.md says of a field of the configuration file. */
import { z } from 'zod';
import { parseNanos, parsePpm, parseRange } from '../core/index.ts';

export interface FieldNote {
  /** As it is written in the file. */
  readonly example: string;
  /** What a new object has without the field. Absent for required fields, and where nothing is the default. */
  readonly fallback?: string;
  readonly unit?: string;
}

/** A field of the configuration file. The description goes into openapi.json too. */
export const fileField = <S extends z.ZodType>(schema: S, description: string, note: FieldNote): S =>
  schema.meta({ description, ...note });

/** An object with a name in openapi.json. */
export const named = <S extends z.core.$ZodLooseShape>(id: string, shape: S) => z.strictObject(shape).meta({ id });

export const DOLLARS = 'US dollars';
export const PER_MILLION = 'US dollars per million tokens';

export const id = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'lower-case letters, digits, dot, dash and underscore, at most 64');

/** The largest value of a bigint column. */
const MAX_NANOS = 2n ** 63n - 1n;
const MONEY_EXPECTED = 'a decimal amount in quotes, for example "1.25"';
const moneyFrom = (min: bigint) =>
  z
    .string()
    .refine((text) => {
      const nanos = parseNanos(text);
      return nanos !== undefined && nanos >= min && nanos <= MAX_NANOS;
    }, MONEY_EXPECTED)
    .meta({ description: MONEY_EXPECTED, kind: 'decimal amount', examples: ['1.25'] });
export const moneyText = moneyFrom(0n);
export const signedMoney = moneyFrom(-MAX_NANOS);

const FACTOR_EXPECTED = 'a decimal factor in quotes, for example "1.5"';
export const factor = z
  .string()
  .refine((text) => parsePpm(text) !== undefined, FACTOR_EXPECTED)
  .meta({ description: FACTOR_EXPECTED, kind: 'decimal factor', examples: ['1.5'] });

export const httpUrl = z.url({ protocol: /^https?$/, error: 'an http:// or https:// URL' });

const RANGE_EXPECTED = 'an IP address or a network such as 10.0.0.0/8';
export const range = z
  .string()
  .refine((text) => parseRange(text) !== undefined, RANGE_EXPECTED)
  .describe(RANGE_EXPECTED);

/** The largest value of an integer column. */
export const MAX_INTEGER = 2 ** 31 - 1;
export const count = z.number().int().positive().max(MAX_INTEGER);

export const time = z.iso.datetime({ offset: true, error: 'a time such as 2030-01-31T00:00:00Z' });

export const email = z.email({ error: 'an e-mail address' });

export const line = (max: number, description: string) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((text) => text.trim() !== '' && !/\p{Cc}/u.test(text), 'one line of text')
    .describe(description);

/** Null removes what is stored; an absent member keeps it. */
export const removable = <S extends z.core.$ZodLooseShape>(shape: S): { [K in keyof S]: z.ZodNullable<S[K]> } =>
  Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, z.nullable(schema)])) as {
    [K in keyof S]: z.ZodNullable<S[K]>;
  };

export const text = z.string();
export const someText = text.nullable();
export const integer = z.int();
export const someInteger = integer.nullable();
export const flag = z.boolean();
export const moment = z.iso.datetime();
export const someMoment = moment.nullable();
export const dollars = text.meta({ description: 'exact decimal dollars', examples: ['12.5'] });
export const someDollars = dollars.nullable();
export const factorText = text.describe('decimal factor');
export const milliseconds = z.number().describe('milliseconds');
export const someMilliseconds = z.number().nullable().describe('milliseconds');
export const seconds = integer.describe('Unix time in seconds');
/** Content that a provider, a caller or the configuration decides on. */
export const anyObject = z.record(text, z.unknown());

export const list = <S extends z.ZodType>(item: S) => z.array(item).readonly();
export const texts = list(text);

/** An object by itself names its kind; as a row of a list it does not. */
export const kind = <K extends string>(name: K) => ({ object: z.literal(name).optional() });
export const USD = { currency: z.literal('USD') };
export const DAYS = { period: z.strictObject({ start: text, end: text, timezone: text }) };

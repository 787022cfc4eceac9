/** Rate and spend limits of keys and users. A limit that is not set is absent. */
import { z } from 'zod';
import type { StoredLimits } from '../core/index.ts';
import * as f from './field.ts';

const limit = <S extends z.ZodType>(schema: S, about: string, example: string, unit: string) =>
  f.fileField(schema.optional(), about, { unit, example, fallback: 'no limit' });

/** `whose`: what the limits apply to. */
export const limitFields = (whose: string) => ({
  rpm: limit(f.count, `requests per minute of ${whose}`, '600', 'requests'),
  tpm: limit(f.count, `tokens per minute of ${whose}`, '200000', 'tokens'),
  concurrency: limit(f.count, `open requests of ${whose}`, '8', 'requests'),
  spend_day: limit(f.moneyText, `charges of ${whose} per UTC day`, '"5"', f.DOLLARS),
  spend_month: limit(f.moneyText, `charges of ${whose} per UTC month`, '"50"', f.DOLLARS),
});

/** Those of a key; only it has a limit for its life. */
export const keyLimitFields = {
  ...limitFields('the key'),
  spend_total: limit(
    f.moneyText,
    'charges of the key in its whole life, with those of the keys that it replaces',
    '"20"',
    f.DOLLARS,
  ),
};

export const OF_USER = 'all keys of the user together';

const LIMIT_NAMES = Object.keys(keyLimitFields) as (keyof StoredLimits)[];

type LimitChanges = { readonly [K in keyof StoredLimits]?: StoredLimits[K] | null | undefined };

/** Null removes a limit, an absent one keeps it. */
export const mergeLimits = (stored: StoredLimits, changes: LimitChanges): StoredLimits =>
  Object.fromEntries(
    LIMIT_NAMES.map((name) => [name, changes[name] === undefined ? stored[name] : changes[name]]).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  );

/** The members beside the limits. */
export const withoutLimits = <T extends LimitChanges>(entry: T): Omit<T, keyof StoredLimits> =>
  Object.fromEntries(Object.entries(entry).filter(([name]) => !LIMIT_NAMES.some((limit) => limit === name))) as Omit<
    T,
    keyof StoredLimits
  >;

/** With the amount spent under each spend limit. */
export const spentFields = (whose: string) => ({
  ...limitFields(whose),
  spent_day: f.dollars.optional(),
  spent_month: f.dollars.optional(),
});
export const keySpentFields = {
  ...keyLimitFields,
  spent_day: f.dollars.optional(),
  spent_month: f.dollars.optional(),
  spent_total: f.dollars.optional(),
};

const LimitsReport = z.strictObject(keySpentFields);
export type LimitsReport = z.infer<typeof LimitsReport>;
export type ShownLimits = Pick<LimitsReport, keyof typeof keyLimitFields>;

/** Rate and spend limits of keys and users. A limit that is not set is absent. */
import { z } from 'zod';
import type { StoredLimits } from '../core/index.ts';
import { count, DOLLARS, dollars, fileField, moneyText } from './field.ts';

const NONE = 'no limit';

/** `whose`: what the limits apply to. */
export const limitFields = (whose: string) => ({
  rpm: fileField(count.optional(), `requests per minute of ${whose}`, {
    unit: 'requests',
    example: '600',
    fallback: NONE,
  }),
  tpm: fileField(count.optional(), `tokens per minute of ${whose}`, {
    unit: 'tokens',
    example: '200000',
    fallback: NONE,
  }),
  concurrency: fileField(count.optional(), `open requests of ${whose}`, {
    unit: 'requests',
    example: '8',
    fallback: NONE,
  }),
  spend_day: fileField(moneyText.optional(), `charges of ${whose} per UTC day`, {
    unit: DOLLARS,
    example: '"5"',
    fallback: NONE,
  }),
  spend_month: fileField(moneyText.optional(), `charges of ${whose} per UTC month`, {
    unit: DOLLARS,
    example: '"50"',
    fallback: NONE,
  }),
});

export const OF_USER = 'all keys of the user together';
export const OF_KEY = 'the key';

const LIMIT_NAMES = Object.keys(limitFields(OF_KEY)) as (keyof StoredLimits)[];

type LimitChanges = { readonly [K in keyof StoredLimits]?: StoredLimits[K] | null | undefined };

/** Null removes a limit, an absent one keeps it. */
export const mergeLimits = (stored: StoredLimits, changes: LimitChanges): StoredLimits =>
  Object.fromEntries(
    LIMIT_NAMES.map((name) => [name, changes[name] === undefined ? stored[name] : changes[name]]).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  );

/** The members beside the limits. */
export const withoutLimits = <T extends LimitChanges>({ rpm, tpm, concurrency, spend_day, spend_month, ...rest }: T) =>
  rest;

/** With the amount spent under each spend limit. */
export const spentFields = (whose: string) => ({
  ...limitFields(whose),
  spent_day: dollars.optional(),
  spent_month: dollars.optional(),
});

const LimitsReport = z.strictObject(spentFields(OF_USER));
export type LimitsReport = z.infer<typeof LimitsReport>;
export type ShownLimits = Pick<LimitsReport, keyof ReturnType<typeof limitFields>>;

/** Limits of keys and users in change requests: the fields of a configuration file; null removes a limit, an absent field keeps it. */
import type { StoredLimits } from '../core/index.ts';
import { KeyEntry } from '../setup/index.ts';

const { rpm, tpm, concurrency, spend_day, spend_month } = KeyEntry.shape;

export const limitChanges = {
  rpm: rpm.nullable(),
  tpm: tpm.nullable(),
  concurrency: concurrency.nullable(),
  spend_day: spend_day.nullable(),
  spend_month: spend_month.nullable(),
};

type LimitChanges = { [K in keyof StoredLimits]?: StoredLimits[K] | null | undefined };
const NAMES = Object.keys(limitChanges) as (keyof StoredLimits)[];

export const mergeLimits = (stored: StoredLimits, changes: LimitChanges): StoredLimits =>
  Object.fromEntries(
    NAMES.map((name) => [name, changes[name] === undefined ? stored[name] : changes[name]]).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  );

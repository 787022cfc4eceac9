/** Limits of keys and users in bodies: the fields of a configuration, where null takes one away and what is absent stays. */
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

export const namesLimits = (given: LimitChanges): boolean => NAMES.some((name) => given[name] !== undefined);

export const changedLimits = (old: StoredLimits, given: LimitChanges): StoredLimits =>
  Object.fromEntries(
    NAMES.map((name) => [name, given[name] === undefined ? old[name] : given[name]]).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  );

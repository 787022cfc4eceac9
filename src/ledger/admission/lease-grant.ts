/** How much of a wallet one lease takes. The database computes the same in `takeLease`; a test compares the two. */
import type { Nanos } from '../../core/index.ts';

export interface LeaseNeed {
  /** What the first waiting call needs, the first two, the first three, and so on. Empty when none waits. */
  readonly needs: readonly Nanos[];
  /** What to lease beyond the need. */
  readonly ahead: Nanos;
  /** Amounts ahead are multiples of this. Fractions on several replicas would add up to calls that none of them can admit. */
  readonly unit: Nanos;
  /** What this replica spends from the wallet in the time that leases must last without the database. */
  readonly recent: Nanos;
}

/** The part of a wallet that one lease may take ahead of need, so that other replicas find something too. */
export const PART = 8n;
/** The same up to what the replica spent lately: replicas that share a wallet also share its spending. */
export const RECENT_PART = 2n;

/**
 * When an eighth of what is available covers the need, or up to a half that the replica will spend soon, grants all of it and some ahead, at
 * most that part. Otherwise grants exactly what the first waiting calls need, as many as fit, so that no money is stranded.
 */
export function grantOf(available: Nanos, { needs, ahead, unit, recent }: LeaseNeed): Nanos {
  const needed = needs.at(-1) ?? 0n;
  const part = max(available / PART, min(recent, available / RECENT_PART));
  if (part > needed) return needed + (min(ahead, part - needed) / unit) * unit;
  return needs.reduce((top, need) => (need <= available && need > top ? need : top), 0n);
}

const max = (a: Nanos, b: Nanos): Nanos => (a > b ? a : b);
const min = (a: Nanos, b: Nanos): Nanos => (a < b ? a : b);

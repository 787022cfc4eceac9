/**
 * Holds that the wallet covers only after replicas have returned what they lease and do not use.
 * They have wishes as calls have, in the same order.
 */
import type { Clock, Nanos } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { databaseLeases, type LeaseStore } from './lease-queries.ts';
import { balanceUnavailable } from './wallet-state.ts';
import { WISH_MS, WISH_TURN_MS } from './wishes.ts';

export interface HoldNeed {
  readonly userId: string;
  readonly nanos: Nanos;
  /** Of the hold, and the owner of the wish. */
  readonly reference: string;
  /** The error for a balance that does not cover the need, wherever its money is. */
  readonly refusal: (available: Nanos) => Error;
}

type Attempt<T> = () => Promise<T | 'short'>;

/** Calls `attempt`, which holds, until it does not find the balance short. */
export const holdOnceCovered = <T>(
  { db, clock }: { readonly db: Db; readonly clock: Clock },
  need: HoldNeed,
  attempt: Attempt<T>,
): Promise<T> => wishUntilHeld({ store: databaseLeases(db), clock }, need, attempt);

interface Wishing {
  readonly store: Pick<LeaseStore, 'wish' | 'withdraw'>;
  readonly clock: Clock;
}

/** The same with a ledger that may be simulated. */
export async function wishUntilHeld<T>({ store, clock }: Wishing, need: HoldNeed, attempt: Attempt<T>): Promise<T> {
  const { userId, nanos, reference: owner, refusal } = need;
  const begun = clock.elapsed();
  let isNew = true;
  try {
    for (;;) {
      const done = await attempt();
      if (done !== 'short') return done;
      for (let isReady = false; !isReady; isNew = false) {
        if (!isNew) await new Promise<void>((resolve) => void clock.after(WISH_TURN_MS, resolve));
        const outlook = await store.wish({ userId, owner, nanos, isNew });
        if (!outlook.isPayable) throw refusal(outlook.available);
        if (outlook.isFull || clock.elapsed() - begun > WISH_MS) throw balanceUnavailable();
        isReady = outlook.isReady;
      }
    }
  } finally {
    if (!isNew) await store.withdraw({ userId, owner }).catch(() => {});
  }
}

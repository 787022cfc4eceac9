/** GET /v1/usage (G 4.7): balance, limits and counts of the key's user, from roll-ups only. Works with an empty balance. */
import type { Clock } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import { balanceReport, limitsReport, periodOf, usageReport } from '../../ledger/index.ts';
import { type Db, snapshot } from '../../platform/db/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';

export interface UsageServices {
  readonly db: Db;
  readonly clock: Clock;
}

export async function getUsage({ db, clock }: UsageServices, call: Call, { key, group }: Caller): Promise<void> {
  const query = Object.fromEntries(new URLSearchParams(call.query));
  const period = periodOf(query, clock.now());
  // One snapshot: usage that is booked in between must not show in one of the reports only.
  const { balance, limits, report } = await snapshot(db, async (tx) => ({
    balance: await balanceReport(tx, key.userId),
    limits: await limitsReport(tx, key, clock.now()),
    report: await usageReport(tx, key.userId, period),
  }));
  sendJson(call, 200, {
    object: 'usage',
    currency: 'USD',
    key: { id: key.id, name: key.name, group: group.id },
    balance,
    limits,
    ...report,
  });
}

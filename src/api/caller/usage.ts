/**
 * Usage and balance endpoints of callers (G 4.7): of the key's user, from roll-ups only. They work with an empty
 * balance.
 */
import type { Clock } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import { balanceReport, keyAllowance, keySpending, limitsReport, periodOf, usageReport } from '../../ledger/index.ts';
import { type Db, snapshot } from '../../platform/db/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import type { BillingSubscription, BillingUsage } from '../../schemas/index.ts';

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
    key: { id: key.id, name: key.name, group: group.id, ...(key.groups.length > 1 && { groups: key.groups }) },
    balance,
    limits,
    ...report,
  });
}

/** Tools ask for up to a year. */
const MAX_DAYS = 366;
const NANOS = 1e9;
const NANOS_PER_CENT = 1e7;

/** For older tools, which show `hard_limit_usd` less `total_usage`: the limit is spent plus what may be spent. */
export async function getSubscription({ db, clock }: UsageServices, call: Call, { key }: Caller): Promise<void> {
  const { spent, left } = await snapshot(db, (tx) => keyAllowance(tx, key, clock.now()));
  const limit = Number(spent + left) / NANOS;
  sendJson(call, 200, {
    object: 'billing_subscription',
    has_payment_method: true,
    soft_limit_usd: limit,
    hard_limit_usd: limit,
    system_hard_limit_usd: limit,
    access_until: key.expiresAt === null ? 0 : Math.floor(key.expiresAt / 1_000),
  } satisfies BillingSubscription);
}

/** `end_date` is included, because some tools send today and others tomorrow. */
export async function getBillingUsage({ db, clock }: UsageServices, call: Call, { key }: Caller): Promise<void> {
  const query = new URLSearchParams(call.query);
  const end = query.get('end_date') ?? undefined;
  const month = end === undefined ? `${new Date(clock.now()).toISOString().slice(0, 7)}-01` : undefined;
  const start = query.get('start_date') ?? month;
  const days = await keySpending(db, key, periodOf({ start_date: start, end_date: end }, clock.now(), MAX_DAYS));
  sendJson(call, 200, {
    object: 'list',
    total_usage: Number(days.reduce((sum, { nanos }) => sum + nanos, 0n)) / NANOS_PER_CENT,
    daily_costs: days.map(({ day, nanos }) => ({
      timestamp: Date.parse(`${day}T00:00:00Z`) / 1_000,
      line_items: [{ name: 'all models', cost: Number(nanos) / NANOS_PER_CENT }],
    })),
  } satisfies BillingUsage);
}

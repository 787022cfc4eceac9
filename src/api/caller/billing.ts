/**
 * The balance endpoints that older tools ask (G 4.7). They show `hard_limit_usd` less the `total_usage` of this month as the balance, so that
 * the limit is what the key has spent in the UTC month and may still spend.
 */
import type { Caller } from '../../gateway/index.ts';
import { keyAllowance, keySpending, periodOf } from '../../ledger/index.ts';
import { snapshot } from '../../platform/db/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import type { BillingSubscription, BillingUsage } from '../../schemas/index.ts';
import type { UsageServices } from './usage.ts';

/** Tools ask for up to a year. */
const MAX_DAYS = 366;
const NANOS = 1e9;
const NANOS_PER_CENT = 1e7;

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

/** The usage record of a quarantined call that an operator charged, so that reports include its amount. */
import { sql } from 'kysely';
import { type Nanos, utcDay } from '../../core/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import { createUsageRecord } from '../usage-record.ts';
import { recordUsage } from './usage-writer.ts';

export interface ResolvedCall {
  readonly id: string;
  readonly userId: string;
  /** The record as the journal held it; members may be missing or invalid. */
  readonly raw: Readonly<Record<string, unknown>>;
  readonly nanos: Nanos;
  readonly now: number;
}

/**
 * Call it in the transaction of the charge. The counts are unknown, because they are why the record was quarantined.
 */
export async function recordResolved(tx: Tx, { id, userId, raw, nanos, now }: ResolvedCall): Promise<void> {
  const text = (name: string): string => (typeof raw[name] === 'string' ? raw[name] : '');
  const call = {
    // Another id: records that are in quarantine are never recorded by their own.
    id: `${id}:resolved`,
    userId,
    keyId: text('keyId'),
    groupId: text('groupId'),
    accountId: text('accountId'),
    model: text('model'),
    operation: text('operation'),
    requestId: text('requestId'),
    usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 },
    images: 0,
    nanos,
    priceId: null,
    estimated: true,
  };
  const { rows } = await sql<{ since: string }>`select since::text as since from usage_kept`.execute(tx);
  const at = Number(raw.at);
  const dated = createUsageRecord({ ...call, at });
  const isKept = dated.invalid === undefined && utcDay(at) >= (rows[0]?.since ?? '');
  // A call of an unknown time, or of a month that was removed, is reported today.
  // What the provider charges is as unknown as the counts.
  await recordUsage(tx, [isKept ? dated : createUsageRecord({ ...call, at: now })], new Map());
}

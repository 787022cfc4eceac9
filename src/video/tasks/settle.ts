/**
 * Settlement of a task on the usage that the provider reported (V 8): charged at the price and multipliers in force now, in the
 * transaction that records it. Never estimated.
 */
import { priceAt } from '../../catalog/index.ts';
import type { Nanos } from '../../core/index.ts';
import * as ledger from '../../ledger/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import type { VideoServices } from '../services.ts';
import { holdReference, parametersOf, type ReportedResult, type TaskRow } from './task.ts';

interface Price {
  readonly nanos: Nanos;
  readonly priceId: bigint;
}

/** False when the model has no video price any more; the hold then waits for an operator. */
export async function settleTask(
  services: Pick<VideoServices, 'catalog' | 'clock' | 'log'>,
  tx: Tx,
  task: TaskRow,
  { tokens, reported }: { readonly tokens: number; readonly reported: ReportedResult },
): Promise<boolean> {
  const price = await priceOf(services, tx, task, { tokens, resolution: reported.resolution });
  if (!price) {
    services.log.error('task.price_missing', { task: task.id, model: task.model });
    return false;
  }
  ledger.crashPoint('settle.priced');
  const { nanos, priceId } = price;
  const { settled, excess } = await ledger.settle(tx, holdReference(task.id), {
    nanos,
    reason: `video task ${task.id}`,
    priceId,
  });
  if (!settled) return true;
  ledger.crashPoint('settle.charged');
  if (excess > 0n) services.log.warn('task.above_hold', { task: task.id, user: task.user_id, excess: String(excess) });
  await ledger.recordUsage(tx, [usageRecord(services, task, { tokens, ...price })]);
  ledger.crashPoint('settle.recorded');
  return true;
}

async function priceOf(
  { catalog, clock }: Pick<VideoServices, 'catalog' | 'clock'>,
  tx: Tx,
  task: TaskRow,
  { tokens, resolution }: { readonly tokens: number; readonly resolution: string | undefined },
): Promise<Price | undefined> {
  const line = catalog().resolve(task.group_id, task.model)?.line;
  const price = line && priceAt(line, clock.now());
  if (!price) return undefined;
  const produced = resolution ?? parametersOf(task).resolution ?? '';
  const rate = ledger.videoRateOf(ledger.parseRates(price.rates), produced, task.has_video_input);
  if (rate === undefined) return undefined;
  const user = await tx.selectFrom('users').select('multiplier_ppm').where('id', '=', task.user_id).executeTakeFirst();
  const multipliers = [catalog().group(task.group_id)?.multiplierPpm ?? UNCHANGED, user?.multiplier_ppm ?? UNCHANGED];
  return { nanos: ledger.videoCostOf(tokens, rate, multipliers), priceId: price.id };
}

/** A factor of 1 in parts per million. */
const UNCHANGED = 1_000_000n;

const usageRecord = (
  { clock }: Pick<VideoServices, 'clock'>,
  task: TaskRow,
  { tokens, nanos, priceId }: Price & { readonly tokens: number },
) =>
  ledger.createUsageRecord({
    id: ledger.newRecordId(),
    at: clock.now(),
    userId: task.user_id,
    keyId: task.key_id,
    groupId: task.group_id,
    accountId: task.account_id ?? '',
    model: task.model,
    operation: task.operation,
    usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: tokens },
    images: 0,
    nanos,
    priceId,
    estimated: false,
    requestId: task.id,
  });

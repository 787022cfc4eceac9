/**
 * Settlement of a task on the usage that the provider reported (V 8): charged at the price and multipliers in force
 * now, in the transaction that records it, and shown to the owner of the task. Never estimated.
 */
import { sql } from 'kysely';
import { priceAt } from '../../catalog/index.ts';
import { errorFields, formatNanos, type Nanos } from '../../core/index.ts';
import * as ledger from '../../ledger/index.ts';
import type { Db, Row, Tx } from '../../platform/db/index.ts';
import type { TaskCharge, TaskHold } from '../../schemas/index.ts';
import type { VideoServices } from '../services.ts';
import { holdReference, parametersOf, type ReportedResult, reportedOf, type TaskRow, unitOf } from './task.ts';

type SettleServices = Pick<VideoServices, 'catalog' | 'clock' | 'log'>;

/** `tokens` are counted in the unit of the task. */
interface Measured {
  readonly tokens: number;
  readonly reported: ReportedResult;
}

/** False when the model has no such price any more; the hold then waits for an operator. */
export async function settleTask(services: SettleServices, tx: Tx, task: TaskRow, made: Measured): Promise<boolean> {
  const price = await priceOf(services, tx, task, made);
  if (!price) {
    services.log.error('task.price_missing', { task: task.id, model: task.model });
    return false;
  }
  ledger.crashPoint('settle.priced');
  const reason = `video task ${task.id}`;
  const { settled, excess } = await ledger.settle(tx, holdReference(task.id), { ...price, reason });
  if (!settled) return true;
  ledger.crashPoint('settle.charged');
  if (excess > 0n) services.log.warn('task.above_hold', { task: task.id, user: task.user_id, excess: String(excess) });
  const record = usageRecord(services, task, { ...made, ...price });
  const cost = await costOfTask(services, tx, task, { ...made, ...price });
  await ledger.recordUsage(tx, [record], new Map(cost === undefined ? [] : [[record, cost]]));
  ledger.crashPoint('settle.recorded');
  return true;
}

async function priceOf({ catalog, clock }: SettleServices, tx: Tx, task: TaskRow, { tokens, reported }: Measured) {
  const line = catalog().resolve(task.group_id, task.model)?.line;
  const price = line && priceAt(line, clock.now());
  if (!price) return undefined;
  const rate = rateOfTask(task, reported, price.rates);
  if (rate === undefined) return undefined;
  const user = await tx.selectFrom('users').select('multiplier_ppm').where('id', '=', task.user_id).executeTakeFirst();
  const multipliers = [catalog().group(task.group_id)?.multiplierPpm ?? UNCHANGED, user?.multiplier_ppm ?? UNCHANGED];
  return { nanos: ledger.videoCost(tokens, rate, multipliers, unitOf(task)).nanos, priceId: price.id };
}

/**
 * What the provider charges, by the cost rates of the same price and the multiplier of the account.
 * Never blocks the charge: a cost that cannot be computed is unknown.
 */
async function costOfTask({ log }: SettleServices, tx: Tx, task: TaskRow, priced: Priced): Promise<Nanos | undefined> {
  const { tokens, reported, priceId } = priced;
  const price = await tx.selectFrom('prices').select('cost').where('id', '=', priceId).executeTakeFirst();
  const account = await tx
    .selectFrom('accounts')
    .select('cost_multiplier_ppm')
    .where('id', '=', task.account_id ?? '')
    .executeTakeFirst();
  if (!price?.cost || !account) return undefined;
  try {
    const rate = rateOfTask(task, reported, price.cost);
    return rate === undefined
      ? undefined
      : ledger.videoCost(tokens, rate, [account.cost_multiplier_ppm], unitOf(task)).nanos;
  } catch (error) {
    log.error('provider_cost.invalid', { price: String(priceId), ...errorFields(error) });
    return undefined;
  }
}

/** The rate of what was made; undefined when the price has none of the task's unit. */
function rateOfTask(task: TaskRow, reported: ReportedResult, rates: unknown): Nanos | undefined {
  const given = parametersOf(task);
  const hasAudio = (reported.generate_audio ?? given.generate_audio) !== false;
  const made = reported.resolution ?? given.resolution ?? '';
  return ledger.videoRateOf(ledger.parseRates(rates), made, task.has_video_input, { unit: unitOf(task), hasAudio });
}

/** A factor of 1 in parts per million. */
const UNCHANGED = 1_000_000n;

type Priced = Measured & NonNullable<Awaited<ReturnType<typeof priceOf>>>;

const usageRecord = ({ clock }: SettleServices, task: TaskRow, { tokens, nanos, priceId }: Priced) =>
  ledger.createUsageRecord({
    id: ledger.newRecordId(),
    at: clock.now(),
    userId: task.user_id,
    keyId: task.key_id,
    groupId: task.group_id,
    accountId: task.account_id ?? '',
    model: task.model,
    operation: task.operation,
    usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: unitOf(task) === 'tokens' ? tokens : 0 },
    images: 0,
    nanos,
    priceId,
    estimated: false,
    requestId: task.id,
  });

/** By the id of the task. */
export async function holdsOfTasks(db: Db, userId: string, ids: readonly string[]): Promise<Map<string, TaskHold>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<Row<'holds'>>`
    select * from holds where user_id = ${userId} and reference = any(${ids.map(holdReference)})`.execute(db);
  return new Map(rows.map((hold) => [hold.reference.slice(holdReference('').length), shownHold(hold)]));
}

export const shownHold = ({ state, nanos, settled_nanos }: HeldAmount): TaskHold => ({
  state: state as TaskHold['state'],
  held: formatNanos(nanos),
  charged: settled_nanos === null ? null : formatNanos(settled_nanos),
});

type HeldAmount = Pick<Row<'holds'>, 'state' | 'nanos' | 'settled_nanos'>;

/** Null for a task without a hold. Its record is written with the charge. */
export async function chargeOfTask(db: Db, task: TaskRow): Promise<TaskCharge | null> {
  const hold = (await holdsOfTasks(db, task.user_id, [task.id])).get(task.id);
  if (!hold) return null;
  const record = await ledger.recordOfRequest(db, { id: task.id, userId: task.user_id, keyId: task.key_id });
  const priceId = record?.price_id ?? null;
  const price =
    priceId === null
      ? undefined
      : await db.selectFrom('prices').select('rates').where('id', '=', priceId).executeTakeFirst();
  const rate = price && rateOfTask(task, reportedOf(task), price.rates);
  const unit = unitOf(task);
  return {
    currency: 'USD',
    ...hold,
    tokens: record && unit === 'tokens' ? Number(record.output_tokens) : null,
    ...(unit !== 'tokens' && { unit, count: record ? Number(task.usage_tokens) : null }),
    price: priceId === null ? null : String(priceId),
    rate: rate === undefined ? null : formatNanos(rate),
  };
}

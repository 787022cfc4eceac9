/** The money of tasks, for their owner: what each holds or was charged, and by which price. */
import { formatNanos } from '../../core/index.ts';
import { parseRates, recordOfRequest, videoRateOf } from '../../ledger/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { TaskCharge, TaskHold } from '../../schemas/index.ts';
import { holdReference, parametersOf, reportedOf, type TaskRow } from './task.ts';

/** By the id of the task. */
export async function holdsOfTasks(db: Db, userId: string, ids: readonly string[]): Promise<Map<string, TaskHold>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('holds')
    .select(['reference', 'state', 'nanos', 'settled_nanos'])
    .where('user_id', '=', userId)
    .where('reference', 'in', ids.map(holdReference))
    .execute();
  return new Map(
    rows.map(({ reference, state, nanos, settled_nanos }) => [
      reference.slice(holdReference('').length),
      {
        state: state as TaskHold['state'],
        held: formatNanos(nanos),
        charged: settled_nanos === null ? null : formatNanos(settled_nanos),
      },
    ]),
  );
}

/** Null for a task without a hold. Its record is written with the charge. */
export async function chargeOfTask(db: Db, task: TaskRow): Promise<TaskCharge | null> {
  const hold = (await holdsOfTasks(db, task.user_id, [task.id])).get(task.id);
  if (!hold) return null;
  const record = await recordOfRequest(db, { id: task.id, userId: task.user_id, keyId: task.key_id });
  const priceId = record?.price_id ?? null;
  const price =
    priceId === null
      ? undefined
      : await db.selectFrom('prices').select('rates').where('id', '=', priceId).executeTakeFirst();
  const produced = reportedOf(task).resolution ?? parametersOf(task).resolution ?? '';
  const rate = price ? videoRateOf(parseRates(price.rates), produced, task.has_video_input) : undefined;
  return {
    currency: 'USD',
    ...hold,
    tokens: record ? Number(record.output_tokens) : null,
    price: priceId === null ? null : String(priceId),
    rate: rate === undefined ? null : formatNanos(rate),
  };
}

/** Alarms about video tasks: holds that only an operator can decide about, and callbacks that were given up. */
import { sql } from 'kysely';
import { type Alarm, type AlarmFinder, alarm } from '../ledger/index.ts';
import type { Db } from '../platform/db/index.ts';

/** Rows counted at most; more make no difference to the operator. */
const LIMIT = 1_000;

export const VIDEO_CHECKS: Readonly<Record<string, AlarmFinder>> = {
  async 'video reviews'(db) {
    const { rows } = await sql<{ id: string }>`
      select id from video_tasks where review_until < now() order by review_until limit ${LIMIT}`.execute(db);
    return [alarm('video_usage_missing', rows, ({ id }) => id)];
  },
  async 'video submissions'(db) {
    const { rows } = await sql<{ id: string; account_id: string | null }>`
      select id, account_id from video_tasks
      where submission = 'unknown' and finished_at is null and created_at < now() - interval '1 hour'
      order by created_at limit ${LIMIT}`.execute(db);
    return [alarm('video_submissions_unknown', rows, ({ id, account_id }) => `${id} on ${account_id ?? 'no account'}`)];
  },
  callbacks: async (db) => [await findDeadCallbacks(db)],
};

/** Callbacks that were given up, by destination. Ends a day after the last one, or when they are redelivered. */
async function findDeadCallbacks(db: Db): Promise<Alarm> {
  const { rows } = await sql<{ user: string; host: string; events: bigint }>`
    select user_id as user, host, count(*) as events from callback_events
    where state = 'dead' and finished_at > now() - interval '1 day'
    group by user_id, host order by 3 desc limit 1000`.execute(db);
  return alarm('callbacks_dead', rows, ({ user, host, events }) => `${events} of ${user} to ${host}`);
}

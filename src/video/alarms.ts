/** Alarms about video tasks: holds that only an operator can decide about, and callbacks that were given up. */
import { sql } from 'kysely';
import { type AlarmFinder, alarm } from '../ledger/index.ts';
import { findDeadCallbacks } from './callbacks/alarm.ts';

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

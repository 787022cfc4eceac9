/** Alarms about video tasks: holds that only an operator can decide about, and callbacks that were given up. */
import { sql } from 'kysely';
import { type AlarmChecks, MAX_CASES } from '../ledger/index.ts';

export const VIDEO_CHECKS = {
  video_usage_missing: sql`
    select id from video_tasks where review_until < now() order by review_until limit ${MAX_CASES}`,
  video_submissions_unknown: sql`
    select id || ' on ' || coalesce(account_id, 'no account') from video_tasks
    where submission = 'unknown' and finished_at is null and created_at < now() - interval '1 hour'
    order by created_at limit ${MAX_CASES}`,
  /** By destination. Ends a day after the last one, or when they are redelivered. */
  callbacks_dead: sql`
    select count(*) || ' of ' || user_id || ' to ' || host from callback_events
    where state = 'dead' and finished_at > now() - interval '1 day'
    group by user_id, host order by count(*) desc limit ${MAX_CASES}`,
} as const satisfies AlarmChecks;

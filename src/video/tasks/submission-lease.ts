/**
 * The time in which no other replica takes a submission over. It is short, so that a request whose replica stopped is decided soon, and
 * renewed while the request runs. A replica that loses it nevertheless sends nothing more, and its outcome still counts (outcome.ts).
 */
import { sql } from 'kysely';
import { errorFields, type Repetition, repeat } from '../../core/index.ts';
import type { VideoServices } from '../services.ts';
import type { Submission } from './order.ts';

export const SUBMISSION_LEASE_MS = 30_000;
const RENEW_MS = 5_000;

export const leaseEnd = sql<Date>`now() + ${SUBMISSION_LEASE_MS} * interval '1 millisecond'`;

export function keepLease(
  { db, clock, log }: VideoServices,
  { task: { user_id, id }, owner }: Pick<Submission, 'task' | 'owner'>,
): Repetition {
  const renew = () =>
    sql`
      with renewed as (
        update video_tasks set submitter_until = ${leaseEnd}
        where user_id = ${user_id} and id = ${id} and submitter = ${owner} and submission in ('pending', 'sending') returning id)
      update idempotency_records r set owner_until = ${leaseEnd} from renewed
      where r.user_id = ${user_id} and r.resource_id = renewed.id and r.owner = ${owner} and r.finished_at is null`.execute(
      db,
    );
  const onError = (error: unknown) => log.warn('task.lease_not_renewed', { task: id, ...errorFields(error) });
  return repeat(renew, { clock, intervalMs: RENEW_MS, onError });
}

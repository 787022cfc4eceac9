/** Video tasks in review: they succeeded, and their usage or price is not known. The operator decides with the bill of the provider. */
import { sql } from 'kysely';
import { z } from 'zod';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import { fail, formatNanos } from '../../core/index.ts';
import type { Row } from '../../platform/db/index.ts';
import { MAX_USAGE_TOKENS } from '../../rules/index.ts';
import { Review, shownRow } from '../../schemas/index.ts';
import type { ReviewDecision } from '../../video/index.ts';
import { type AdminServices, notFound, operation } from './handler.ts';
import { listOperation } from './list.ts';
import { param } from './query-params.ts';
import { reason } from './request-body.ts';

type ReviewRow = Pick<Row<'video_tasks'>, 'id' | 'usage_tokens' | 'review_until'>;

interface Resolution {
  readonly task: string;
  readonly decision: ReviewDecision;
  readonly reason: string;
  readonly by: Actor;
}

/** The charge or release and the audit line are one transaction. A review is resolved once. */
const resolve = ({ db, video }: AdminServices, { task, decision, reason, by }: Resolution): Promise<object> =>
  db.transaction().execute(async (tx) => {
    const resolved = await video.resolveReview(tx, task, decision);
    if (resolved === 'not_in_review') throw notFound('video task in review', task);
    if (resolved === 'no_price') throw fail('conflict', 'The model of the task has no video price; apply one first.');
    const outcome = {
      user: resolved.userId,
      outcome: decision === 'release' ? 'released' : 'charged',
      ...(decision !== 'release' && { tokens: decision.tokens }),
      charge: formatNanos(resolved.charged),
    };
    await writeAudit(tx, by, {
      action: decision === 'release' ? 'review.released' : 'review.settled',
      subject: `task:${task}`,
      after: { reason, ...outcome },
    });
    return { object: 'review', currency: 'USD', task, ...outcome };
  });

export const REVIEWS_OPERATIONS = {
  'admin.reviews': listOperation({
    filters: { user: param.user, model: param.model },
    order: 'oldest',
    by: 'review_until',
    from: sql<ReviewRow>`
    select t.id, t.user_id, t.model, t.account_id, t.upstream_id as upstream_task, t.usage_tokens, t.created_at, t.finished_at, t.review_until,
      h.nanos as held_nanos, t.reported ->> 'doubted_usage' as reported,
      to_char(t.review_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as asked_until
    from video_tasks t join holds h on h.reference = 'task:' || t.id where t.review_until is not null`,
    view: (row) =>
      shownRow(Review, row, { task: row.id, tokens: row.usage_tokens === null ? null : Number(row.usage_tokens) }),
    more: { currency: 'USD' },
  }),
  'admin.settleReview': operation({
    body: z.strictObject({
      tokens: z.number().int().min(0).max(MAX_USAGE_TOKENS).describe('the usage on the bill of the provider'),
      reason,
    }),
    handle: ({ id: task, by, body: { tokens, reason } }, services) =>
      resolve(services, { task, decision: { tokens }, reason, by }),
  }),
  'admin.releaseReview': operation({
    body: z.strictObject({ reason }),
    handle: ({ id: task, by, body: { reason } }, services) =>
      resolve(services, { task, decision: 'release', reason, by }),
  }),
};

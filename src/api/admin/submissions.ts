/**
 * Video tasks that an operator decides about: those in review, and unknown submissions beside the provider's tasks that
 * may be theirs.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { writeAudit } from '../../access/keys/index.ts';
import { fail, failAt, formatNanos, notFound, overloaded } from '../../core/index.ts';
import type { Db, Row } from '../../platform/db/index.ts';
import { MAX_USAGE_TOKENS } from '../../rules/index.ts';
import { line, OpenSubmission, Review, shownRow } from '../../schemas/index.ts';
import type { ReviewDecision } from '../../video/index.ts';
import { type AdminServices, operation, type Reasoned } from './handler.ts';
import { listOperation, readList } from './list.ts';
import { param } from './query-params.ts';
import { reason } from './request-body.ts';

type SubmissionRow = Row<'video_tasks'>;

const SUBMISSIONS = {
  order: 'oldest',
  from: sql<SubmissionRow>`
    select t.id, t.user_id, t.model, t.account_id, t.parameters, t.candidates, t.created_at, t.expires_at as decide_until, h.nanos as held_nanos
    from video_tasks t join holds h on h.reference = 'task:' || t.id
    where t.submission = 'unknown' and t.finished_at is null and t.candidates is not null`,
  view: (row: SubmissionRow) => shownRow(OpenSubmission, row, { task: row.id }),
  more: { currency: 'USD' },
} as const;

export const oldestSubmissions = async (db: Db, limit: number): Promise<readonly OpenSubmission[]> =>
  (await readList(db, SUBMISSIONS, { limit })).map(SUBMISSIONS.view);

/**
 * `upstreamTask` is the provider's task that it is; undefined: none. The change of the task, what happens to its hold
 * and the audit line are one transaction.
 */
export async function decideSubmission(
  { db, video }: Pick<AdminServices, 'db' | 'video'>,
  upstreamTask: string | undefined,
  { id: task, by, body: { reason } }: Reasoned,
): Promise<object> {
  const [outcome, assigned] =
    upstreamTask === undefined
      ? (['dismissed', {}] as const)
      : (['assigned', { upstream_task: upstreamTask }] as const);
  const record = (tx: Db, user: string) =>
    writeAudit(tx, by, {
      action: `submission.${outcome}`,
      subject: `task:${task}`,
      after: { reason, user, ...assigned },
    });
  const decided =
    upstreamTask === undefined
      ? await db.transaction().execute(async (tx) => {
          const dismissed = await video.dismissSubmission(tx, task);
          if (dismissed !== 'not_open') await record(tx, dismissed.userId);
          return dismissed;
        })
      : await video.assignSubmission({ taskId: task, upstreamId: upstreamTask, record });
  if (typeof decided === 'string') throw REFUSALS[decided](task);
  return { object: 'submission', task, user: decided.userId, outcome, ...assigned };
}

const REFUSALS = {
  not_open: (task: string) => notFound('video task with an unknown submission', task),
  not_at_provider: () => failAt('conflict', 'upstream_task', 'the account has no such task at the provider.'),
  provider_unreachable: () => overloaded('The provider cannot be asked about the task now; try again shortly.', 10),
  other_user: () => failAt('conflict', 'upstream_task', 'the provider reports that it is the task of another user.'),
  taken: () => failAt('conflict', 'upstream_task', 'another task has it already.'),
} as const;

/**
 * Video tasks in review: they succeeded, and their usage or price is not known. The operator decides with the bill of
 * the provider.
 */
type ReviewRow = Pick<Row<'video_tasks'>, 'id' | 'usage_tokens' | 'review_until'>;

/** The charge or release and the audit line are one transaction. A review is resolved once. */
const resolve = (
  { db, video }: AdminServices,
  decision: ReviewDecision,
  { id: task, by, body: { reason } }: Reasoned,
) =>
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

export const SUBMISSIONS_OPERATIONS = {
  /** Submissions with candidates, oldest first. */
  'admin.submissions': listOperation({ ...SUBMISSIONS, filters: { user: param.user } }),
  'admin.assignTask': operation({
    body: z.strictObject({ upstream_task: line(200, 'id of the task at the provider'), reason }),
    handle: (input, services) => decideSubmission(services, input.body.upstream_task, input),
  }),
  'admin.dismissTask': operation({
    body: z.strictObject({ reason }),
    handle: (input, services) => decideSubmission(services, undefined, input),
  }),
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
    handle: (input, services) => resolve(services, { tokens: input.body.tokens }, input),
  }),
  'admin.releaseReview': operation({
    body: z.strictObject({ reason }),
    handle: (input, services) => resolve(services, 'release', input),
  }),
};

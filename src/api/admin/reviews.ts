/** Video tasks in review: they succeeded, and their usage or price is not known. The operator decides with the bill of the provider. */
import { sql } from 'kysely';
import { z } from 'zod';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import { fail, formatNanos } from '../../core/index.ts';
import { sendJson } from '../../platform/web/index.ts';
import { MAX_USAGE_TOKENS } from '../../rules/index.ts';
import type { Review } from '../../schemas/index.ts';
import type { ReviewDecision } from '../../video/index.ts';
import { type AdminServices, notFound, operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param } from './query-params.ts';
import { reason } from './request-body.ts';

export const listReviews = operation({
  query: z.strictObject({ user: param.user, model: param.model, ...pageParams(rowKey.timeAndId) }),
  async handle({ call, query: { user, model, limit, cursor } }, { db }) {
    let find = db
      .selectFrom('video_tasks as task')
      .innerJoin('holds as hold', (join) => join.on('hold.reference', '=', sql<string>`'task:' || task.id`))
      .select(['task.id', 'task.user_id', 'task.model', 'task.account_id', 'task.upstream_id', 'task.usage_tokens'])
      .select(['task.created_at', 'task.finished_at', 'task.review_until', 'hold.nanos'])
      .select(sql<string | null>`task.reported ->> 'doubted_usage'`.as('doubted_usage'))
      // As text, because a JavaScript Date has no microseconds.
      .select(sql<string>`to_char(task.review_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`.as('until'))
      .where('task.review_until', 'is not', null)
      .orderBy('task.review_until')
      .orderBy('task.id')
      .limit(limit + 1);
    if (user !== undefined) find = find.where('task.user_id', '=', user);
    if (model !== undefined) find = find.where('task.model', '=', model);
    if (cursor)
      find = find.where(sql<boolean>`(task.review_until, task.id) > (${cursor[0]}::timestamptz, ${cursor[1]})`);
    sendPage(call, await find.execute(), {
      limit,
      more: { currency: 'USD' },
      key: (row) => [row.until, row.id],
      view: (row): Review => ({
        task: row.id,
        user: row.user_id,
        model: row.model,
        account: row.account_id,
        upstream_task: row.upstream_id,
        held: formatNanos(row.nanos),
        tokens: row.usage_tokens === null ? null : Number(row.usage_tokens),
        reported: row.doubted_usage,
        created_at: row.created_at.toISOString(),
        finished_at: row.finished_at?.toISOString() ?? null,
        asked_until: row.until,
      }),
    });
  },
});

export const settleReview = operation({
  body: z.strictObject({
    tokens: z.number().int().min(0).max(MAX_USAGE_TOKENS).describe('the usage on the bill of the provider'),
    reason,
  }),
  async handle({ call, by, body: { tokens, reason } }, services) {
    const task = call.params.task ?? '';
    sendJson(call, 200, await resolve(services, { task, decision: { tokens }, reason, by }));
  },
});

export const releaseReview = operation({
  body: z.strictObject({ reason }),
  async handle({ call, by, body: { reason } }, services) {
    const task = call.params.task ?? '';
    sendJson(call, 200, await resolve(services, { task, decision: 'release', reason, by }));
  },
});

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

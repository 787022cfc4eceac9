/** Video tasks whose submission stayed unknown, side by side with the provider's tasks that may be theirs. The operator decides. */
import { sql } from 'kysely';
import { z } from 'zod';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import { fail, formatNanos } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { sendJson } from '../../platform/web/index.ts';
import { line, type OpenSubmission, type SubmissionCandidate } from '../../schemas/index.ts';
import { type AdminServices, notFound, operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param } from './query-params.ts';
import { reason } from './request-body.ts';

interface SubmissionRow {
  readonly id: string;
  readonly user_id: string;
  readonly model: string;
  readonly account_id: string | null;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly candidates: SubmissionCandidate[];
  readonly created_at: Date;
  readonly created: string;
  readonly expires_at: Date;
  readonly nanos: bigint;
}

interface SubmissionFilter {
  readonly user?: string | undefined;
  readonly limit: number;
  /** Creation time and id of the last row before. */
  readonly cursor?: readonly string[] | undefined;
}

/** Submissions with candidates, oldest first. Times as text are exact: a JavaScript Date has no microseconds. */
async function findSubmissions(db: Db, { user, limit, cursor }: SubmissionFilter): Promise<readonly SubmissionRow[]> {
  const { rows } = await sql<SubmissionRow>`
    select t.id, t.user_id, t.model, t.account_id, t.parameters, t.candidates, t.created_at, t.expires_at, h.nanos,
      to_char(t.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created
    from video_tasks t join holds h on h.reference = 'task:' || t.id
    where t.submission = 'unknown' and t.finished_at is null and t.candidates is not null
      ${user === undefined ? sql`` : sql`and t.user_id = ${user}`}
      ${cursor ? sql`and (t.created_at, t.id) > (${cursor[0]}::timestamptz, ${cursor[1]})` : sql``}
    order by t.created_at, t.id limit ${limit}`.execute(db);
  return rows;
}

const viewOf = (row: SubmissionRow): OpenSubmission => ({
  task: row.id,
  user: row.user_id,
  model: row.model,
  account: row.account_id,
  held: formatNanos(row.nanos),
  parameters: row.parameters,
  created_at: row.created_at.toISOString(),
  decide_until: row.expires_at.toISOString(),
  candidates: row.candidates,
});

export const listSubmissions = operation({
  query: z.strictObject({ user: param.user, ...pageParams(rowKey.timeAndId) }),
  async handle({ call, query: { user, limit, cursor } }, { db }) {
    sendPage(call, await findSubmissions(db, { user, limit: limit + 1, cursor }), {
      limit,
      more: { currency: 'USD' },
      key: (row) => [row.created, row.id],
      view: viewOf,
    });
  },
});

/** For commands: the oldest submissions. */
export const oldestSubmissions = async (db: Db, limit: number): Promise<readonly OpenSubmission[]> =>
  (await findSubmissions(db, { limit })).map(viewOf);

export const assignOperatorTask = operation({
  body: z.strictObject({ upstream_task: line(200, 'id of the task at the provider'), reason }),
  async handle({ call, by, body: { upstream_task, reason } }, services) {
    const task = call.params.task ?? '';
    sendJson(call, 200, await decideSubmission(services, { task, upstreamTask: upstream_task, reason, by }));
  },
});

export const dismissOperatorTask = operation({
  body: z.strictObject({ reason }),
  async handle({ call, by, body: { reason } }, services) {
    const task = call.params.task ?? '';
    sendJson(call, 200, await decideSubmission(services, { task, upstreamTask: undefined, reason, by }));
  },
});

export interface SubmissionDecision {
  readonly task: string;
  /** The provider's task that it is; undefined: none. */
  readonly upstreamTask: string | undefined;
  readonly reason: string;
  readonly by: Actor;
}

/** The change of the task, what happens to its hold and the audit line are one transaction. */
export async function decideSubmission(
  { db, video }: Pick<AdminServices, 'db' | 'video'>,
  { task, upstreamTask, reason, by }: SubmissionDecision,
): Promise<object> {
  const record = (tx: Db, user: string) =>
    writeAudit(tx, by, {
      action: upstreamTask === undefined ? 'submission.dismissed' : 'submission.assigned',
      subject: `task:${task}`,
      after: { reason, user, ...(upstreamTask !== undefined && { upstream_task: upstreamTask }) },
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
  const outcome = upstreamTask === undefined ? 'dismissed' : 'assigned';
  return {
    object: 'submission',
    task,
    user: decided.userId,
    outcome,
    ...(upstreamTask !== undefined && { upstream_task: upstreamTask }),
  };
}

const REFUSALS = {
  not_open: (task: string) => notFound('video task with an unknown submission', task),
  not_at_provider: () =>
    fail('conflict', 'upstream_task: the account has no such task at the provider.', { param: 'upstream_task' }),
  provider_unreachable: () =>
    fail('server_is_overloaded', 'The provider cannot be asked about the task now; try again shortly.', {
      retryAfter: 10,
    }),
  other_user: () =>
    fail('conflict', 'upstream_task: the provider reports that it is the task of another user.', {
      param: 'upstream_task',
    }),
  taken: () => fail('conflict', 'upstream_task: another task has it already.', { param: 'upstream_task' }),
} as const;

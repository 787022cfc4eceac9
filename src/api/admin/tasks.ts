/** Video tasks of all users for operators: where each is, what it holds, and on which account. Never shows a prompt or media. */
import { sql } from 'kysely';
import { z } from 'zod';
import { formatNanos } from '../../core/index.ts';
import { type Row, snapshot, sortedRows } from '../../platform/db/index.ts';
import { TASK_STATUSES } from '../../rules/index.ts';
import { OperatorTask, shownRow } from '../../schemas/index.ts';
import { notFound, operation } from './handler.ts';
import { matching } from './list.ts';
import { sendPage, sortedKey, sortedPage, sortedParams } from './pagination.ts';
import { inState, params, period } from './query-params.ts';

/** The default start. Without one, a rare status would be searched for in every task. */
const DEFAULT_PERIOD_MS = 30 * 86_400_000;

const NEWEST = 'created';

const TasksQuery = z.strictObject({
  ...params('user model group account'),
  status: inState('video tasks', TASK_STATUSES),
  ...period,
  ...sortedParams('tasks'),
});

interface TaskRow extends Row<'video_tasks'> {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly reported: Readonly<Record<string, unknown>> | null;
  readonly hold_state: NonNullable<OperatorTask['hold']>['state'] | null;
  readonly hold_nanos: bigint | null;
  readonly settled_nanos: bigint | null;
}

const SELECT = sql`
  select t.id, t.user_id, t.key_id, t.group_id, t.account_id, t.upstream_id, t.model, t.status, t.submission, t.progress, t.error,
    t.parameters, t.reported, t.usage_tokens, t.callback_url, t.review_until, t.created_at, t.updated_at, t.finished_at,
    h.state as hold_state, h.nanos as hold_nanos, h.settled_nanos
  from video_tasks t left join holds h on h.reference = 'task:' || t.id`;

const taskForOperator = (row: TaskRow): OperatorTask =>
  shownRow(OperatorTask, row, {
    upstream_task: row.upstream_id,
    parameters: shownParameters(row),
    tokens: row.usage_tokens === null ? null : Number(row.usage_tokens),
    has_last_frame: row.reported?.last_frame === true,
    hold:
      row.hold_state === null || row.hold_nanos === null
        ? null
        : {
            state: row.hold_state,
            held: formatNanos(row.hold_nanos),
            charged: row.settled_nanos === null ? null : formatNanos(row.settled_nanos),
          },
    in_review: row.review_until !== null,
    callback_host: row.callback_url === null ? null : (URL.parse(row.callback_url)?.host ?? null),
  });

/** Reported values replace requested ones. By name, so that a parameter added later is not shown by accident. */
const PARAMETERS = ['resolution', 'ratio', 'duration', 'seed', 'generate_audio', 'watermark', 'service_tier'] as const;

const shownParameters = ({ parameters, reported }: TaskRow): Record<string, unknown> =>
  Object.fromEntries(
    PARAMETERS.flatMap((name) => {
      const value = reported?.[name] ?? parameters[name];
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );

export const TASKS_OPERATIONS = {
  'admin.tasks': operation({
    query: TasksQuery,
    async handle({ call, query }, { db, clock }) {
      const { end, user, model, group, account, status } = query;
      const page = sortedPage('tasks', query, NEWEST);
      const start = query.start ?? new Date(clock.now() - DEFAULT_PERIOD_MS);
      const from = sql`${SELECT} where t.deleted_at is null and t.created_at >= ${start} ${end ? sql`and t.created_at < ${end}` : sql``}
      and ${matching({ user, model, group, account, status }, 't.')}`;
      const rows = await snapshot(db, (tx) => sortedRows<TaskRow>(tx, { ...page, from, id: 'id' }));
      sendPage(call, rows, {
        limit: query.limit,
        more: { currency: 'USD' },
        key: (row) => sortedKey(row, row.id, page.order),
        view: taskForOperator,
      });
    },
  }),
  'admin.task': operation({
    async handle({ id }, { db }) {
      const found = await snapshot(db, async (tx) => {
        const { rows } = await sql<TaskRow>`${SELECT} where t.id = ${id} and t.deleted_at is null`.execute(tx);
        const [task] = rows;
        if (!task) throw notFound('video task', id);
        const assets = await tx
          .selectFrom('video_task_assets')
          .select('asset_id')
          .where('user_id', '=', task.user_id)
          .where('task_id', '=', id)
          .orderBy('asset_id')
          .execute();
        return { task, assets };
      });
      const assets = found.assets.map(({ asset_id }) => asset_id);
      return { object: 'task', currency: 'USD', ...taskForOperator(found.task), assets };
    },
  }),
};

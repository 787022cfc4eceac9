/** Video tasks of all users for operators: where each is, what it holds, and on which account. Never shows a prompt or media. */
import { sql } from 'kysely';
import { z } from 'zod';
import { formatNanos } from '../../core/index.ts';
import { type Row, snapshot, sortedRows } from '../../platform/db/index.ts';
import { sendJson } from '../../platform/web/index.ts';
import { TASK_STATUSES } from '../../rules/index.ts';
import type { OperatorTask } from '../../schemas/index.ts';
import { notFound, operation } from './handler.ts';
import { sendPage, sortedKey, sortedPage, sortedParams } from './pagination.ts';
import { param, period } from './query-params.ts';

/** The default start. Without one, a rare status would be searched for in every task. */
const DEFAULT_PERIOD_MS = 30 * 86_400_000;

const NEWEST = 'created';

const TasksQuery = z.strictObject({
  user: param.user,
  model: param.model,
  group: param.group,
  account: param.account,
  status: z
    .enum(TASK_STATUSES)
    .describe(`of video tasks: ${TASK_STATUSES.map((status) => `\`${status}\``).join(', ')}; all by default`)
    .optional(),
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

export const listOperatorTasks = operation({
  query: TasksQuery,
  async handle({ call, query }, { db, clock }) {
    const { end, limit } = query;
    const page = sortedPage('tasks', query, NEWEST);
    const start = query.start ?? new Date(clock.now() - DEFAULT_PERIOD_MS);
    const columns = {
      user_id: query.user,
      model: query.model,
      group_id: query.group,
      account_id: query.account,
      status: query.status,
    };
    const conditions = [
      sql`t.deleted_at is null and t.created_at >= ${start}`,
      ...Object.entries(columns).flatMap(([name, value]) =>
        value === undefined ? [] : [sql`${sql.ref(`t.${name}`)} = ${value}`],
      ),
      ...(end ? [sql`t.created_at < ${end}`] : []),
    ];
    const from = sql`${SELECT} where ${sql.join(conditions, sql` and `)}`;
    const rows = await snapshot(db, (tx) => sortedRows<TaskRow>(tx, { ...page, from, id: 'id' }));
    sendPage(call, rows, {
      limit,
      more: { currency: 'USD' },
      key: (row) => sortedKey(row, row.id, page.order),
      view: taskForOperator,
    });
  },
});

export const getOperatorTask = operation({
  async handle({ call }, { db }) {
    const id = call.params.task ?? '';
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
    sendJson(call, 200, { object: 'task', currency: 'USD', ...taskForOperator(found.task), assets });
  },
});

const taskForOperator = (row: TaskRow): OperatorTask => ({
  id: row.id,
  user: row.user_id,
  key: row.key_id,
  group: row.group_id,
  account: row.account_id,
  upstream_task: row.upstream_id,
  model: row.model,
  status: row.status as OperatorTask['status'],
  submission: row.submission as OperatorTask['submission'],
  progress: row.progress,
  error: row.error as OperatorTask['error'],
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
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  finished_at: row.finished_at?.toISOString() ?? null,
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

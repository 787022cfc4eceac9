/**
 * Video tasks, assets and authorizations of all users for operators: where each is, and on which account. Never shows a
 * prompt or media.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { notFound } from '../../core/index.ts';
import { allRows, firstRow, type Row, snapshot, sortedRows } from '../../platform/db/index.ts';
import { ASSET_STATUSES, SESSION_STATUSES, TASK_STATUSES } from '../../rules/index.ts';
import { OperatorAsset, OperatorAuthorization, OperatorTask, OwnAuthorization, shownRow } from '../../schemas/index.ts';
import { shownHold } from '../../video/index.ts';
import { operation } from './handler.ts';
import { listOperation, matching, type RowList } from './list.ts';
import { pageParams, rowKey, sendPage, sortedKey, sortedPage, sortedParams } from './pagination.ts';
import { inState, param, params, period } from './query-params.ts';

/** The default start. Without one, a rare status would be searched for in every task. */
const DEFAULT_PERIOD_MS = 30 * 86_400_000;

const NEWEST = 'created';

const TasksQuery = z.strictObject({
  ...params('user', 'model', 'group', 'account'),
  status: inState('video tasks', TASK_STATUSES),
  ...period,
  ...sortedParams('tasks'),
});

interface TaskRow extends Row<'video_tasks'> {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly reported: Readonly<Record<string, unknown>> | null;
  readonly hold_state: string | null;
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
        : shownHold({ state: row.hold_state, nanos: row.hold_nanos, settled_nanos: row.settled_nanos }),
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

/** Real-person authorization sessions, of all users or of one. Never shows a link or the provider's token. */
const status = inState('sessions', SESSION_STATUSES);

/** For the people of a user, who never see the account. */
export const OwnAuthorizationsQuery = z.strictObject({ user: param.user, status, ...pageParams(rowKey.timeAndId) });

interface AuthorizationRow extends Omit<Row<'authorization_sessions'>, 'upstream_token_sealed'> {
  readonly group_name: string | null;
}

const LIST = {
  order: 'newest',
  /**
   * A session is expired from `expires_at` on, also before a job writes that down. Without the provider's token it is
   * still being created.
   */
  from: sql<AuthorizationRow>`
    select s.id, s.user_id, s.account_id, s.group_id, g.name as group_name, s.name, s.asset_group_id, s.expires_at, s.created_at, s.updated_at,
      case when s.status in ('pending', 'verifying') and s.expires_at <= now() then 'expired' else s.status end as status
    from authorization_sessions s left join groups g on g.id = s.group_id
    where s.status <> 'pending' or s.upstream_token_sealed is not null`,
} as const;

const groupOf = ({ group_id, group_name }: AuthorizationRow) => ({
  route_group_id: group_id,
  route_group_name: group_name ?? group_id,
});

export const OWN_AUTHORIZATIONS: RowList<AuthorizationRow> = {
  ...LIST,
  view: (row) => shownRow(OwnAuthorization, row, groupOf(row)),
};

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
        const task = await firstRow(tx)<TaskRow>`${SELECT} where t.id = ${id} and t.deleted_at is null`;
        if (!task) throw notFound('video task', id);
        const used = await allRows(tx)<Row<'video_task_assets'>>`
          select * from video_task_assets where user_id = ${task.user_id} and task_id = ${id} order by asset_id`;
        return { ...taskForOperator(task), assets: used.map(({ asset_id }) => asset_id) };
      });
      return { object: 'task', currency: 'USD', ...found };
    },
  }),
  /**
   * Private assets of all users for operators: which are usable, and on which account they live. Never shows the URL of
   * a caller.
   */
  'admin.assets': listOperation({
    filters: { ...params('user', 'group', 'account'), status: inState('assets', ASSET_STATUSES) },
    order: 'newest',
    from: sql<Row<'assets'>>`select * from assets where deleted_at is null`,
    view: (row) => shownRow(OperatorAsset, row, { group_id: row.asset_group_id, route_group_name: row.group_id }),
  }),
  'admin.authorizations': listOperation({
    ...LIST,
    filters: { user: param.user, account: param.account, status },
    view: (row) => shownRow(OperatorAuthorization, row, groupOf(row)),
  }),
};

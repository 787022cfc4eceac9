/** Real-person authorization sessions, of all users or of one. Never shows a link or the provider's token. */
import { sql } from 'kysely';
import { z } from 'zod';
import { type Db, type Row, snapshot } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { SESSION_STATUSES } from '../../rules/index.ts';
import type { OperatorAuthorization, OwnAuthorization } from '../../schemas/index.ts';
import { operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param } from './query-params.ts';

const status = z
  .enum(SESSION_STATUSES)
  .describe(`of sessions: ${SESSION_STATUSES.map((name) => `\`${name}\``).join(', ')}; all by default`)
  .optional();

const AuthorizationsQuery = z.strictObject({
  user: param.user,
  account: param.account,
  status,
  ...pageParams(rowKey.timeAndId),
});

/** For the people of a user, who never see the account. */
export const OwnAuthorizationsQuery = AuthorizationsQuery.omit({ account: true });

export const listAuthorizations = operation({
  query: AuthorizationsQuery,
  handle: ({ call, query }, { db }) => sendAuthorizations(call, query, { db, view: operatorView }),
});

interface AuthorizationRow extends Omit<Row<'authorization_sessions'>, 'upstream_token_sealed'> {
  readonly group_name: string | null;
  readonly state: OwnAuthorization['status'];
  readonly created: string;
}

interface Sending {
  readonly db: Db;
  readonly view: (row: AuthorizationRow) => object;
}

type Filters = Pick<z.output<typeof AuthorizationsQuery>, 'user' | 'account' | 'status' | 'limit' | 'cursor'>;

/** A session is expired from `expires_at` on, also before a job writes that down. */
const STATE = sql`case when s.status in ('pending', 'verifying') and s.expires_at <= now() then 'expired' else s.status end`;

export async function sendAuthorizations(
  call: Call,
  { user, account, status: wanted, limit, cursor }: Filters,
  { db, view }: Sending,
): Promise<void> {
  const conditions = [
    // A session without the provider's token is still being created.
    sql`(s.status <> 'pending' or s.upstream_token_sealed is not null)`,
    ...(user === undefined ? [] : [sql`s.user_id = ${user}`]),
    ...(account === undefined ? [] : [sql`s.account_id = ${account}`]),
    ...(wanted === undefined ? [] : [sql`${STATE} = ${wanted}`]),
    ...(cursor ? [sql`(s.created_at, s.id) < (${cursor[0]}::timestamptz, ${cursor[1]})`] : []),
  ];
  const page = sql<AuthorizationRow>`
    select s.id, s.user_id, s.account_id, s.group_id, g.name as group_name, s.name, ${STATE} as state, s.asset_group_id,
      s.expires_at, s.created_at, s.updated_at,
      to_char(s.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created
    from authorization_sessions s left join groups g on g.id = s.group_id
    where ${sql.join(conditions, sql` and `)} order by s.created_at desc, s.id desc limit ${limit + 1}`;
  const { rows } = await snapshot(db, (tx) => page.execute(tx));
  sendPage(call, rows, { limit, view, key: (row) => [row.created, row.id] });
}

export const authorizationView = (row: AuthorizationRow): OwnAuthorization => ({
  id: row.id,
  name: row.name,
  status: row.state,
  asset_group_id: row.asset_group_id,
  route_group_id: row.group_id,
  route_group_name: row.group_name ?? row.group_id,
  expires_at: row.expires_at.toISOString(),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});

const operatorView = (row: AuthorizationRow): OperatorAuthorization => ({
  ...authorizationView(row),
  user: row.user_id,
  account: row.account_id,
});

/** Real-person authorization sessions, of all users or of one. Never shows a link or the provider's token. */
import { sql } from 'kysely';
import { z } from 'zod';
import type { Row } from '../../platform/db/index.ts';
import { SESSION_STATUSES } from '../../rules/index.ts';
import { OperatorAuthorization, OwnAuthorization, shownRow } from '../../schemas/index.ts';
import { listOperation, type RowList } from './list.ts';
import { pageParams, rowKey } from './pagination.ts';
import { inState, param } from './query-params.ts';

const status = inState('sessions', SESSION_STATUSES);

/** For the people of a user, who never see the account. */
export const OwnAuthorizationsQuery = z.strictObject({ user: param.user, status, ...pageParams(rowKey.timeAndId) });

interface AuthorizationRow extends Omit<Row<'authorization_sessions'>, 'upstream_token_sealed'> {
  readonly group_name: string | null;
}

const LIST = {
  order: 'newest',
  /** A session is expired from `expires_at` on, also before a job writes that down. Without the provider's token it is still being created. */
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

export const AUTHORIZATIONS_OPERATIONS = {
  'admin.authorizations': listOperation({
    ...LIST,
    filters: { user: param.user, account: param.account, status },
    view: (row) => shownRow(OperatorAuthorization, row, groupOf(row)),
  }),
};

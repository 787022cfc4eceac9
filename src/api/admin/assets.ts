/** Private assets of all users for operators: which are usable, and on which account they live. Never shows the URL of a caller. */
import { sql } from 'kysely';
import type { Row } from '../../platform/db/index.ts';
import { ASSET_STATUSES } from '../../rules/index.ts';
import { OperatorAsset, shownRow } from '../../schemas/index.ts';
import { listOperation } from './list.ts';
import { inState, params } from './query-params.ts';

export const ASSETS_OPERATIONS = {
  'admin.assets': listOperation({
    filters: {
      ...params('user group account'),
      status: inState('assets', ASSET_STATUSES),
    },
    order: 'newest',
    from: sql<Row<'assets'>>`select * from assets where deleted_at is null`,
    view: (row) => shownRow(OperatorAsset, row, { group_id: row.asset_group_id, route_group_name: row.group_id }),
  }),
};

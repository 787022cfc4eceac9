/** Deletion of what a user keeps, whatever its kind. Lists are queries of the view `kept_objects`. */
import type { Row, Tx } from '../platform/db/index.ts';
import type { KeptKind } from '../rules/index.ts';
import { deleteBatchRow } from './batches/batch-store.ts';

export type KeptObjectRow = Row<'kept_objects'> & { readonly kind: KeptKind };

type Remove = (tx: Tx, userId: string, id: string) => Promise<unknown>;

const from =
  (table: 'files' | 'conversations' | 'provider_objects'): Remove =>
  (tx, userId, id) =>
    tx.deleteFrom(table).where('user_id', '=', userId).where('id', '=', id).execute();

/** Requests of a running batch that are on their way end as they do, and are charged. */
const REMOVE: Readonly<Record<KeptKind, Remove>> = {
  file: from('files'),
  batch: deleteBatchRow,
  conversation: from('conversations'),
  cache: from('provider_objects'),
  container: from('provider_objects'),
};

/** Returns what was deleted; undefined alike for unknown objects and those of other users. */
export async function removeObject(tx: Tx, userId: string, id: string): Promise<KeptObjectRow | undefined> {
  const own = tx.selectFrom('kept_objects').selectAll().where('user_id', '=', userId);
  const row = (await own.where('id', '=', id).executeTakeFirst()) as KeptObjectRow | undefined;
  if (row) await REMOVE[row.kind](tx, userId, id);
  return row;
}

/** What users keep: files, batches, conversations. Never a content. */
import { sql } from 'kysely';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import { type KeptObjectRow, removeObject } from '../../gateway/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { KEPT_KINDS } from '../../rules/index.ts';
import { KeptObject, OperatorObject, shownRow } from '../../schemas/index.ts';
import { notFound, operation } from './handler.ts';
import { listOperation, type RowList } from './list.ts';
import { inState, param, params } from './query-params.ts';

const LIST = {
  order: 'newest',
  from: sql<KeptObjectRow>`select * from kept_objects where is_complete and expires_at > now()`,
} as const;

const bytesOf = ({ bytes }: KeptObjectRow): number | null => (bytes === null ? null : Number(bytes));

export const objectFilters = { user: param.user, kind: inState('objects', KEPT_KINDS) };

export const ownObjects: RowList<KeptObjectRow> = {
  ...LIST,
  view: (row) => shownRow(KeptObject, row, { bytes: bytesOf(row) }),
};

interface Deletion {
  readonly userId: string;
  readonly id: string;
  readonly by: Actor;
}

/** The object and the audit line are one transaction. The line has no name of a file: names are content. */
export const deleteObject = (db: Db, { userId, id, by }: Deletion) =>
  db.transaction().execute(async (tx) => {
    const row = await removeObject(tx, userId, id);
    if (!row) throw notFound('object', id);
    const before = { user: userId, kind: row.kind, bytes: bytesOf(row) };
    await writeAudit(tx, by, { action: 'object.deleted', subject: `object:${id}`, before });
    return { object: 'kept_object', id, kind: row.kind, deleted: true };
  });

export const OBJECTS_OPERATIONS = {
  'admin.objects': listOperation({
    ...LIST,
    filters: { ...objectFilters, ...params('key account') },
    view: (row) => shownRow(OperatorObject, row, { bytes: bytesOf(row) }),
  }),
  'admin.deleteObject': operation({
    handle: ({ call, by }, { db }) => {
      const { user: userId = '', object: id = '' } = call.params;
      return deleteObject(db, { userId, id, by });
    },
  }),
};

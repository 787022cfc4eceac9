/** What users keep: files, batches, conversations, and objects at providers. Never a content. */
import { sql } from 'kysely';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import { notFound } from '../../core/index.ts';
import { type KeptObjectRow, removeObject } from '../../gateway/index.ts';
import { KEPT_KINDS } from '../../rules/index.ts';
import { KeptObject, OperatorObject, shownRow } from '../../schemas/index.ts';
import { type AdminServices, operation } from './handler.ts';
import { listOperation, type RowList } from './list.ts';
import { inState, param, params } from './query-params.ts';

const LIST = {
  order: 'newest',
  from: sql<KeptObjectRow>`select * from kept_objects where is_complete and expires_at > now()`,
} as const;

const numberOf = (value: bigint | null): number | null => (value === null ? null : Number(value));
const sizesOf = ({ bytes, tokens }: KeptObjectRow) => ({ bytes: numberOf(bytes), tokens: numberOf(tokens) });

export const objectFilters = { user: param.user, kind: inState('objects', KEPT_KINDS) };

export const ownObjects: RowList<KeptObjectRow> = {
  ...LIST,
  view: (row) => shownRow(KeptObject, row, sizesOf(row)),
};

interface Deletion {
  readonly userId: string;
  readonly id: string;
  readonly by: Actor;
}

/** The object and the audit line are one transaction. The line has no name of a file: names are content. */
export async function deleteObject(
  { db, deleteAtProvider }: Pick<AdminServices, 'db' | 'deleteAtProvider'>,
  { userId, id, by }: Deletion,
) {
  await deleteAtProvider({ userId, id });
  return db.transaction().execute(async (tx) => {
    const row = await removeObject(tx, userId, id);
    if (!row) throw notFound('object', id);
    const before = { user: userId, kind: row.kind, bytes: numberOf(row.bytes) };
    await writeAudit(tx, by, { action: 'object.deleted', subject: `object:${id}`, before });
    return { object: 'kept_object', id, kind: row.kind, deleted: true };
  });
}

export const OBJECTS_OPERATIONS = {
  'admin.objects': listOperation({
    ...LIST,
    filters: { ...objectFilters, ...params('key', 'account') },
    view: (row) => shownRow(OperatorObject, row, sizesOf(row)),
  }),
  'admin.deleteObject': operation({
    handle: ({ call, by }, services) => {
      const { user: userId = '', object: id = '' } = call.params;
      return deleteObject(services, { userId, id, by });
    },
  }),
};

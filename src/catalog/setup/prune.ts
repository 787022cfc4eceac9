/**
 * Removes objects that a file does not name. Users and prices stay, because history refers to them; for the same reason
 * keys are revoked.
 */
import { sql } from 'kysely';
import { markKeyRevoked } from '../../access/keys/index.ts';
import type { Row, Tx } from '../../platform/db/index.ts';
import type { SetupFile } from '../../schemas/index.ts';
import type { Change, RecordChange } from './save-row.ts';
import { SetupError } from './setup-document.ts';

export async function prune(tx: Tx, file: SetupFile, recordChange: RecordChange): Promise<void> {
  for (const { id, object } of await unnamedKeys(tx, file)) {
    await markKeyRevoked(tx, id);
    recordChange('revoked', object);
  }
  for (const { object, remove } of await findUnnamed(tx, file)) {
    await remove();
    recordChange('removed', object);
  }
}

/** Objects that a prune removes or revokes, by kind, and those of these kinds that stay. */
export interface Removal {
  readonly removed: number;
  readonly kept: number;
  readonly text: string;
}

/** A prune that removes more than it keeps: probably a document that lacks a part. */
export class RemovalError extends SetupError {
  readonly removal: Removal;

  constructor(removal: Removal) {
    super([`would remove ${removal.text} and keep ${removal.kept} objects`]);
    this.removal = removal;
  }
}

const KINDS = ['group', 'account', 'model', 'character', 'key'];
const kindOf = ({ object }: Change): string => object.slice(0, object.indexOf(' '));

/** Of the changes that were made in the transaction. What the file creates is not kept. */
export async function removalOf(tx: Tx, changes: readonly Change[]): Promise<Removal> {
  const removed = changes.filter(({ what }) => what === 'removed' || what === 'revoked');
  const created = changes.filter((change) => change.what === 'created' && KINDS.includes(kindOf(change)));
  const { rows } = await sql<{ stored: number }>`
    select ((select count(*) from groups) + (select count(*) from accounts) + (select count(*) from models)
      + (select count(*) from characters) + (select count(*) from keys
      where revoked_at is null))::int as stored`.execute(tx);
  const counts = Map.groupBy(removed, kindOf);
  const text = KINDS.flatMap((kind) => {
    const count = counts.get(kind)?.length ?? 0;
    return count === 0 ? [] : [`${count} ${kind}${count === 1 ? '' : 's'}`];
  });
  return { removed: removed.length, kept: (rows[0]?.stored ?? 0) - created.length, text: text.join(', ') };
}

export const isMass = ({ removed, kept }: Removal): boolean => removed > kept;

interface Unnamed {
  readonly object: string;
  remove(): Promise<unknown>;
}

/**
 * In the order of removal: groups last, because the others refer to them. Without keys: there may be millions, created
 * beside the file.
 */
export async function findUnnamed(tx: Tx, file: SetupFile): Promise<Unnamed[]> {
  const found = await unnamedModels(tx, file);
  for (const table of ['characters', 'accounts', 'groups'] as const) {
    const named = new Set(file[table].map(({ id }) => id));
    for (const { id } of await tx.selectFrom(table).select('id').execute())
      if (!named.has(id))
        found.push({
          object: `${table.slice(0, -1)} ${id}`,
          remove: () => tx.deleteFrom(table).where('id', '=', id).execute(),
        });
  }
  return found;
}

async function unnamedKeys(tx: Tx, file: SetupFile): Promise<{ readonly id: string; readonly object: string }[]> {
  const named = new Set(file.keys.map((key) => `${key.user}/${key.group}/${key.name ?? 'default'}`));
  const { rows: keys } = await sql<Pick<Row<'keys'>, 'id' | 'name' | 'user_id' | 'group_id'>>`
    select id, name, user_id, group_id from keys where revoked_at is null`.execute(tx);
  return keys
    .filter((key) => !named.has(`${key.user_id}/${key.group_id}/${key.name}`))
    .map((key) => ({ id: key.id, object: `key ${key.name} of ${key.user_id} in ${key.group_id}` }));
}

async function unnamedModels(tx: Tx, file: SetupFile): Promise<Unnamed[]> {
  const named = new Set(file.models.flatMap((model) => model.groups.map((group) => `${group}/${model.id}`)));
  const models = await tx.selectFrom('models').selectAll().execute();
  return models
    .filter((model) => !named.has(`${model.group_id}/${model.pattern}`))
    .map((model) => ({
      object: `model ${model.pattern} of ${model.group_id}`,
      remove: () => tx.deleteFrom('models').where('id', '=', model.id).execute(),
    }));
}

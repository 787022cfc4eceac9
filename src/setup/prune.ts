/**
 * Removes configured objects that a file does not name. Users stay, because they own money and history. Keys are revoked, not
 * removed, for the same reason. Prices stay when their model is removed, because charges refer to them.
 */
import type { Transaction } from 'kysely';
import type { Rows } from '../db/index.ts';
import { markKeyRevoked } from '../identity/index.ts';
import type { RecordChange } from './save-row.ts';
import type { SetupFile } from './schema.ts';

type Tx = Transaction<Rows>;

export async function prune(tx: Tx, file: SetupFile, recordChange: RecordChange): Promise<void> {
  for (const { what, object, remove } of await findUnnamed(tx, file)) {
    await remove();
    recordChange(what, object);
  }
}

/** An object of the database that the file does not name. */
interface Unnamed {
  readonly object: string;
  readonly what: 'removed' | 'revoked';
  remove(): Promise<unknown>;
}

/** In the order in which they can be removed: groups last, because the others refer to them. */
export async function findUnnamed(tx: Tx, file: SetupFile): Promise<Unnamed[]> {
  const found = [...(await unnamedKeys(tx, file)), ...(await unnamedModels(tx, file))];
  for (const table of ['characters', 'accounts', 'groups'] as const) {
    const named = new Set(file[table].map(({ id }) => id));
    for (const { id } of await tx.selectFrom(table).select('id').execute())
      if (!named.has(id))
        found.push({
          object: `${table.slice(0, -1)} ${id}`,
          what: 'removed',
          remove: () => tx.deleteFrom(table).where('id', '=', id).execute(),
        });
  }
  return found;
}

async function unnamedKeys(tx: Tx, file: SetupFile): Promise<Unnamed[]> {
  const named = new Set(file.keys.map((key) => `${key.user}/${key.group}/${key.name ?? 'default'}`));
  const keys = await tx.selectFrom('keys').selectAll().where('revoked_at', 'is', null).execute();
  return keys
    .filter((key) => !named.has(`${key.user_id}/${key.group_id}/${key.name}`))
    .map((key) => ({
      object: `key ${key.name} of ${key.user_id} in ${key.group_id}`,
      what: 'revoked',
      remove: () => markKeyRevoked(tx, key.id),
    }));
}

async function unnamedModels(tx: Tx, file: SetupFile): Promise<Unnamed[]> {
  const named = new Set(file.models.flatMap((model) => model.groups.map((group) => `${group}/${model.id}`)));
  const models = await tx.selectFrom('models').selectAll().execute();
  return models
    .filter((model) => !named.has(`${model.group_id}/${model.pattern}`))
    .map((model) => ({
      object: `model ${model.pattern} of ${model.group_id}`,
      what: 'removed',
      remove: () => tx.deleteFrom('models').where('id', '=', model.id).execute(),
    }));
}

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
  await pruneKeys(tx, file, recordChange);
  await pruneModels(tx, file, recordChange);
  for (const table of ['characters', 'accounts', 'groups'] as const) {
    const named = new Set(file[table].map(({ id }) => id));
    for (const { id } of await tx.selectFrom(table).select('id').execute()) {
      if (named.has(id)) continue;
      await tx.deleteFrom(table).where('id', '=', id).execute();
      recordChange('removed', `${table.slice(0, -1)} ${id}`);
    }
  }
}

async function pruneKeys(tx: Tx, file: SetupFile, recordChange: RecordChange): Promise<void> {
  const named = new Set(file.keys.map((key) => `${key.user}/${key.group}/${key.name ?? 'default'}`));
  for (const key of await tx.selectFrom('keys').selectAll().where('revoked_at', 'is', null).execute()) {
    if (named.has(`${key.user_id}/${key.group_id}/${key.name}`)) continue;
    await markKeyRevoked(tx, key.id);
    recordChange('revoked', `key ${key.name} of ${key.user_id} in ${key.group_id}`);
  }
}

async function pruneModels(tx: Tx, file: SetupFile, recordChange: RecordChange): Promise<void> {
  const named = new Set(file.models.flatMap((model) => model.groups.map((group) => `${group}/${model.id}`)));
  for (const model of await tx.selectFrom('models').selectAll().execute()) {
    if (named.has(`${model.group_id}/${model.pattern}`)) continue;
    await tx.deleteFrom('models').where('id', '=', model.id).execute();
    recordChange('removed', `model ${model.pattern} of ${model.group_id}`);
  }
}

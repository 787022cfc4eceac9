/** Responses and other objects that providers keep for a user who is erased: deleted there, a batch per run. */
import { sql } from 'kysely';
import type { ErasedUser } from '../../access/people/index.ts';
import { deleteHeld, type Held } from '../objects/delete-at-provider.ts';
import type { BackgroundServices } from './settle.ts';

const BATCH = 200;
const PARALLEL = 4;

export async function eraseResponses(services: BackgroundServices, user: ErasedUser): Promise<number> {
  // Those that a provider does not delete now must not keep the others waiting.
  const { rows } = await sql<HeldRow>`
    select * from (
      select 'stored_responses' as table, 'reply' as kind, id, account_id from stored_responses
      where user_id = ${user.userId} and account_id is not null and sealed is null
      union all select 'provider_objects', kind, id, account_id from provider_objects where user_id = ${user.userId}) held
    order by random() limit ${BATCH}`.execute(services.db);
  let left = 0;
  const eraseNext = async (): Promise<void> => {
    for (let row = rows.pop(); row; row = rows.pop()) {
      const { table, id, account_id: account } = row;
      const outcome = await deleteHeld(services, row);
      if (outcome === 'failed' && !user.isOverdue) continue;
      await services.db.deleteFrom(table).where('id', '=', id).where('user_id', '=', user.userId).execute();
      if (outcome === 'gone') continue;
      left += 1;
      services.log.warn('erasure.object_left', { table, id, account });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, eraseNext));
  return left;
}

interface HeldRow extends Held {
  readonly table: 'stored_responses' | 'provider_objects';
}

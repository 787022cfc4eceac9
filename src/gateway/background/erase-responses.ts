/** Responses and other objects that providers keep for a user who is erased: deleted there, a batch per run. */
import { sql } from 'kysely';
import type { ErasedUser } from '../../access/people/index.ts';
import { deleteHeld, type Held } from '../objects/delete-at-provider.ts';
import { MADE_FILE } from '../stored/owned-ids.ts';
import type { BackgroundServices } from './settle.ts';

const BATCH = 200;
const PARALLEL = 4;

export async function eraseResponses(services: BackgroundServices, user: ErasedUser): Promise<number> {
  // Those that a provider does not delete now must not keep the others waiting.
  const { rows } = await sql<HeldRow>`
    select * from (
      select 'stored_responses' as table, 'reply' as kind, id, account_id, item_ids from stored_responses
      where user_id = ${user.userId} and account_id is not null and sealed is null
      union all select 'provider_objects', kind, id, account_id, '{}' from provider_objects
        where user_id = ${user.userId}) held
    order by random() limit ${BATCH}`.execute(services.db);
  let left = 0;
  const eraseNext = async (): Promise<void> => {
    for (let row = rows.pop(); row; row = rows.pop()) {
      const { table, id, account_id: account } = row;
      const outcome = await deleteAll(services, row);
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
  readonly item_ids: readonly string[];
}

/** Providers of messages keep no replies, but files that code has made for them. */
async function deleteAll(services: BackgroundServices, row: HeldRow): Promise<'gone' | 'left' | 'failed'> {
  const { catalog } = services;
  const { account_id, item_ids } = row;
  const groupId = catalog().account(account_id)?.groupId;
  const isMessages = groupId !== undefined && catalog().group(groupId)?.style === 'messages';
  const files = item_ids.filter((id) => MADE_FILE.test(id)).map((id): Held => ({ kind: 'file', id, account_id }));
  for (const held of isMessages ? files : [row]) {
    const outcome = await deleteHeld(services, held);
    if (outcome !== 'gone') return outcome;
  }
  return 'gone';
}

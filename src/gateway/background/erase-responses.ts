/** Responses and other objects that providers keep for a user who is erased: deleted there, a batch per run. */
import { sql } from 'kysely';
import type { ErasedUser } from '../../access/people/index.ts';
import { fetchJson } from '../../providers/upstream/index.ts';
import { heldRequest } from '../upstream-request.ts';
import type { BackgroundServices } from './settle.ts';

const BATCH = 200;
const PARALLEL = 4;

export async function eraseResponses(services: BackgroundServices, user: ErasedUser): Promise<number> {
  // Those that a provider does not delete now must not keep the others waiting.
  const { rows } = await sql<HeldRow>`
    select * from (
      select 'stored_responses' as table, id, account_id from stored_responses
      where user_id = ${user.userId} and account_id is not null and sealed is null
      union all select 'provider_objects', id, account_id from provider_objects where user_id = ${user.userId}) held
    order by random() limit ${BATCH}`.execute(services.db);
  let left = 0;
  const eraseNext = async (): Promise<void> => {
    for (let row = rows.pop(); row; row = rows.pop()) {
      const { table, id, account_id: account } = row;
      const outcome = await deleteUpstream(services, row);
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

interface HeldRow {
  readonly table: 'stored_responses' | 'provider_objects';
  readonly id: string;
  readonly account_id: string;
}

async function deleteUpstream({ catalog, upstream }: BackgroundServices, { table, id, account_id }: HeldRow) {
  const account = catalog().account(account_id);
  if (!account) return 'left';
  const isCache = table === 'provider_objects';
  const sent = heldRequest('DELETE', catalog().group(account.groupId)?.style, account, id, isCache);
  const status = (await fetchJson(upstream, sent))?.status;
  return status === 200 || status === 404 ? 'gone' : 'failed';
}

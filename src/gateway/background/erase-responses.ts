/** Responses that providers store for a user who is erased: deleted there, a batch per run. */
import { sql } from 'kysely';
import type { ErasedUser } from '../../access/people/index.ts';
import { fetchJson } from '../../providers/upstream/index.ts';
import { heldRequest } from '../upstream-request.ts';
import type { BackgroundServices } from './settle.ts';

const BATCH = 200;
const PARALLEL = 4;

export async function eraseResponses(services: BackgroundServices, user: ErasedUser): Promise<number> {
  // Those that a provider does not delete now must not keep the others waiting.
  const { rows } = await sql<{ id: string; account_id: string }>`
    select id, account_id from stored_responses where user_id = ${user.userId} and account_id is not null and sealed is null
    order by random() limit ${BATCH}`.execute(services.db);
  let left = 0;
  const eraseNext = async (): Promise<void> => {
    for (let row = rows.pop(); row; row = rows.pop()) {
      const { id, account_id: account } = row;
      const outcome = await deleteUpstream(services, id, account);
      if (outcome === 'failed' && !user.isOverdue) continue;
      await sql`delete from stored_responses where id = ${id} and user_id = ${user.userId}`.execute(services.db);
      if (outcome === 'gone') continue;
      left += 1;
      services.log.warn('erasure.object_left', { table: 'stored_responses', id, account });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, eraseNext));
  return left;
}

async function deleteUpstream({ catalog, upstream }: BackgroundServices, id: string, accountId: string) {
  const account = catalog().account(accountId);
  if (!account) return 'left';
  const sent = heldRequest('DELETE', catalog().group(account.groupId)?.style, account, id);
  const status = (await fetchJson(upstream, sent))?.status;
  return status === 200 || status === 404 ? 'gone' : 'failed';
}

/** Containers that a provider made for responses: whose they are, while they live. Lists come from these rows. */
import { sql } from 'kysely';
import type { Db } from '../../platform/db/index.ts';
import { CONTAINERS } from '../../rules/index.ts';

interface MakingResponse {
  readonly userId: string;
  readonly accountId?: string;
  readonly itemIds: readonly string[];
}

/** Each use lets a container live for as long again. */
export async function noteContainers(db: Db, responses: readonly MakingResponse[]): Promise<void> {
  const expires_at = sql<Date>`now() + ${CONTAINERS.idleMinutes} * interval '1 minute'`;
  const used = responses.flatMap(({ userId: user_id, accountId: account_id, itemIds }) =>
    itemIds.flatMap((id) => (account_id !== undefined && CONTAINERS.id.test(id) ? [{ user_id, account_id, id }] : [])),
  );
  if (used.length === 0) return;
  const rows = new Map(used.map((row) => [`${row.user_id} ${row.id}`, row]));
  await db
    .insertInto('provider_objects')
    .values(
      [...rows.values()].map((row) => ({ ...row, kind: 'container', model: '', tokens: 0n, shown: '{}', expires_at })),
    )
    .onConflict((known) => known.columns(['user_id', 'kind', 'id']).doUpdateSet({ expires_at }))
    .execute();
}

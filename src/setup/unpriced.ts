/** Models of provider groups that are neither priced nor free. Requests for them are rejected. */
import { sql } from 'kysely';
import type { Db } from '../db/index.ts';

export const UNPRICED_ADVICE =
  'Requests get model_not_priced: set prices, run "dragoman prices import", or set free: true to give it away.';

const MAX_LISTED = 100;

/** In the order of the configuration, such as `gpt-5 of openai`. Announced prices do not count yet. */
export async function findUnpriced(db: Db): Promise<string[]> {
  const { rows } = await sql<{ pattern: string; group_id: string }>`
    select m.pattern, m.group_id from models m join groups g on g.id = m.group_id
    where g.style <> 'video' and not m.free and coalesce((
      select p.rates from prices p where p.model_id = m.id and p.valid_from <= now()
      order by p.valid_from desc, p.id desc limit 1), '{}') = '{}'
    order by g.position, g.id, m.position, m.id limit ${MAX_LISTED}`.execute(db);
  return rows.map(({ pattern, group_id }) => `${pattern} of ${group_id}`);
}

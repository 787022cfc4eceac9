/** The alarm about callbacks that were given up, by destination. Ends a day after the last one, or when they are redelivered. */
import { sql } from 'kysely';
import type { Db } from '../../db/index.ts';
import { type Alarm, alarm } from '../../ledger/index.ts';

export async function findDeadCallbacks(db: Db): Promise<Alarm> {
  const { rows } = await sql<{ user: string; host: string; events: bigint }>`
    select user_id as user, host, count(*) as events from callback_events
    where state = 'dead' and finished_at > now() - interval '1 day'
    group by user_id, host order by 3 desc limit 1000`.execute(db);
  return alarm('callbacks_dead', rows, ({ user, host, events }) => `${events} of ${user} to ${host}`);
}

/** The law of provider costs: whatever is charged at a price with cost rates has its provider cost in the usage record. */
import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Db } from '../../src/platform/db/index.ts';

interface CostedRecord {
  readonly operation: string;
  readonly request_id: string;
  readonly cost_nanos: bigint | null;
}

/** Returns the operations of the records, so that a test can tell that they were made. */
export async function checkBookedCosts(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<CostedRecord>`
    select u.operation, u.request_id, u.cost_nanos from usage_records u
    join prices p on p.id = u.price_id join accounts a on a.id = u.account_id
    where p.cost is not null`.execute(db);
  const unbooked = rows.filter(({ cost_nanos: cost }) => cost === null);
  assert.deepEqual(unbooked, [], 'records without a provider cost');
  assert.ok(rows.length > 0, 'no record has a price with cost rates');
  return new Set(rows.map(({ operation }) => operation));
}

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { newRequestId, silentLog, systemClock } from '../../core/index.ts';
import { type Database, openDatabase } from '../../platform/db/index.ts';
import { listRequests } from './find-requests.ts';
import type { RequestEntry } from './request-entry.ts';
import { RequestWriter } from './request-writer.ts';
import { RequestRollUp } from './roll-up.ts';

let own: TestDatabase;
let database: Database;
before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url);
});
after(async () => {
  await database.close();
  await own.drop();
});

const AT = Date.UTC(2026, 10, 17, 12);

const entryOf = (usage: object | undefined, n: number): RequestEntry =>
  ({
    id: newRequestId(AT + n),
    at: AT + n,
    userId: 'ann',
    keyId: 'key',
    groupId: 'chat',
    operation: 'chat.create',
    model: 'm',
    stream: false,
    status: 200,
    outcome: 'completed',
    totalMs: 10,
    charge: usage && { usage, nanos: 5n, priceId: null, multipliersPpm: undefined, estimated: false, accountId: 'a' },
    trace: { attempts: [] },
  }) as unknown as RequestEntry;

test('RequestWriter logs usage that is read as it was reported, also if it cannot be believed', async () => {
  const plain = { input: 12, cacheRead: 3, cacheWrite: 0, output: 7 };
  const usages = [
    plain,
    { ...plain, reasoning: 2, tier: 'flex' },
    { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 },
    { input: 1 },
    { ...plain, input: -4, invalid: 'input is negative' },
    { ...plain, output: 1.5 },
    undefined,
  ];
  await new RequestWriter({ db: database.db, log: silentLog }).write(usages.map(entryOf));
  // A line of an earlier version.
  await sql`update requests set usage = '{"input":9,"output":1}', input_tokens = null, cached_input_tokens = null,
    cache_write_tokens = null, output_tokens = null where at = ${new Date(AT)}`.execute(database.db);
  const { rows } = await listRequests(database.db, { owner: 'ann', limit: 100 });
  const read = rows.map(({ usage }) => usage).reverse();
  assert.deepEqual(read, [{ input: 9, output: 1 }, ...usages.slice(1, -1), null]);
});

test('RequestWriter counts no tokens that cannot be believed, and building an hour again changes nothing', async () => {
  const hour = 2 * 3_600_000;
  const counts = { cacheRead: 0, cacheWrite: 0, output: 7 };
  const usages = [
    { input: 12, ...counts },
    { input: 1e300, ...counts },
    { input: Number.MAX_SAFE_INTEGER, ...counts },
  ];
  const entries = usages.map((usage, n) => entryOf(usage, hour + n));
  await new RequestWriter({ db: database.db, log: silentLog }).write(entries);
  const total = async () =>
    (
      await sql<{ requests: bigint; input_tokens: bigint; output_tokens: bigint }>`
        select requests, input_tokens, output_tokens from request_hours
        where level = 'total' and hour = ${new Date(AT + hour)}`.execute(database.db)
    ).rows[0];
  const expected = { requests: 3n, input_tokens: 12n, output_tokens: 21n };
  assert.deepEqual({ ...(await total()) }, expected);
  await sql`insert into request_hours_due values (${new Date(AT + hour)})`.execute(database.db);
  await new RequestRollUp(database, systemClock).run();
  assert.deepEqual({ ...(await total()) }, expected);
});

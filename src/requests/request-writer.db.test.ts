import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../test/support/database.ts';
import { newRequestId, silentLog } from '../core/index.ts';
import { type Database, openDatabase } from '../db/index.ts';
import { listRequests } from './find-requests.ts';
import type { RequestEntry } from './request-entry.ts';
import { RequestWriter } from './request-writer.ts';

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

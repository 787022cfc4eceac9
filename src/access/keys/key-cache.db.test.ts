/** How long a replica believes what it has read of a key. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { createSealer } from '../../core/index.ts';
import { type Database, openDatabase } from '../../platform/db/index.ts';
import { KeyCache } from './key-cache.ts';
import { type KeyInput, markKeyRevoked, saveKey } from './keys.ts';

const secrets = { pepper: randomBytes(32), sealer: createSealer([['k1', 'x'.repeat(32)]]) };
let own: TestDatabase;
let database: Database;

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url, 2);
  await sql`
    insert into groups (id, style, name, position) values ('openai', 'responses', 'x', 0);
    insert into users (id) values ('ann')`.execute(database.db);
});
after(async () => {
  await database.close();
  await own.drop();
});

async function makeKey(name: string, more: Partial<KeyInput> = {}): Promise<{ id: string; value: string }> {
  const { id, value = '' } = await saveKey(database.db, { user: 'ann', group: 'openai', name, ...more }, secrets);
  return { id, value };
}

test('a cached key is refused from the moment of its expiry on', async () => {
  const clock = new FakeClock();
  const { value } = await makeKey('short', { expires_at: new Date(clock.now() + 1_000).toISOString() });
  const cache = new KeyCache(database.db, secrets.pepper, clock);
  assert.equal((await cache.find(value))?.name, 'short');
  clock.advance(999);
  assert.ok(cache.find(value), 'without a query');
  clock.advance(1);
  assert.equal(await cache.find(value), undefined);
  clock.advance(5_000);
  assert.equal(await cache.find(value), undefined, 'nor by a new query');
});

test('a key that is revoked while it is read is not believed afterwards', async () => {
  const { id, value } = await makeKey('revoked');
  const cache = new KeyCache(database.db, secrets.pepper, new FakeClock());
  const reading = cache.find(value);
  cache.clear();
  assert.ok(await reading);
  await markKeyRevoked(database.db, id);
  assert.equal(await cache.find(value), undefined);
});

test('without the database, a key is believed as long as the wallet leases of the replica, half a minute', async () => {
  const clock = new FakeClock();
  const { value } = await makeKey('outage');
  const gone = openDatabase(own.url, 1);
  const cache = new KeyCache(gone.db, secrets.pepper, clock);
  assert.ok(await cache.find(value));
  await gone.close();
  clock.advance(29_999);
  assert.equal((await cache.find(value))?.name, 'outage');
  clock.advance(1);
  await assert.rejects(async () => cache.find(value));
});

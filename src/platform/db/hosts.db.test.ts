/** Connections to the one of several servers that accepts writes. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { TcpRelay } from '../../../test/support/tcp-relay.ts';
import { connect, type Database, openDatabase } from './db.ts';
import { DatabaseUnavailable } from './pool.ts';

let own: TestDatabase;
let relays: TcpRelay[];
let database: Database | undefined;

before(async () => {
  own = await testDatabase();
  relays = await Promise.all([own.url, own.url].map((url) => TcpRelay.start(url)));
});
after(async () => {
  await database?.close();
  await Promise.all(relays.map((relay) => relay.close()));
  await own.drop();
});

const hostOf = (url: string): string => new URL(url).host;

test('connections go to the host that is left when another one is lost', async () => {
  const [first, second] = relays as [TcpRelay, TcpRelay];
  const url = first.url.replace(hostOf(first.url), `${hostOf(first.url)},${hostOf(second.url)}`);
  database = openDatabase(url, 4);
  const read = async (): Promise<number> => {
    const { rows } = await sql<{ n: number }>`select 1 as n`.execute((database as Database).db);
    return rows[0]?.n ?? 0;
  };
  assert.equal(await read(), 1);
  const [used, other] = first.openConnections > 0 ? [first, second] : [second, first];
  used.misbehave('refuses');
  // The first one may still get a connection that has just been closed.
  await read().catch(() => {});
  assert.equal(await read(), 1);
  assert.ok(other.openConnections > 0);
  const client = await connect(url);
  await client.end();
});

test('a server that has become read-only is left, and statements fail as with a database that is away', async () => {
  const { db } = database as Database;
  const name = sql.id(new URL(own.url).pathname.slice(1));
  await sql`alter database ${name} set default_transaction_read_only = on`.execute(db);
  // The server reports the new value, as a standby or a server with new settings does.
  await sql`set default_transaction_read_only = on`.execute(db);
  await assert.rejects(
    sql`create table kept ()`.execute(db),
    (error) => error instanceof DatabaseUnavailable && /no host accepts writes .*read-only/.test(error.message),
  );
});

test('a write that a read-only server refuses fails as with a database that is away', async () => {
  const single = openDatabase(own.url, 1);
  try {
    await assert.rejects(
      sql`create table kept ()`.execute(single.db),
      (error) => error instanceof DatabaseUnavailable && error.code === '25006',
    );
  } finally {
    await single.close();
  }
});

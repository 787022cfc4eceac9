import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { TcpRelay } from '../../../test/support/tcp-relay.ts';
import { until } from '../../../test/support/wait.ts';
import { silentLog } from '../../core/index.ts';
import { type Database, openDatabase, type RevisionName, RevisionWatch } from './index.ts';

let own: TestDatabase;
let database: Database;
let calls: RevisionName[];

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url);
});
beforeEach(() => {
  calls = [];
});
after(async () => {
  await database.close();
  await own.drop();
});

let users = 0;
const change = () => {
  users += 1;
  return database.db
    .insertInto('users')
    .values({ id: `u${users}` })
    .execute();
};
const options = () => ({ database, clock: new FakeClock(), log: silentLog });
const record = (name: RevisionName): void => void calls.push(name);

test('RevisionWatch reports every revision at the start, and later only what changed', async () => {
  const watch = await RevisionWatch.start({ ...options(), onChange: record });
  try {
    assert.deepEqual(calls.toSorted(), ['catalog', 'identity', 'pool']);
    await watch.check();
    assert.equal(calls.length, 3);
    await change();
    await until('the notification', () => calls.length > 3);
    assert.deepEqual(calls.slice(3), ['identity']);
  } finally {
    await watch.stop();
  }
});

test('RevisionWatch finds a change without a notification', async () => {
  const clock = new FakeClock();
  const watch = await RevisionWatch.start({ ...options(), clock, onChange: record });
  try {
    // Changes the revision without a notification.
    await database.db.updateTable('revisions').set({ revision: 1_000_000n }).where('name', '=', 'catalog').execute();
    clock.advance(2_000);
    await until('the periodic check', () => calls.length > 3);
    assert.deepEqual(calls.slice(3), ['catalog']);
  } finally {
    await watch.stop();
  }
});

test('RevisionWatch reports a change again when the reload failed', async () => {
  let isBroken = false;
  const reload = (name: RevisionName): void => {
    if (isBroken) throw new Error('not now');
    calls.push(name);
  };
  const watch = await RevisionWatch.start({ ...options(), onChange: reload });
  try {
    isBroken = true;
    await change();
    await assert.rejects(watch.check(), /not now/);
    isBroken = false;
    await watch.check();
    assert.deepEqual(calls.slice(3), ['identity']);
  } finally {
    await watch.stop();
  }
});

test('RevisionWatch runs reloads one after another', async () => {
  let running = 0;
  let max = 0;
  const reload = async (name: RevisionName): Promise<void> => {
    running += 1;
    max = Math.max(max, running);
    await database.db.selectFrom('users').selectAll().execute();
    running -= 1;
    calls.push(name);
  };
  const watch = await RevisionWatch.start({ ...options(), onChange: reload });
  try {
    for (let n = 0; n < 5; n += 1) {
      await change();
      void watch.check();
    }
    await watch.check();
    assert.equal(max, 1);
    assert.equal(calls.at(-1), 'identity');
  } finally {
    await watch.stop();
  }
});

test('RevisionWatch listens on a new connection when its own has gone silent', async () => {
  const relay = await TcpRelay.start(own.url);
  const clock = new FakeClock();
  const behindRelay = { ...database, url: relay.url };
  const watch = await RevisionWatch.start({ ...options(), database: behindRelay, clock, onChange: record });
  try {
    relay.silenceOpen();
    clock.advance(2_000);
    // The limit of the probe, then the pause before the next connection.
    clock.advance(5_000);
    await until('the silent connection to be closed', () => relay.openConnections === 0);
    await until('the next connection', () => {
      clock.advance(1_000);
      return relay.openConnections > 0;
    });
    const seen = calls.length;
    await until('a notification', async () => {
      await change();
      return calls.length > seen;
    });
  } finally {
    await watch.stop();
    await relay.close();
  }
});

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type TestDatabase, testDatabase } from '../../test/support/database.ts';
import { until } from '../../test/support/wait.ts';
import { FakeClock, silentLog } from '../core/index.ts';
import { type Database, openDatabase, type Revised, watchRevisions } from './index.ts';

let own: TestDatabase;
let database: Database;
let calls: Revised[];

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

let made = 0;
const change = () => {
  made += 1;
  return database.db
    .insertInto('users')
    .values({ id: `u${made}` })
    .execute();
};
const options = () => ({ clock: new FakeClock(), log: silentLog });

test('the first look reports everything, a change reports its own, and silence nothing', async () => {
  const watch = await watchRevisions(database, (name) => void calls.push(name), options());
  try {
    assert.deepEqual(calls.toSorted(), ['catalog', 'identity']);
    await watch.look();
    assert.equal(calls.length, 2);
    await change();
    await until('the notification', () => calls.length > 2);
    assert.deepEqual(calls.slice(2), ['identity']);
  } finally {
    await watch.stop();
  }
});

test('a change is found by looking when its notification is lost', async () => {
  const clock = new FakeClock();
  const watch = await watchRevisions(database, (name) => void calls.push(name), { clock, log: silentLog });
  try {
    // Moves the revision without a word on the channel.
    await database.db.updateTable('revisions').set({ revision: 1_000_000n }).where('name', '=', 'catalog').execute();
    clock.advance(2_000);
    await until('the look', () => calls.length > 2);
    assert.deepEqual(calls.slice(2), ['catalog']);
  } finally {
    await watch.stop();
  }
});

test('a reload that fails is tried again', async () => {
  let isBroken = false;
  const reload = (name: Revised): void => {
    if (isBroken) throw new Error('not now');
    calls.push(name);
  };
  const watch = await watchRevisions(database, reload, options());
  try {
    isBroken = true;
    await change();
    await assert.rejects(watch.look(), /not now/);
    isBroken = false;
    await watch.look();
    assert.deepEqual(calls.slice(2), ['identity']);
  } finally {
    await watch.stop();
  }
});

test('reloads follow one another, so that the last one sees the newest', async () => {
  let running = 0;
  let most = 0;
  const reload = async (name: Revised): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await database.db.selectFrom('users').selectAll().execute();
    running -= 1;
    calls.push(name);
  };
  const watch = await watchRevisions(database, reload, options());
  try {
    for (let n = 0; n < 5; n += 1) {
      await change();
      void watch.look();
    }
    await watch.look();
    assert.equal(most, 1);
    assert.equal(calls.at(-1), 'identity');
  } finally {
    await watch.stop();
  }
});

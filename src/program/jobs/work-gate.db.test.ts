import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { until } from '../../../test/support/wait.ts';
import { silentLog } from '../../core/index.ts';
import { type Database, LOOK_MS, type OpenWork, openDatabase, RevisionWatch } from '../../platform/db/index.ts';
import { startJobs } from './runner.ts';
import { WorkGate } from './work-gate.ts';

let own: TestDatabase;
let database: Database;
before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url);
  await sql`insert into users (id) values ('u1')`.execute(database.db);
});
after(async () => {
  await database.close();
  await own.drop();
});

const RESPONSES: OpenWork = {
  name: 'background',
  condition: sql<boolean>`exists (select from background_responses where next_check_at < now() + interval '10 seconds')`,
};

let rows = 0;
const addWork = async (db = database.db): Promise<void> => {
  rows += 1;
  await sql`
    insert into background_responses (reference, user_id, key_id, group_id, model, request_id, input_tokens, next_check_at)
    values (${`r${rows}`}, 'u1', 'k', 'g', 'm', 'q', 1, now())`.execute(db);
};
const removeWork = () => sql`delete from background_responses`.execute(database.db);

/** A job that needs work and counts its runs, and a clock that moves while something is awaited. */
function start() {
  const clock = new FakeClock();
  const gate = new WorkGate({ db: database.db, kinds: [RESPONSES], clock, log: silentLog });
  const job = { name: 'work', everyMs: 1_000, needs: RESPONSES, runs: 0, run: async () => 0 };
  job.run = async () => {
    job.runs += 1;
    return 0;
  };
  const worker = startJobs([job], { clock, log: silentLog, gate });
  const pass = async (ms: number): Promise<void> => {
    for (let n = 0; n < ms; n += 500) {
      clock.advance(500);
      await turn();
    }
  };
  const untilClosed = () =>
    until('the gate to close', async () => {
      await pass(LOOK_MS);
      return !gate.isOpen(RESPONSES);
    });
  const stop = async (): Promise<void> => {
    await gate.stop();
    await worker.stop();
  };
  return { clock, gate, job, pass, untilClosed, stop };
}

test('a job without work stops asking, and runs at once when its work is announced', async () => {
  const { clock, gate, job, pass, untilClosed, stop } = start();
  const watch = await RevisionWatch.start({ database, onChange: () => {}, clock: new FakeClock(), log: silentLog });
  watch.onWork(
    (name) => gate.announce(name),
    () => gate.catchUp(),
  );
  try {
    await untilClosed();
    await pass(2_000);
    const { runs } = job;
    // Shorter than the interval of queries, so that only the announcement can wake the job.
    await addWork();
    await until('the announced work', () => job.runs > runs);
    await pass(3_000);
    assert.ok(job.runs >= runs + 3, 'then at its interval');
    await removeWork();
    await untilClosed();
    const rested = job.runs;
    await gate.stop();
    clock.advance(60_000);
    await turn();
    assert.ok(job.runs <= rested + 1);
  } finally {
    await watch.stop();
    await stop();
  }
});

test('work whose announcement was lost is found by the next query', async () => {
  const { job, pass, untilClosed, stop } = start();
  try {
    await untilClosed();
    await pass(2_000);
    const { runs } = job;
    await addWork();
    await until('the work', async () => {
      await pass(LOOK_MS);
      return job.runs > runs;
    });
  } finally {
    await stop();
    await removeWork();
  }
});

test('a session announces the same work once a second, and again after a transaction that was rolled back', async () => {
  const single = openDatabase(own.url, 1);
  const watch = await RevisionWatch.start({ database, onChange: () => {}, clock: new FakeClock(), log: silentLog });
  const heard: string[] = [];
  watch.onWork(
    (name) => heard.push(name),
    () => {},
  );
  try {
    const rollBack = single.db.transaction().execute(async (tx) => {
      await addWork(tx);
      throw new Error('not now');
    });
    await assert.rejects(rollBack, /not now/);
    for (let n = 0; n < 5; n += 1) await addWork(single.db);
    // Notifications arrive in the order of their transactions.
    await sql`select pg_notify('dragoman_work', 'last')`.execute(single.db);
    await until('the last notification', () => heard.includes('last'));
    // Five statements take less than a second, or on a very slow machine a little more.
    const announced = heard.filter((name) => name === 'background').length;
    assert.ok(announced >= 1 && announced < 5, `${announced}`);
  } finally {
    await watch.stop();
    await single.close();
    await removeWork();
  }
});

/**
 * Connections to PostgreSQL that end at every moment of everything that uses one: no process ends of it, what can be repeated is, nothing
 * happens twice, and the next run works.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { CompiledQuery, sql } from 'kysely';
import { silentLog } from '../../src/core/index.ts';
import { removeOldMonths } from '../../src/ledger/records/retention.ts';
import { sumOldMonths } from '../../src/ledger/reports/usage-months.ts';
import { RequestRollUp } from '../../src/observe/request-log/roll-up.ts';
import * as postgres from '../../src/platform/db/index.ts';
import { messageFor } from '../../src/program/cli/error-message.ts';
import { openSource } from '../../src/program/import/source.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { someOf } from '../support/long-test.ts';
import { type Blow, PostgresProxy, type Side, STRIKES, type Strike } from '../support/postgres-proxy.ts';
import { until } from '../support/wait.ts';

interface Scene {
  /** Behind the proxy. */
  readonly database: postgres.Database;
  readonly url: string;
  /** Of this run, for what it stores. */
  readonly run: number;
}

interface Kind {
  readonly name: string;
  /** Where the program opens such a connection. */
  readonly files: readonly string[];
  run(scene: Scene): Promise<unknown>;
  /** Strikes that the caller never sees. */
  readonly survives?: readonly Strike[];
  /** Rows of this run that there are after a success; after a failure there are these or none. */
  readonly stores?: number;
  /** It finds out what became of its commit: after a failure there are none. */
  readonly knows?: true;
}

const POOL = ['src/platform/db/pool.ts'];
const mark = (run: number) => sql`insert into marks (run) values (${run})`;
const copyMarks = (runs: readonly number[]) =>
  CompiledQuery.raw('copy marks (run) from stdin', [Buffer.from(runs.map((run) => `${run}\n`).join(''))]);

const KINDS: readonly Kind[] = [
  {
    name: 'reads of the pool',
    files: POOL,
    survives: STRIKES,
    async run({ database: { db, forCalls } }) {
      for (const one of [db, forCalls, db, forCalls])
        assert.equal((await one.selectFrom('revisions').select('name').execute()).length, 3);
    },
  },
  {
    name: 'a write of the pool',
    files: POOL,
    survives: ['fatal'],
    stores: 1,
    async run({ database: { db }, run }) {
      await db.selectFrom('revisions').select('name').execute();
      await mark(run).execute(db);
    },
  },
  {
    name: 'a transaction',
    files: POOL,
    stores: 2,
    run: ({ database: { db }, run }) =>
      db.transaction().execute(async (tx) => {
        await mark(run).execute(tx);
        await mark(run).execute(tx);
      }),
  },
  {
    name: 'a transaction whose last statements leave with its commit',
    files: POOL,
    stores: 2,
    run: ({ database: { db }, run }) =>
      postgres.commitWith(db, async (tx) => {
        await mark(run).execute(tx);
        return [mark(run).compile(tx)];
      }),
  },
  {
    name: 'a transaction that knows its outcome',
    files: POOL,
    stores: 2,
    knows: true,
    run: ({ database: { db }, run }) =>
      postgres.commitKnown(db, async (tx) => {
        await mark(run).execute(tx);
        await mark(run).execute(tx);
      }),
  },
  {
    name: 'a copy of rows in a transaction',
    files: POOL,
    stores: 2,
    run: ({ database: { db }, run }) => db.transaction().execute((tx) => tx.executeQuery(copyMarks([run, run]))),
  },
  {
    name: 'a cursor',
    files: POOL,
    run: ({ database: { db } }) =>
      postgres.snapshot(db, async (tx) => {
        let rows = 0;
        for await (const batch of postgres.streamRows(tx, sql`select generate_series(1, 5)`, 2)) rows += batch.length;
        assert.equal(rows, 5);
      }),
  },
  {
    name: 'a dedicated connection',
    files: ['src/platform/db/db.ts', 'src/platform/db/hosts.ts'],
    stores: 1,
    async run({ url, run }) {
      const client = await postgres.connect(url);
      try {
        await client.query('insert into marks (run) values ($1)', [run]);
      } finally {
        await client.end();
      }
    },
  },
  {
    name: 'the check for shared sessions',
    files: ['src/platform/db/sessions.ts'],
    run: async ({ url }) => assert.equal(await postgres.areSessionsShared(url), false),
  },
  {
    name: 'several hosts',
    files: ['src/platform/db/hosts.ts'],
    async run({ url, run }) {
      const { host } = new URL(url);
      // Each run begins without knowing the primary.
      const several = postgres.openDatabase(`${url.replace(host, `${host},${host}`)}&application_name=run${run}`, 2);
      try {
        await several.db.selectFrom('revisions').select('name').execute();
      } finally {
        await several.close();
      }
    },
  },
  {
    name: 'the retention of usage',
    files: ['src/ledger/records/retention.ts'],
    run: ({ database }) => removeOldMonths(database, { months: 1, now: Date.now() }),
  },
  {
    name: 'sums of old months',
    files: ['src/ledger/reports/usage-months.ts'],
    run: ({ database }) => sumOldMonths(database),
  },
  {
    name: 'the roll-up of an hour',
    files: ['src/observe/request-log/roll-up.ts'],
    async run({ database }) {
      await sql`insert into request_hours_due values ('2026-01-01T10:00Z') on conflict do nothing`.execute(own.db);
      await new RequestRollUp(database, new FakeClock()).run();
    },
  },
  {
    name: 'the watch of revisions',
    files: ['src/platform/db/watch.ts'],
    async run({ database }) {
      const clock = new FakeClock();
      const heard = new Set<string>();
      const watch = await postgres.RevisionWatch.start({
        database,
        clock,
        log: silentLog,
        onChange: (name) => void heard.add(name),
      });
      try {
        heard.clear();
        await sql`update revisions set revision = revision + 1 where name = 'pool'`.execute(own.db);
        await until('the change to be seen', () => {
          clock.advance(1_000);
          return heard.has('pool');
        });
      } finally {
        await watch.stop();
      }
    },
  },
  {
    name: 'copies of whole tables',
    files: ['src/platform/db/copy.ts', 'src/program/backup/export.ts', 'src/program/backup/import.ts'],
    stores: 2,
    async run({ url, run }) {
      const client = await postgres.connectForCopy(url);
      try {
        const read: Buffer[] = [];
        for await (const batch of postgres.copyOut(client, `copy (select ${run} from generate_series(1, 2)) to stdout`))
          read.push(batch);
        assert.equal(await postgres.copyIn(client, 'copy marks from stdin', read), 2);
      } finally {
        await client.end();
      }
    },
  },
  {
    name: 'an import that knows its outcome',
    files: ['src/platform/db/copy.ts', 'src/program/backup/import.ts'],
    stores: 1,
    knows: true,
    async run({ url, run, database: { db } }) {
      const client = await postgres.connectForCopy(url);
      try {
        await client.query('begin');
        await postgres.copyIn(client, 'copy marks from stdin', [Buffer.from(`${run}\n`)]);
        if (!(await postgres.commitSession(client, db))) throw new Error('Connection terminated: rolled back');
      } finally {
        await client.end();
      }
    },
  },
  {
    name: 'the database of another gateway',
    files: ['src/program/import/source.ts'],
    async run({ url }) {
      const source = await openSource(url);
      try {
        assert.equal((await source.rows('revisions')).length, 3);
      } finally {
        await source.close();
      }
    },
  },
  {
    name: 'the lock of the single server',
    files: ['src/platform/db/embedded/endpoint.ts', 'src/platform/db/embedded/single-server.ts'],
    async run({ url }) {
      const claim = await postgres.claimServer(url);
      if ('release' in claim) await claim.release();
    },
  },
];

interface Own {
  readonly database: TestDatabase;
  readonly opened: postgres.Database;
  readonly db: postgres.Db;
  readonly proxy: PostgresProxy;
}
let own: Own;

before(async () => {
  const database = await testDatabase();
  const opened = postgres.openDatabase(database.url, 2);
  await sql`create table marks (run int not null)`.execute(opened.db);
  own = { database, opened, db: opened.db, proxy: await PostgresProxy.start(database.url) };
});
after(async () => {
  await own.proxy.close();
  await own.opened.close();
  await own.database.drop();
});

let runs = 0;

/** Runs it as a process that has just begun, with no connection yet. */
async function runOnce(kind: Kind): Promise<{ readonly run: number; readonly error?: unknown }> {
  runs += 1;
  const run = runs;
  const { url } = own.proxy;
  const database = postgres.openDatabase(url, 2);
  try {
    await kind.run({ database, url, run });
    return { run };
  } catch (error) {
    return { run, error };
  } finally {
    await database.close();
  }
}

async function storedBy(run: number): Promise<number> {
  const { rows } = await sql<{ count: bigint }>`select count(*) from marks where run = ${run}`.execute(own.db);
  return Number(rows[0]?.count);
}

/** False when the caller sees the strike. */
async function survives(kind: Kind, blow: Blow): Promise<boolean> {
  own.proxy.arm(blow);
  const { run, error } = await runOnce(kind);
  const told = `${blow.strike} at message ${blow.at} of the ${blow.side}: ${messageFor(error)}`;
  if (error instanceof assert.AssertionError) throw error;
  if (error !== undefined) {
    assert.doesNotMatch(told, /Unexpected error/);
    assert.ok(!kind.survives?.includes(blow.strike), told);
  }
  const { stores, knows } = kind;
  if (stores !== undefined) {
    const afterFailure = knows ? [0] : [0, stores];
    const possible = error === undefined ? [stores] : afterFailure;
    assert.ok(possible.includes(await storedBy(run)), `${told}; stored ${await storedBy(run)}`);
  }
  return error === undefined;
}

/** Of the hundreds of moments of a kind. `EVERY_MOMENT=1` takes all. */
const MOMENTS = process.env.EVERY_MOMENT ? Number.POSITIVE_INFINITY : 40;
const QUICK = 3;
/** The connection ends in the chunk that opens it. */
const AT_FIRST: Blow = { strike: 'fatal', side: 'server', at: 1 };

/** Evenly over the kind, with every strike in turn. */
function spread(blows: readonly Blow[]): readonly Blow[] {
  const step = Math.max(1, Math.ceil(blows.length / MOMENTS));
  return blows.filter((_, n) => n % step === Math.floor(n / step) % Math.min(step, STRIKES.length));
}

const SIDES: readonly Side[] = ['client', 'server'];

for (const kind of KINDS)
  test(`${kind.name}: a connection that ends at any moment ends no process, and nothing happens twice`, async (t) => {
    own.proxy.arm();
    const { error } = await runOnce(kind);
    assert.equal(error, undefined);
    const blows = SIDES.flatMap((side) =>
      Array.from({ length: own.proxy.sent(side) }, (_, n) => n + 1).flatMap((at) =>
        STRIKES.map((one): Blow => ({ strike: one, side, at })),
      ),
    );
    const chosen = [AT_FIRST, ...someOf(spread(blows), QUICK)];
    let failed = 0;
    for (const blow of chosen) if (!(await survives(kind, blow))) failed += 1;
    own.proxy.arm();
    assert.equal((await runOnce(kind)).error, undefined);
    t.diagnostic(`${chosen.length} of ${blows.length} moments, ${failed} seen by the caller`);
  });

test('every file that opens a connection has a kind', () => {
  const named = new Set(KINDS.flatMap(({ files }) => files));
  const OPENS =
    /new SeverableClient\(|new Client\(|new pg\.\w+\(|\bconnect(?:ForCopy|Embedded)?\((?:\w+\.)?(?:url|server)\)/;
  const opening = globSync('src/**/*.ts').filter(
    (file) => !file.endsWith('.test.ts') && OPENS.test(readFileSync(file, 'utf8')),
  );
  assert.deepEqual(
    opening.map((file) => file.replaceAll('\\', '/')).filter((file) => !named.has(file)),
    [],
  );
});

/**
 * `npm run bench -- writes`: what PostgreSQL pays for a call at 2,000 calls a second: bytes of the write-ahead log, and
 * CPU time of all its processes. The writers of this gateway write the usage records and log entries of each second, as
 * a server does; nothing is served. `--seconds`, `--users`.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { applySetup, parseSetup } from '../src/catalog/setup/index.ts';
import { newRequestId, silentLog } from '../src/core/index.ts';
import { createUsageRecord, newRecordId, type UsageRecord } from '../src/ledger/index.ts';
import { UsageWriter } from '../src/ledger/records/usage-writer.ts';
import { type RequestEntry, RequestWriter } from '../src/observe/request-log/index.ts';
import { openBenchFixture, writtenBy } from './fixture.ts';
import { cpuOfTree, describeMachine } from './machine.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    users: { type: 'string', default: '20' },
  },
});
const SECONDS = Number(values.seconds);
const WARM_UP_SECONDS = 3;
const RATE = 2_000;
const USERS = Number(values.users);
const TOTAL_MS = 906;
/** As `src/ledger` and `src/observe/request-log` write them. */
const BATCH_ROWS = 2_000;
const GOAL = { bytes: 1_300, micros: 15 };

const { context, close } = await openBenchFixture();
const { db } = context.database;
try {
  const users = Array.from({ length: USERS }, (_, n) => `user-${n}`);
  const setup = {
    users: users.map((id) => ({ id, balance: '1000' })),
    keys: users.map((user) => ({
      user,
      group: 'messages',
      name: 'bench',
      key: `bench-key-of-the-${user}-of-messages`,
    })),
  };
  await applySetup(db, parseSetup(JSON.stringify(setup)), { secrets: context.secrets });
  const keys = await db.selectFrom('keys').select(['id', 'user_id']).where('user_id', 'like', 'user-%').execute();
  await sql`insert into replicas (id, host) values ('bench', 'bench')`.execute(db);
  const writers = {
    records: new UsageWriter({ db, log: silentLog }),
    entries: new RequestWriter({ db, log: silentLog }),
  };
  const calls = (count: number) =>
    Array.from({ length: count }, (_, n) => callOf(keys[(n * 7) % keys.length] ?? { id: '', user_id: '' }, n));
  const writeSecond = async (): Promise<void> => {
    const made = calls(RATE);
    for (let n = 0; n < RATE; n += BATCH_ROWS)
      await writers.records.write(
        'bench',
        made.slice(n, n + BATCH_ROWS).map(({ record }) => record),
      );
    for (let n = 0; n < RATE; n += BATCH_ROWS)
      await writers.entries.write(made.slice(n, n + BATCH_ROWS).map(({ entry }) => entry));
  };
  const postmaster = await postmasterOf();
  for (let n = 0; n < WARM_UP_SECONDS; n += 1) await writeSecond();
  await pause(1_000);
  const before = { ...(await writtenBy(db)), cpu: cpuOfTree(postmaster).database };
  for (let n = 0; n < SECONDS; n += 1) await Promise.all([writeSecond(), pause(1_000)]);
  await pause(1_000);
  const bytes = ((await writtenBy(db)).bytes - before.bytes) / (SECONDS * RATE);
  const micros = ((cpuOfTree(postmaster).database - before.cpu) * 1e6) / (SECONDS * RATE);
  console.log(
    [
      `Machine: ${describeMachine()}. ${RATE} calls of ${USERS} users a second, for ${SECONDS} s.`,
      `write-ahead log: ${Math.round(bytes)} bytes a call (goal ${GOAL.bytes})`,
      `PostgreSQL: ${micros.toFixed(1)} us a call (goal ${GOAL.micros})`,
    ].join('\n'),
  );
} finally {
  await close();
}

interface Call {
  readonly record: UsageRecord;
  readonly entry: RequestEntry;
}

function callOf({ id: keyId, user_id: userId }: { readonly id: string; readonly user_id: string }, n: number): Call {
  const shared = { userId, keyId, groupId: 'messages', operation: 'messages.create', model: 'bench-burst' };
  const at = Math.round(Date.now() - ((RATE - n) * 1_000) / RATE);
  const id = newRequestId(at - TOTAL_MS);
  const usage = { input: 312 + (n % 100), cacheRead: 0, cacheWrite: 0, output: 180 };
  const [nanos, priceId] = [3_636_000n, 1n];
  const attempt = {
    accountId: 'mock-messages',
    model: 'bench-burst',
    startMs: 0.9,
    outcome: 'ok' as const,
    status: 200,
    firstByteMs: 301.25,
    lastByteMs: 905.5,
    endMs: 905.5,
  };
  return {
    record: createUsageRecord({
      ...shared,
      id: newRecordId(),
      at,
      accountId: 'mock-messages',
      usage,
      images: 0,
      nanos,
      priceId,
      estimated: false,
      requestId: id,
    }),
    entry: {
      ...shared,
      id,
      at: at - TOTAL_MS,
      stream: true,
      status: 200,
      outcome: 'completed',
      code: undefined,
      error: undefined,
      firstByteMs: 301.25,
      totalMs: TOTAL_MS + 0.1,
      addedMs: 1.5,
      failoverMs: undefined,
      charge: {
        usage,
        nanos,
        priceId,
        multipliersPpm: [1_000_000n, 1_000_000n],
        estimated: false,
        accountId: 'mock-messages',
      },
      trace: {
        attempts: [attempt],
        uploadMs: 0,
        upstreamModel: 'bench-burst',
        client: 'messages',
        target: 'messages',
        session: 0.25,
      },
    } as unknown as RequestEntry,
  };
}

async function postmasterOf(): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
  return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${rows[0]?.pid}/status`, 'utf8'))?.[1]);
}

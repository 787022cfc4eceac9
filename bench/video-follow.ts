/**
 * `npm run bench -- video-follow`: follows 100,000 live video tasks over 500 accounts with one worker. The provider is
 * a stub in another process that reports `running`. Prints how late polls are, and the CPU time of the worker and of
 * PostgreSQL per poll. `--tasks` and `--seconds` change the size. About three minutes.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Client } from 'pg';
import { loadCatalog } from '../src/catalog/index.ts';
import { applySetup, parseSetup } from '../src/catalog/setup/index.ts';
import { silentLog, systemClock } from '../src/core/index.ts';
import { connect, openDatabase } from '../src/platform/db/index.ts';
import { startJobs } from '../src/program/jobs/runner.ts';
import { UpstreamClient } from '../src/providers/upstream/index.ts';
import { ACCOUNT_RATES } from '../src/rules/index.ts';
import { TAKE_LIMIT } from '../src/video/tasks/due.ts';
import { Follower } from '../src/video/tasks/follow.ts';
import { VideoProvider } from '../src/video/upstream/client.ts';
import { explain, statementsOf } from '../test/support/plan.ts';
import { nextMessage, sendOrder, startHelper } from './child.ts';
import { cpuMicros, openBenchFixture } from './fixture.ts';
import { cpuSeconds, describeMachine } from './machine.ts';
import { median } from './quantile.ts';

const { values } = parseArgs({
  options: {
    tasks: { type: 'string', default: '100000' },
    accounts: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '60' },
  },
});
const [TASKS, ACCOUNTS, SECONDS] = [Number(values.tasks), Number(values.accounts), Number(values.seconds)];
/** The oldest task; the others are spread evenly from now on. */
const OLDEST_HOURS = 4;
const WARM_UP_S = 20;
const GOAL_S = 5;

/** Running tasks whose checks are spread over their intervals. */
async function fill(client: Client): Promise<void> {
  await client.query(
    `insert into video_tasks (user_id, id, key_id, group_id, variant, model, upstream_model, status, progress, submission,
       account_id, upstream_id, callback_token_hash, safety_identifier, parameters, has_video_input, callback_secret_sealed,
       created_at, expires_at, next_check_at)
     select 'bench', 'task_' || md5(n::text), 'key_1', 'video', 'EP', 'bench', 'bench', 'running', 50, 'confirmed',
       'account-' || n % $2, 'cgt-' || md5(n::text), sha256(n::text::bytea), 'end-user',
       '{"duration": 5, "resolution": "720p", "ratio": "16:9"}', false, repeat('s', 120), at, at + interval '2 days',
       now() + random() * case when now() - at < interval '1 hour' then interval '20 seconds' else interval '60 seconds' end
     from generate_series(1, $1::int) n, lateral (select now() - $3::float8 * n / $1 * interval '1 hour' as at) t`,
    [TASKS, ACCOUNTS, OLDEST_HOURS],
  );
  await client.query('vacuum (analyze) video_tasks');
}

interface Sample {
  /** Seconds by which the task that is due longest is late. */
  readonly lag: number;
}

async function sample(client: Client): Promise<Sample> {
  const { rows } = await client.query(
    `select coalesce(extract(epoch from now() - min(next_check_at)), 0)::float8 as lag
     from video_tasks where submission = 'confirmed' and next_check_at <= now()`,
  );
  return rows[0];
}

/** CPU time of the backend processes of the worker's own connections and of the server's background processes. */
async function databaseSeconds(client: Client): Promise<number> {
  const { rows } = await client.query('select pid from pg_stat_activity where pid <> pg_backend_pid()');
  return rows.reduce((sum: number, { pid }: { pid: number }) => sum + (cpuSeconds(pid) || 0), 0);
}

const { context, close } = await openBenchFixture();
const helper = startHelper('./video-provider.ts', undefined);
const { port } = await nextMessage<{ port: number }>(helper);
const { db, url } = context.database;
const client = await connect(url);
const database = openDatabase(url);
const upstream = new UpstreamClient(systemClock);
try {
  const setup = {
    groups: [{ id: 'video', style: 'video', variant: 'EP' }],
    accounts: Array.from({ length: ACCOUNTS }, (_, n) => ({
      id: `account-${n}`,
      group: 'video',
      base_url: `http://127.0.0.1:${port}/api/v3`,
      api_key: `sk-${n}`,
    })),
  };
  await applySetup(db, parseSetup(JSON.stringify(setup)), { secrets: context.secrets });
  const catalog = await loadCatalog(db, context.sealer, silentLog);
  await fill(client);
  const services = {
    db: database.db,
    catalog: () => catalog,
    clock: systemClock,
    log: silentLog,
    publicUrl: () => url,
    provider: new VideoProvider(upstream),
    pollsPerSecond: ACCOUNT_RATES.getsPerSecond,
  };
  const follower = new Follower(services);
  console.log(
    `Machine: ${describeMachine()}. ${TASKS} live tasks of the last ${OLDEST_HOURS} hours, ${ACCOUNTS} accounts.`,
  );
  const [take] = await statementsOf(() => new Follower(services).run());
  const jobs = startJobs([{ name: 'tasks.follow', everyMs: 1_000, run: () => follower.run().then(() => 0) }], {
    clock: systemClock,
    log: silentLog,
  });
  await pause(WARM_UP_S * 1_000);
  const before = await measure();
  const samples: Sample[] = [];
  for (let n = 0; n < SECONDS / 2; n += 1) {
    await pause(2_000);
    samples.push(await sample(client));
  }
  const after = await measure();
  await jobs.stop();
  await follower.stop();
  const seconds = (after.at - before.at) / 1_000;
  const polls = after.requests - before.requests;
  const lags = samples.map(({ lag }) => lag).toSorted((a, b) => a - b);
  // A machine that does other work as well shows in the worst sample only.
  const late = lags[Math.floor(lags.length * 0.95)] ?? Number.NaN;
  const perPoll = (used: number): string => ((used / polls) * 1e6).toFixed(0);
  console.log(
    `${Math.round(polls / seconds)} polls per second. Oldest due task: median ${median(lags).toFixed(1)} s, 95 of 100 ${late.toFixed(1)} s, worst ${Math.max(...lags).toFixed(1)} s late; goal ${GOAL_S} s: ${late <= GOAL_S ? 'met' : 'missed'}.`,
  );
  console.log(
    `CPU: worker ${((after.worker - before.worker) / seconds).toFixed(2)} cores (${perPoll(after.worker - before.worker)} us per poll), PostgreSQL ${((after.database - before.database) / seconds).toFixed(2)} cores (${perPoll(after.database - before.database)} us per poll).`,
  );
  if (take) {
    const { blocks, ms, scanned } = await explain(client, take);
    const tables = scanned.size === 0 ? 'no table' : [...scanned].join(', ');
    console.log(
      `One take of at most ${TAKE_LIMIT} tasks of ${ACCOUNTS} accounts: ${ms.toFixed(1)} ms, ${blocks} blocks, scans ${tables}.`,
    );
  }
} finally {
  upstream.close();
  await client.end();
  await database.close();
  await helper.stop();
  await close();
}

async function measure(): Promise<{ at: number; requests: number; worker: number; database: number }> {
  const { requests } = await sendOrder<{ requests: number }>(helper, {});
  return { at: performance.now(), requests, worker: cpuMicros() / 1e6, database: await databaseSeconds(client) };
}

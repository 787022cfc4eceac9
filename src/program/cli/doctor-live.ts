/**
 * `dragoman doctor --live`: one screen about the servers that run, read from what they write to the database. Changes
 * nothing.
 */
import { type RawBuilder, sql } from 'kysely';
import { ALARMS, type Alarm, readAlarms } from '../../ledger/index.ts';
import { type Db, firstRow } from '../../platform/db/index.ts';
import { UNLIMITED_CONCURRENCY } from '../../schemas/index.ts';
import type { AppContext } from '../server/index.ts';
import { checkAccounts } from './doctor-accounts.ts';
import { bad, duration, type Finding, good, judged, note } from './finding.ts';

/** Of one kind, so that all fits on a screen. */
const MAX_LINES = 8;
const STALE_SECONDS = 60;
const LATE_LEDGER_SECONDS = 900;
/** Of the calls of the last minutes. */
const MAX_OURS = 0.01;
const MAX_PROVIDER = 0.1;
const SLOW_DATABASE_MS = 50;
const MAX_LAG_SECONDS = 10;
/** Counts stop here, because tables may have millions of rows. */
const MAX_COUNTED = 10_000;

export async function checkLive(context: AppContext): Promise<Finding[]> {
  const { db } = context.database;
  return [
    ...(await checkReplicas(db)),
    await checkCalls(db),
    ...(await checkLoad(db)),
    ...(await checkLiveAccounts(context)),
    ...(await checkJobs(db)),
    await checkLedger(db),
    ...(await checkDatabase(context)),
    ...(await checkAlarms(db)),
  ];
}

function atMost(findings: readonly Finding[]): readonly Finding[] {
  const [first] = findings;
  if (!first || findings.length <= MAX_LINES) return findings;
  return [...findings.slice(0, MAX_LINES), note(first.about, `and ${findings.length - MAX_LINES} more`)];
}

type ReplicaRow = Record<'id' | 'host' | 'held', string> & Record<'seen' | 'up' | 'pending', number>;

async function checkReplicas(db: Db): Promise<Finding[]> {
  const { rows: replicas } = await sql<ReplicaRow>`
    select id, host, pending::int,
      (select trim_scale(coalesce(sum(nanos), 0) / 1000000000.0)::text from leases where replica_id = replicas.id) as held,
      extract(epoch from now() - seen_at)::int as seen,
      extract(epoch from now() - started_at)::int as up
    from replicas order by seen_at desc, id limit 100`.execute(db);
  const findings = replicas.map(({ id, host, seen, up, pending, held }): Finding => {
    const isStale = seen > STALE_SECONDS;
    const text = `${host} (${id}), ${isStale ? `not seen for ${duration(seen)}` : `up for ${duration(up)}`}, ${pending} charges to write`;
    const advice = `; its leases hold $${held} of wallets. Start a server with its DATA_DIR, or "dragoman replica remove ${id}" if that disk is lost for good`;
    return judged('Process', isStale, text, advice);
  });
  const isServed = replicas.some(({ seen }) => seen <= STALE_SECONDS);
  const none = isServed ? [] : [bad('Process', 'no process runs; start "dragoman serve"')];
  return [...none, ...atMost(findings)];
}

const NO_CALLS_ADVICE = 'if some are expected, check GET /readyz, the load balancer and the clients';

type CallsRow = Record<'calls' | 'ours' | 'provider' | 'caller', number> & { p95: number | null };

async function checkCalls(db: Db): Promise<Finding> {
  const row = await firstRow(db)<CallsRow>`
    select count(*)::int as calls, (count(*) filter (where error = 'ours'))::int as ours,
      (count(*) filter (where error = 'provider'))::int as provider, (count(*) filter (where error = 'caller'))::int as caller,
      percentile_cont(0.95) within group (order by total_ms) as p95
    from (select error, total_ms from requests where at > now() - interval '5 minutes'
    limit 100000) recent`;
  const { calls = 0, ours = 0, provider = 0, caller = 0, p95 } = row ?? {};
  if (calls === 0) return note('Calls', `none for five minutes; ${NO_CALLS_ADVICE}`);
  const isBad = ours / calls > MAX_OURS || provider / calls > MAX_PROVIDER;
  const own = `${percent(ours / calls)} failed on our side (the gateway, or accounts that are full or out)`;
  const others = `${percent(provider / calls)} at providers, ${percent(caller / calls)} on the side of callers`;
  const text = `${calls} in five minutes: ${own}, ${others}; 95 % took at most ${Math.round(p95 ?? 0)} ms`;
  const advice = '; see the accounts below, and "why" and "action" of request.completed in the log';
  return judged('Calls', isBad, text, advice);
}

async function checkLiveAccounts(context: AppContext): Promise<readonly Finding[]> {
  const findings = atMost(await checkAccounts(context));
  if (findings.length > 0) return findings;
  const row = await firstRow(context.database.db)<{ all: number }>`select count(*)::int as all from accounts`;
  return row?.all === 0
    ? [note('Accounts', 'there are none; "dragoman apply FILE" adds some')]
    : [good('Accounts', `all ${row?.all} take calls`)];
}

async function checkLoad(db: Db): Promise<Finding[]> {
  const { rows } = await sql<{ id: string; max: number | null; flying: number }>`
    select a.id, coalesce(nullif(a.max_concurrency, ${UNLIMITED_CONCURRENCY}), min((l.used -> a.id ->> 'concurrency')::int)) as max,
      max((l.in_flight ->> a.id)::int) as flying
    from accounts a join account_loads l on l.at > now() - interval '15 seconds' and l.in_flight ? a.id
    group by a.id order by flying desc, a.id limit ${MAX_LINES}`.execute(db);
  if (rows.length === 0) return [];
  const isFull = rows.some(({ flying, max }) => max !== null && flying >= max);
  const loads = rows.map(({ id, flying, max }) => (max === null ? `${id} ${flying}` : `${id} ${flying} of ${max}`));
  const text = `${loads.join(', ')} on the busiest process`;
  return [isFull ? note('In flight', `${text}; raise max_concurrency, or add an account`) : good('In flight', text)];
}

/** What waits, and how much of it should have been done a minute ago. */
const JOBS: readonly [string, RawBuilder<{ late: boolean }>][] = [
  [
    'video tasks',
    sql`select coalesce(next_check_at < now() - interval '1 minute', false) as late from video_tasks where finished_at is null`,
  ],
  [
    'callbacks',
    sql`select next_at < now() - interval '1 minute' as late from callback_events where finished_at is null`,
  ],
  [
    'background responses',
    sql`select next_check_at < now() - interval '1 minute' as late from background_responses where state in ('sending', 'running')`,
  ],
];

async function checkJobs(db: Db): Promise<Finding[]> {
  const counts = [];
  for (const [name, query] of JOBS) {
    const { all = 0, late = 0 } =
      (await firstRow(db)<Record<'all' | 'late', number>>`
      select count(*)::int as all, (count(*) filter (where late))::int as late from (${query}
      limit ${MAX_COUNTED}) waiting`) ?? {};
    counts.push({ name, all, late });
  }
  const isLate = counts.some(({ late }) => late > 0);
  const text = counts.map(({ name, all, late }) => `${all} ${name}${late > 0 ? ` (${late} late)` : ''}`).join(', ');
  const advice = '; a server without --no-worker must run, and reach the providers';
  return [judged('Queue', isLate, text, advice)];
}

async function checkLedger(db: Db): Promise<Finding> {
  const row = await firstRow(db)<{ age: number }>`
    select extract(epoch from now() - checked_at)::int as age from ledger_checkpoint`;
  if (!row) return note('Ledger', 'not checked yet');
  const text = `checked ${duration(row.age)} ago`;
  return row.age > LATE_LEDGER_SECONDS
    ? bad('Ledger', `${text}; run "dragoman ledger check", and see that a worker runs`)
    : good('Ledger', text);
}

/** `lag` is null without a standby. */
type DatabaseRow = Record<'used' | 'max' | 'bytes' | 'oldest', number> & { lag: number | null };

async function checkDatabase({ database: { db }, clock }: AppContext): Promise<Finding[]> {
  const begun = clock.elapsed();
  await sql`select 1`.execute(db);
  const tookMs = clock.elapsed() - begun;
  const row = await firstRow(db)<DatabaseRow>`
    select (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
      current_setting('max_connections')::int as max, pg_database_size(current_database())::float8 as bytes,
      (select coalesce(max(extract(epoch from now() - xact_start)), 0)::int from pg_stat_activity
        where datname = current_database() and state <> 'idle') as oldest,
      (select max(coalesce(extract(epoch from replay_lag), 0))::int from pg_stat_replication) as lag`;
  if (!row) return [];
  const { used, max, bytes, oldest, lag } = row;
  const isBad = tookMs > SLOW_DATABASE_MS || used > max * 0.9 || (lag ?? 0) > MAX_LAG_SECONDS;
  const standby = lag === null ? 'no standby' : `standby ${lag} s behind`;
  const text = `${tookMs.toFixed(1)} ms for a statement, ${used} of ${max} connections, ${gibibytes(bytes)}, oldest transaction ${duration(oldest)}, ${standby}`;
  const advice = '; check its load, its disk and max_connections';
  return [judged('Database', isBad, text, advice)];
}

/** As the worker saw them last. */
async function checkAlarms(db: Db): Promise<Finding[]> {
  const raised = (await readAlarms(db)).filter(({ count }) => count > 0);
  if (raised.length === 0) return [good('Alarms', 'nothing needs an operator')];
  return raised.map(alarmFinding);
}

export const alarmFinding = ({ name, count, detail }: Alarm): Finding =>
  bad('Alarm', `${name} ${count}: ${ALARMS[name].about} (${detail}); ${ALARMS[name].advice}`);

const percent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
const gibibytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(2)} GiB`;

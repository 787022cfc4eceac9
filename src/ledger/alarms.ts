/**
 * Alarms: conditions that need an operator. A job stores and logs them while they last.
 * Details are ids and counts only.
 */
import { type RawBuilder, sql } from 'kysely';
import { errorFields, type Log } from '../core/index.ts';
import { type Db, prepare } from '../platform/db/index.ts';
import { REPLICA_LIFETIME_MS } from './records/replica.ts';
import { checkNewEntries } from './wallets/check.ts';

interface AlarmText {
  /** What is wrong. */
  readonly about: string;
  /** What the operator does next. */
  readonly advice: string;
}

export const ALARMS = {
  ledger_faults: {
    about: 'ledger counters differ from the ledger entries',
    advice: 'back up the database and find the cause before correcting anything by hand',
  },
  usage_quarantined: {
    about: 'usage records were quarantined and not charged',
    advice: 'review them at /admin/v1/quarantine, then charge or dismiss each',
  },
  replicas_stale: {
    about: 'processes died and their journals were not recovered; their leases stay held',
    advice:
      'start a server with their DATA_DIR; ' +
      'if that disk is lost for good, run "dragoman replica remove ID" to return their leases',
  },
  charges_above_reservation: {
    about: 'charges of the last hour were higher than their reservations',
    advice: 'check prices, context and max_output of the models in use; balances may be negative',
  },
  callbacks_dead: {
    about: 'callbacks were given up within the last day',
    advice: 'read /admin/v1/callbacks?state=dead, ask the owner of the receiver, then redeliver them',
  },
  journal_backlog: {
    about: 'processes have usage records that are not in the database after a minute',
    advice: 'look for usage.flush_failed in their logs; DATA_DIR needs room for the journal until it is drained',
  },
  video_usage_missing: {
    about: 'video tasks succeeded a day ago without usage or without a price; their amounts stay held',
    advice: 'read /admin/v1/reviews, compare with the bill of the provider, then settle or release each',
  },
  video_submissions_unknown: {
    about: 'video tasks were sent over an hour ago and not found at their provider; their amounts stay held',
    advice: "read /admin/v1/submissions, compare with the tasks in the provider's console, then assign or dismiss each",
  },
  accounts_out: {
    about: 'accounts are out of use until an operator acts',
    advice:
      'read /admin/v1/accounts; correct the api_key or the quota of each, ' +
      'then POST /admin/v1/accounts/ID/test or resume it',
  },
  groups_without_account: {
    about: 'every account of a group is parked or cools down: its requests are refused, unless a fallback takes them',
    advice: 'read /admin/v1/accounts for the reasons; add an account, or resume one',
  },
  checks_failing: {
    about: 'a check for alarms cannot run, so its alarms are not up to date',
    advice:
      'look at the load of the database and for job.failed in the log; "dragoman ledger check" checks the whole ledger',
  },
  flusher_failing: {
    about: 'this process cannot write its usage records to the database',
    advice: 'look for usage.flush_failed in its log; no record is lost while its DATA_DIR is kept',
  },
} as const satisfies Record<string, AlarmText>;
export type AlarmName = keyof typeof ALARMS;

export interface Alarm {
  readonly name: AlarmName;
  readonly count: number;
  readonly detail: string;
}

/** Finds alarms of some kinds. An alarm that is not in the result keeps its state. */
export type AlarmFinder = (db: Db) => Promise<readonly Alarm[]>;

/** Selects a line of text for each case of the alarm, at most `MAX_CASES`. All such checks are one statement. */
export type AlarmCases = RawBuilder<unknown>;
export type AlarmChecks = Readonly<Record<string, AlarmFinder>> | Readonly<{ [name in AlarmName]?: AlarmCases }>;

/** More make no difference to the operator. */
export const MAX_CASES = sql.lit(1_000);
/** Of one check: enough to read 20 million entries for the first time. */
const MAX_PASSES = 100;

/** Each is reported alone: one that fails hides no other. */
export const LEDGER_CHECKS = {
  async ledger(db: Db) {
    let pass = await checkNewEntries(db);
    for (let n = 1; pass?.hasMore && n < MAX_PASSES; n += 1) pass = await checkNewEntries(db);
    // Undefined while another process checks, and behind while old entries are
    // still read for the first time: the last result stays.
    if (!pass || pass.isBehind) return [];
    return [alarm('ledger_faults', pass.faults, ({ fault, subject }) => `${fault}: ${subject}`)];
  },
  usage_quarantined: sql`
    select id from usage_quarantine where outcome is null order by created_at desc limit ${MAX_CASES}`,
  replicas_stale: sql`
    select id || ' on ' || host || ', whose leases hold $' || (
      select trim_scale(coalesce(sum(nanos), 0) / 1000000000.0) from leases where replica_id = replicas.id)
    from replicas where seen_at < now() - ${sql.lit(REPLICA_LIFETIME_MS)} * interval '1 millisecond'
    order by seen_at limit ${MAX_CASES}`,
  charges_above_reservation: sql`
    select count(*) || ' of ' || debit from entries
    where kind in ('excess', 'overdraft') and created_at > now() - interval '1 hour'
    group by debit order by count(*) desc limit ${MAX_CASES}`,
  journal_backlog: sql`
    select pending || ' of ' || id from replicas where pending_since < now() - interval '1 minute'
    order by pending_since limit ${MAX_CASES}`,
  accounts_out: sql`
    select id || ': ' || reason || coalesce(' (' || code || ')', '') from (
      select account_id as id, cause as reason, provider_code as code from account_parks where cause = 'credential'
      union all
      select account_id, reason, provider_code from account_cooldowns where reason = 'quota_exhausted' and until > now()
      order by id limit ${MAX_CASES}) out`,
  groups_without_account: sql`
    select group_id from account_groups a group by group_id having bool_and(
      exists (select from account_parks p where p.account_id = a.account_id) or
      exists (select from account_cooldowns c where c.account_id = a.account_id and c.operation = '' and c.until > now()
        and not c.in_use))
    order by group_id limit ${MAX_CASES}`,
} as const satisfies AlarmChecks;

interface FailedCheck {
  readonly check: string;
  readonly cause: string;
}

/**
 * Runs every check. A check that cannot run is an alarm itself; so is a ledger that no process could check for a while.
 */
export async function findAlarms(db: Db, checks: AlarmChecks): Promise<Alarm[]> {
  const failed: FailedCheck[] = [];
  const cases = Object.entries(checks).filter(([, check]) => typeof check !== 'function');
  // When this fails, each is tried alone.
  const together = await findCases(db, cases as Cases).catch(() => undefined);
  const found: Alarm[] = [...(together ?? [])];
  for (const [name, check] of Object.entries(checks)) {
    if (together && typeof check !== 'function') continue;
    try {
      found.push(...(typeof check === 'function' ? await check(db) : await findCases(db, [[name, check]] as Cases)));
    } catch (error) {
      const { fault, detail } = errorFields(error);
      failed.push({ check: name, cause: `${fault} ${detail}` });
    }
  }
  // A failure is reported above, by the check itself.
  if (await isLedgerUnchecked(db).catch(() => false))
    failed.push({ check: 'ledger', cause: `not completed for ${UNCHECKED_MINUTES} minutes` });
  return [...found, alarm('checks_failing', failed, ({ check, cause }) => `${check}: ${cause}`)];
}

type Cases = readonly (readonly [name: AlarmName, cases: AlarmCases])[];

/** In one prepared statement: planning and sending one for each costs an idle server more than anything else. */
async function findCases(db: Db, all: Cases): Promise<Alarm[]> {
  if (all.length === 0) return [];
  const parts = all.map(
    ([name, cases]) => sql`
      select ${sql.lit(name)}, count(*), coalesce((array_agg(line))[1:${sql.lit(SHOWN)}], '{}')
      from (${cases}) cases (line)`,
  );
  const text = sql`select * from (${sql.join(parts, sql` union all `)}) found (name, count, lines)`.compile(db).sql;
  const rows = await prepare<CaseRow>(`alarms_${all.length}_${all[0]?.[0]}`, text)(db, []);
  return rows.map(({ name, count, lines }) => ({ name, count: Number(count), detail: shorten(lines, Number(count)) }));
}

interface CaseRow {
  readonly name: AlarmName;
  readonly count: bigint;
  readonly lines: readonly string[];
}

/** Several checks in a row did not complete: they failed, or the lock of the check is held by a process that hangs. */
const UNCHECKED_MINUTES = 15;

async function isLedgerUnchecked(db: Db): Promise<boolean> {
  const { rows } = await sql`
    select from ledger_checkpoint where checked_at < now() - ${UNCHECKED_MINUTES} * interval '1 minute'`.execute(db);
  return rows.length > 0;
}

/** Number of rows in a detail; more would make the log line hard to read. */
const SHOWN = 3;

export const alarm = <T>(name: AlarmName, rows: readonly T[], textOf: (row: T) => string): Alarm => ({
  name,
  count: rows.length,
  detail: shorten(rows.slice(0, SHOWN).map(textOf), rows.length),
});

const shorten = (lines: readonly string[], count: number): string =>
  `${lines.join('; ')}${count > SHOWN ? '; ...' : ''}`;

/** Stores and logs the alarms. The table lock makes sure that only one of several workers logs a change. */
export async function checkAlarms(db: Db, log: Log, checks: AlarmChecks = LEDGER_CHECKS): Promise<void> {
  const found = await findAlarms(db, checks);
  const logLines: (() => void)[] = [];
  await db.transaction().execute(async (tx) => {
    await sql`lock table alarms in share row exclusive mode`.execute(tx);
    const known = new Map((await tx.selectFrom('alarms').selectAll().execute()).map((row) => [row.name, row]));
    await sql`
      insert into alarms (name, count, detail, since, looked_at)
      select name, count, detail, case when count > 0 then now() end, now()
      from jsonb_to_recordset(${JSON.stringify(found)}::jsonb) as found (name text, count bigint, detail text)
      on conflict (name) do update set count = excluded.count, detail = excluded.detail, looked_at = excluded.looked_at,
        since = case when excluded.count > 0 then coalesce(alarms.since, excluded.since) end`.execute(tx);
    for (const { name, count, detail } of found) {
      const since = known.get(name)?.since ?? null;
      if (count > 0 && since === null) logLines.push(() => logAlarmRaised(log, { name, count, detail }));
      if (count === 0 && since !== null) logLines.push(() => logAlarmCleared(log, name));
    }
  });
  for (const write of logLines) write();
}

export const logAlarmRaised = (log: Log, { name, count, detail }: Alarm): void =>
  log.error('alarm.raised', { alarm: name, count, detail, about: ALARMS[name].about, advice: ALARMS[name].advice });
export const logAlarmCleared = (log: Log, name: AlarmName): void => log.info('alarm.cleared', { alarm: name });

export interface AlarmState extends Alarm {
  /** Seconds since the last check, by the clock of the database. */
  readonly ageSeconds: number;
}

export async function readAlarms(db: Db): Promise<AlarmState[]> {
  const { rows } = await sql<{ name: AlarmName; count: bigint; detail: string; age: number }>`
    select name, count, detail, extract(epoch from clock_timestamp() - looked_at)::float8 as age
    from alarms order by name`.execute(db);
  return rows.map(({ name, count, detail, age }) => ({ name, count: Number(count), detail, ageSeconds: age }));
}

/**
 * Alarms: conditions that need an operator. A job finds them in the database and stores them while they last.
 * Each is logged once when it appears and once when it ends. Details are ids and counts, never data of callers.
 */
import { sql } from 'kysely';
import { errorFields, type Log } from '../core/index.ts';
import type { Db } from '../platform/db/index.ts';
import { rowsIn } from '../rules/index.ts';
import { staleReplicas } from './records/replica.ts';
import { checkNewEntries } from './wallets/recheck.ts';

/** What is wrong, and what the operator does next. */
export const ALARMS = rowsIn(
  `
ledger_faults: ledger counters differ from the ledger entries
  | back up the database and find the cause before correcting anything by hand
usage_quarantined: usage records were quarantined and not charged
  | review them at /admin/v1/quarantine, then charge or dismiss each
replicas_stale: processes died and their journals were not recovered; their leases stay held
  | start a server with their DATA_DIR; if that disk is lost for good, run "dragoman replica remove ID" to return their leases
charges_above_reservation: charges of the last hour were higher than their reservations
  | check prices, context and max_output of the models in use; balances may be negative
callbacks_dead: callbacks were given up within the last day
  | read /admin/v1/callbacks?state=dead, ask the owner of the receiver, then redeliver them
journal_backlog: processes have usage records that are not in the database after a minute
  | look for usage.flush_failed in their logs; DATA_DIR needs room for the journal until it is drained
video_usage_missing: video tasks succeeded a day ago without usage or without a price; their amounts stay held
  | read /admin/v1/reviews, compare with the bill of the provider, then settle or release each
video_submissions_unknown: video tasks were sent over an hour ago and not found at their provider; their amounts stay held
  | read /admin/v1/submissions, compare with the tasks in the provider's console, then assign or dismiss each
accounts_out: accounts are out of use until an operator acts
  | read /admin/v1/accounts; correct the api_key or the quota of each, then POST /admin/v1/accounts/ID/test or resume it
groups_without_account: every account of a group is parked or cools down: its requests are refused, unless a fallback takes them
  | read /admin/v1/accounts for the reasons; add an account, or resume one
checks_failing: a check for alarms cannot run, so its alarms are not up to date
  | look at the load of the database and for job.failed in the log; "dragoman ledger check" checks the whole ledger
flusher_failing: this process cannot write its usage records to the database
  | look for usage.flush_failed in its log; no record is lost while its DATA_DIR is kept
`,
  ([about = '', advice = '']) => ({ about, advice }),
);
export type AlarmName = keyof typeof ALARMS;

export interface Alarm {
  readonly name: AlarmName;
  readonly count: number;
  readonly detail: string;
}

/** Finds alarms of some kinds. An alarm that is not in the result keeps its state. */
export type AlarmFinder = (db: Db) => Promise<readonly Alarm[]>;

/** Of one check: enough to read 20 million entries for the first time. */
const MAX_PASSES = 100;

/** The checks of the ledger by name. Each runs alone: one that fails hides no other. */
export const LEDGER_CHECKS: Readonly<Record<string, AlarmFinder>> = {
  async ledger(db) {
    let pass = await checkNewEntries(db);
    for (let n = 1; pass?.hasMore && n < MAX_PASSES; n += 1) pass = await checkNewEntries(db);
    // Undefined while another process checks, and behind while old entries are still read for the first time: the last result stays.
    if (!pass || pass.isBehind) return [];
    return [alarm('ledger_faults', pass.faults, ({ fault, subject }) => `${fault}: ${subject}`)];
  },
  async quarantine(db) {
    const { rows } = await sql<{ id: string }>`
      select id from usage_quarantine where outcome is null order by created_at desc limit 1000`.execute(db);
    return [alarm('usage_quarantined', rows, ({ id }) => id)];
  },
  async replicas(db) {
    return [alarm('replicas_stale', await staleReplicas(db), ({ id, host }) => `${id} on ${host}`)];
  },
  async charges(db) {
    const { rows } = await sql<{ user: string; charges: bigint }>`
      select debit as user, count(*) as charges from entries
      where kind in ('excess', 'overdraft') and created_at > now() - interval '1 hour'
      group by debit order by 2 desc limit 1000`.execute(db);
    return [alarm('charges_above_reservation', rows, ({ user, charges }) => `${charges} of ${user}`)];
  },
  async journals(db) {
    const { rows } = await sql<{ id: string; pending: bigint }>`
      select id, pending from replicas where pending_since < now() - interval '1 minute' order by pending_since limit 1000`.execute(
      db,
    );
    return [alarm('journal_backlog', rows, ({ id, pending }) => `${pending} of ${id}`)];
  },
  async accounts(db) {
    const { rows: out } = await sql<{ id: string; reason: string; code: string | null }>`
      select account_id as id, cause as reason, provider_code as code from account_parks where cause = 'credential'
      union all
      select account_id, reason, provider_code from account_cooldowns where reason = 'quota_exhausted' and until > now()
      order by id limit 1000`.execute(db);
    const { rows: groups } = await sql<{ id: string }>`
      select group_id as id from accounts a group by group_id having bool_and(
        exists (select from account_parks p where p.account_id = a.id) or
        exists (select from account_cooldowns c where c.account_id = a.id and c.operation = '' and c.until > now()
          and not c.in_use))
      order by group_id limit 1000`.execute(db);
    return [
      alarm('accounts_out', out, ({ id, reason, code }) => `${id}: ${reason}${code === null ? '' : ` (${code})`}`),
      alarm('groups_without_account', groups, ({ id }) => id),
    ];
  },
};

interface FailedCheck {
  readonly check: string;
  readonly cause: string;
}

/** Runs every check. A check that cannot run is an alarm itself; so is a ledger that no process could check for a while. */
export async function findAlarms(db: Db, checks: Readonly<Record<string, AlarmFinder>>): Promise<Alarm[]> {
  const found: Alarm[] = [];
  const failed: FailedCheck[] = [];
  for (const [check, find] of Object.entries(checks)) {
    try {
      found.push(...(await find(db)));
    } catch (error) {
      const { fault, detail } = errorFields(error);
      failed.push({ check, cause: `${fault} ${detail}` });
    }
  }
  // A failure is reported above, by the check itself.
  if (await isLedgerUnchecked(db).catch(() => false))
    failed.push({ check: 'ledger', cause: `not completed for ${UNCHECKED_MINUTES} minutes` });
  return [...found, alarm('checks_failing', failed, ({ check, cause }) => `${check}: ${cause}`)];
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
  detail: `${rows.slice(0, SHOWN).map(textOf).join('; ')}${rows.length > SHOWN ? '; ...' : ''}`,
});

/** Stores and logs the alarms. The table lock makes sure that only one of several workers logs a change. */
export async function checkAlarms(
  db: Db,
  log: Log,
  checks: Readonly<Record<string, AlarmFinder>> = LEDGER_CHECKS,
): Promise<void> {
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

/** Reads the result of the last check. */
export async function readAlarms(db: Db): Promise<AlarmState[]> {
  const { rows } = await sql<{ name: AlarmName; count: bigint; detail: string; age: number }>`
    select name, count, detail, extract(epoch from clock_timestamp() - looked_at)::float8 as age
    from alarms order by name`.execute(db);
  return rows.map(({ name, count, detail, age }) => ({ name, count: Number(count), detail, ageSeconds: age }));
}

/**
 * What needs an operator: found in the database by the worker, written down while it lasts, told in the log once when it appears and
 * once when it is over. Details are ids and counts; nothing of a caller.
 */
import { sql } from 'kysely';
import type { Log } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import { staleReplicas } from './records/replica.ts';
import { ledgerFaults } from './wallets/wallets.ts';

/** What is wrong, and what to do next. */
export const ALARMS = {
  ledger_faults: {
    about: 'counters of the ledger differ from its entries',
    advice: 'keep a copy of the database and find out why before anything is corrected by hand',
  },
  usage_quarantined: {
    about: 'usage records were set aside and not charged',
    advice: 'look at them at /admin/v1/quarantine, then resolve or dismiss each',
  },
  replicas_stale: {
    about: 'processes ended without their journal having been read; what they leased stays held',
    advice:
      'start a server on the disk with their DATA_DIR; if that disk is lost for good, "dragoman replica forget ID" gives back what they held',
  },
  charges_above_reservation: {
    about: 'charges within the last hour went beyond what was set aside for them',
    advice: 'compare prices, context and max_output of the models in use; a balance may be below zero',
  },
  journal_backlog: {
    about: 'processes have records that have not reached the database for a minute',
    advice: 'look for usage.flush_failed in their log; DATA_DIR must keep room for the journal until it is over',
  },
  flusher_failing: {
    about: 'this process fails to bring its records to the database',
    advice: 'look for usage.flush_failed in its log; nothing is lost while its DATA_DIR is kept',
  },
} as const satisfies Record<string, { about: string; advice: string }>;

export type AlarmName = keyof typeof ALARMS;

export interface Alarm {
  readonly name: AlarmName;
  readonly count: number;
  readonly detail: string;
}

/** One for every kind that the database can tell, with a count of nought while all is well. */
export async function findAlarms(db: Db): Promise<Alarm[]> {
  const faults = await ledgerFaults(db);
  const silent = await staleReplicas(db);
  const { rows: aside } = await sql<{ id: string }>`
    select id from usage_quarantine where outcome is null order by created_at desc limit 1000`.execute(db);
  const { rows: beyond } = await sql<{ user: string; charges: bigint }>`
    select debit as user, count(*) as charges from entries
    where kind in ('excess', 'overdraft') and created_at > now() - interval '1 hour'
    group by debit order by 2 desc limit 1000`.execute(db);
  const { rows: behind } = await sql<{ id: string; pending: bigint }>`
    select id, pending from replicas where pending_since < now() - interval '1 minute' order by pending_since`.execute(
    db,
  );
  return [
    alarm('ledger_faults', faults, ({ fault, subject }) => `${fault}: ${subject}`),
    alarm('usage_quarantined', aside, ({ id }) => id),
    alarm('replicas_stale', silent, ({ id, host }) => `${id} on ${host}`),
    alarm('charges_above_reservation', beyond, ({ user, charges }) => `${charges} of ${user}`),
    alarm('journal_backlog', behind, ({ id, pending }) => `${pending} of ${id}`),
  ];
}

/** As many as a person reads at once. */
const SHOWN = 3;

const alarm = <T>(name: AlarmName, rows: readonly T[], textOf: (row: T) => string): Alarm => ({
  name,
  count: rows.length,
  detail: `${rows.slice(0, SHOWN).map(textOf).join('; ')}${rows.length > SHOWN ? '; ...' : ''}`,
});

/** Of several workers that look, one tells. */
export async function checkAlarms(db: Db, log: Log): Promise<void> {
  const found = await findAlarms(db);
  const told: (() => void)[] = [];
  await db.transaction().execute(async (tx) => {
    await sql`lock table alarms in share row exclusive mode`.execute(tx);
    const known = new Map((await tx.selectFrom('alarms').selectAll().execute()).map((row) => [row.name, row]));
    for (const { name, count, detail } of found) {
      const since = known.get(name)?.since ?? null;
      await sql`
        insert into alarms (name, count, detail, since, looked_at)
        values (${name}, ${count}, ${detail}, ${count > 0 ? sql`now()` : null}, now())
        on conflict (name) do update set count = excluded.count, detail = excluded.detail, looked_at = excluded.looked_at,
          since = case when excluded.count > 0 then coalesce(alarms.since, excluded.since) end`.execute(tx);
      if (count > 0 && since === null) told.push(() => raised(log, { name, count, detail }));
      if (count === 0 && since !== null) told.push(() => cleared(log, name));
    }
  });
  for (const tell of told) tell();
}

export const raised = (log: Log, { name, count, detail }: Alarm): void =>
  log.error('alarm.raised', { alarm: name, count, detail, about: ALARMS[name].about, advice: ALARMS[name].advice });
export const cleared = (log: Log, name: AlarmName): void => log.info('alarm.cleared', { alarm: name });

export interface AlarmState extends Alarm {
  /** How long ago somebody looked, by the clock of the database. */
  readonly ageSeconds: number;
}

/** As the worker saw it last: cheap enough for every look at the metrics. */
export async function readAlarms(db: Db): Promise<AlarmState[]> {
  const { rows } = await sql<{ name: AlarmName; count: bigint; detail: string; age: number }>`
    select name, count, detail, extract(epoch from clock_timestamp() - looked_at)::float8 as age
    from alarms order by name`.execute(db);
  return rows.map(({ name, count, detail, age }) => ({ name, count: Number(count), detail, ageSeconds: age }));
}

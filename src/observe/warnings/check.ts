/**
 * The check of all rules: crossings, notices and deliveries in one transaction by one worker, so that an event is sent
 * once. What ended may cross again.
 */
import { sql } from 'kysely';
import { type Clock, formatNanos, newId } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import { ADVISORY_LOCK, allRows, type Db, firstRow, type OpenWork, type Tx } from '../../platform/db/index.ts';
import { WARNING_LIMITS, warningKind } from '../../rules/index.ts';
import type { NoticeContent } from '../../schemas/index.ts';
import { crossings, type KindsInUse } from './crossings.ts';
import { type WarningRow, warningView } from './rules.ts';

export const WARNING_WORK: OpenWork = {
  name: 'warnings',
  condition: sql<boolean>`exists (select from warning_rules where not paused)`,
};

/** The second key of the advisory lock of this job. */
const CHECKING_WARNINGS = 4;
/** Crossings of one run; the next run follows at once. */
const BATCH = 2_000;

export function checkWarnings(db: Db, clock: Clock): Promise<number> {
  const now = new Date(clock.now());
  return db.transaction().execute(async (tx) => {
    const lock = await firstRow(tx)<{ locked: boolean }>`
      select pg_try_advisory_xact_lock(${ADVISORY_LOCK}, ${CHECKING_WARNINGS}) as locked`;
    if (!lock?.locked) return 0;
    const kinds = await kindsInUse(tx);
    if (kinds.size === 0) return 0;
    const crossed = await updateStates(tx, kinds, now);
    if (crossed.length === 0) return 0;
    crashPoint('warning.crossed');
    await writeNotices(tx, crossed, now);
    crashPoint('warning.noticed');
    return crossed.length;
  });
}

async function kindsInUse(tx: Tx): Promise<KindsInUse> {
  const { rows } = await sql<{ kind: string; isOfAll: boolean }>`
    select kind, bool_or(user_id = '' and subject is null) as "isOfAll" from warning_rules where not paused
    group by kind`.execute(tx);
  return new Map(rows.map(({ kind, isOfAll }) => [kind, { isOfAll }]));
}

type Crossing = Record<'user_id' | 'rule_id' | 'subject' | 'value', string> & { name: string | null };

async function updateStates(tx: Tx, kinds: KindsInUse, now: Date): Promise<readonly Crossing[]> {
  const same = sql`s.user_id = f.user_id and s.rule_id = f.rule_id and s.subject = f.subject and s.period = f.period`;
  return allRows(tx)<Crossing>`
    with found as materialized (${crossings(kinds, now)}),
    ended as (
      delete from warning_states s where not exists (select from found f where ${same})),
    fresh as materialized (
      select * from found f where not exists (select from warning_states s where ${same})
      order by user_id, rule_id, subject limit ${BATCH}),
    stored as (
      insert into warning_states (user_id, rule_id, subject, period, value)
      select user_id, rule_id, subject, period, value from fresh)
    select user_id, rule_id, subject, name, value from fresh`;
}

/** One notice for each rule, however many subjects crossed its threshold. */
async function writeNotices(tx: Tx, crossed: readonly Crossing[], now: Date): Promise<void> {
  const rules = await allRows(tx)<WarningRow>`
    select r.*, 0 as holds_for from warning_rules r
    where (r.user_id, r.id) in (select *
    from unnest(${crossed.map((one) => one.user_id)}::text[], ${crossed.map((one) => one.rule_id)}::text[]))`;
  const byRule = Map.groupBy(crossed, ({ user_id, rule_id }) => `${user_id}\n${rule_id}`);
  const notices = rules.map((rule) => ({
    user_id: rule.user_id,
    id: newId('notice'),
    rule_id: rule.id,
    content: contentOf(rule, byRule.get(`${rule.user_id}\n${rule.id}`) ?? []),
    created_at: now.toISOString(),
  }));
  await sql`
    insert into notices (user_id, id, rule_id, content, created_at)
    select * from jsonb_to_recordset(${JSON.stringify(notices)}::jsonb)
      as n (user_id text, id text, rule_id text, content jsonb, created_at timestamptz)`.execute(tx);
  await sql`
    insert into notice_deliveries (user_id, notice_id, destination_id, state, finished_at)
    select n.user_id, n.id, d.id, case when isFull then 'dropped' else 'pending' end, case when isFull then now() end
    from notices n join warning_rules r on r.user_id = n.user_id and r.id = n.rule_id
    join warning_destinations d on d.user_id = r.user_id and (r.destinations is null or d.id = any(r.destinations))
    cross join lateral (
      select count(*) >= ${WARNING_LIMITS.waiting} as isFull from (
        select from notice_deliveries w where w.user_id = d.user_id and w.destination_id = d.id and w.finished_at is null
        limit ${WARNING_LIMITS.waiting}) waiting) load
    where n.id = any(${notices.map(({ id }) => id)})`.execute(tx);
}

function contentOf(rule: WarningRow, crossed: readonly Crossing[]): NoticeContent {
  const { id, name, kind, scope, period, amount, percent, min_calls } = warningView(rule);
  const isMoney = warningKind(kind).unit === 'dollars';
  return {
    rule: { id, name, kind, scope, period, amount, percent, min_calls },
    count: crossed.length,
    subjects: crossed.slice(0, WARNING_LIMITS.namedSubjects).map((one) => ({
      id: one.subject,
      name: one.name,
      value: isMoney ? formatNanos(BigInt(one.value)) : one.value,
    })),
  };
}

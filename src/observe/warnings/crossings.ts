/**
 * What crosses a threshold now, for all rules in one statement, every part by an index. A rule of a user sees that user
 * only.
 */
import { type RawBuilder, sql } from 'kysely';
import { REACHED_LIMITS } from '../../providers/pool/index.ts';
import { ACCOUNT_TROUBLES, WARNING_LIMITS, WARNING_WINDOW_HOURS, type WarningKindName } from '../../rules/index.ts';

/** The kinds that unpaused rules have, and whether a rule of the operators is about every user or key. */
export type KindsInUse = ReadonlyMap<string, { readonly isOfAll: boolean }>;

/** Rows with user_id, rule_id, subject, name, period and value. */
export function crossings(kinds: KindsInUse, now: Date): RawBuilder<unknown> {
  const spending = kinds.get('spend') ?? kinds.get('limit');
  const isOfAll = kinds.get('spend')?.isOfAll === true || kinds.get('limit')?.isOfAll === true;
  const parts = [
    ...(kinds.has('balance') ? [BALANCES] : []),
    ...(spending ? [spent(now, isOfAll)] : []),
    ...(kinds.has('account') ? [ACCOUNTS] : []),
    ...(kinds.has('errors') ? [errors(now)] : []),
    ...(kinds.has('margin') ? [margins(now)] : []),
    ...(kinds.has('alarm') ? [ALARM_ROWS] : []),
  ].map((part) => sql`(${part})`);
  return sql`
    select * from (
      select c.*, row_number() over (partition by user_id, rule_id order by subject) as place
      from (${sql.join(parts, sql` union all `)}) c) counted
    where place <= ${WARNING_LIMITS.subjects}`;
}

const of = (...kinds: readonly WarningKindName[]): RawBuilder<unknown> =>
  sql`not r.paused and r.kind in (${sql.join(kinds.map((kind) => sql.lit(kind)))})`;

/** As users see it: leases of replicas are available. */
const AVAILABLE = sql`
  lateral (select w.credits - w.debits - w.held + coalesce(sum(l.nanos), 0)::bigint as nanos from leases l where l.user_id = w.user_id) b`;

/** The first condition on each wallet is implied by the second, and skips the leases of most. */
const BALANCES = sql`
  select r.user_id, r.id as rule_id, w.user_id as subject, null::text as name, '' as period, b.nanos::text as value
  from warning_rules r join wallets w on w.user_id = r.subject cross join ${AVAILABLE}
  where ${of('balance')} and b.nanos < r.nanos
  union all
  select r.user_id, r.id, w.user_id, null, '', b.nanos::text
  from warning_rules r join wallets w on w.credits - w.debits - w.held < r.nanos cross join ${AVAILABLE}
  where ${of('balance')} and r.user_id = '' and r.subject is null and b.nanos < r.nanos`;

/**
 * Of all users only those who spent today can cross a threshold, and those who did are looked up again. Keys that
 * replaced one another count together.
 */
function spent(now: Date, isOfAll: boolean): RawBuilder<unknown> {
  const today = sql`${now.toISOString().slice(0, 10)}::date`;
  const everyone = isOfAll
    ? sql`
      union select user_id from usage_daily where day = ${today}
      union select coalesce(k.user_id, s.subject) from warning_states s left join keys k on k.id = s.subject where s.user_id = ''`
    : sql``;
  return sql`
    with rules as materialized (
      select r.*, case when r.user_id <> '' then r.user_id else coalesce(k.user_id, r.subject) end as of_user,
        coalesce(k.spend_id, r.subject) as of_subject
      from warning_rules r left join keys k on r.scope = 'key' and k.id = r.subject where ${of('spend', 'limit')}
    ), watched as (
      select distinct of_user as user_id from rules where of_user is not null ${everyone}
    ), sums as materialized (
      select d.user_id, coalesce(k.spend_id, d.key_id) as first_key, sum(d.month) as month, sum(d.day) as day
      from (
        select d.user_id, d.key_id, sum(d.nanos) as month, coalesce(sum(d.nanos) filter (where d.day = ${today}), 0) as day
        from watched w join usage_daily d on d.user_id = w.user_id
        where d.day between date_trunc('month', ${today})::date and ${today} group by 1, 2) d
      left join keys k on k.id = d.key_id group by 1, 2
    ), newest as (
      select distinct on (coalesce(k.spend_id, k.id)) coalesce(k.spend_id, k.id) as first_key, k.user_id, k.name, k.limits
      from watched w join keys k on k.user_id = w.user_id order by coalesce(k.spend_id, k.id), k.created_at desc
    ), figures as (
      select 'user' as scope, s.user_id, s.user_id as subject, null as name, u.limits, sum(s.month) as month, sum(s.day) as day
      from sums s join users u on u.id = s.user_id group by s.user_id, u.limits
      union all
      select 'key', s.user_id, s.first_key, n.name, n.limits, s.month, s.day
      from sums s join newest n on n.first_key = s.first_key and n.user_id = s.user_id
    ), matched as (
      select r.*, f.subject as found, f.name as found_name, case r.period when 'day' then f.day else f.month end as spent,
        (f.limits ->> ('spend_' || r.period))::numeric * 1e9 as most
      from rules r join figures f on f.scope = r.scope and f.user_id = r.of_user and (r.of_subject is null or r.of_subject = f.subject)
      union all
      select r.*, f.subject, f.name, case r.period when 'day' then f.day else f.month end,
        (f.limits ->> ('spend_' || r.period))::numeric * 1e9
      from rules r join figures f on f.scope = r.scope where r.of_user is null
    )
    select user_id, id as rule_id, found as subject, found_name as name,
      to_char(${today}, case period when 'day' then 'YYYY-MM-DD' else 'YYYY-MM' end) as period,
      case kind when 'spend' then spent::bigint::text else floor(spent * 100 / most)::text end as value
    from matched
    where case kind when 'spend' then spent >= nanos else most > 0 and spent * 100 >= percent * most end`;
}

/** The worst state of each account. A cooldown for one use only is no trouble of the account. */
const ACCOUNTS = sql`
  select r.user_id, r.id as rule_id, t.account_id as subject, null::text as name, '' as period,
    (array_agg(t.state order by array_position(array[${sql.join(ACCOUNT_TROUBLES.map((state) => sql.lit(state)))}], t.state)))[1] as value
  from warning_rules r join (
    select account_id, case cause when 'credential' then 'out' else state end as state from account_parks
    union all
    select account_id, case reason when 'quota_exhausted' then 'out' else 'cooling' end from account_cooldowns
    where operation = '' and until > now()
    union all
    select account_id, 'limited' from ${REACHED_LIMITS} l) t on t.state = any(r.states) and (r.subject is null or t.account_id = r.subject)
  where ${of('account')} and r.user_id = '' group by 1, 2, 3`;

const windows = sql.join(
  Object.entries(WARNING_WINDOW_HOURS).map(([name, hours]) => sql`(${sql.lit(name)}, ${sql.lit(hours)})`),
);

const hours = (now: Date): RawBuilder<unknown> => sql`
  request_hours h join (values ${windows}) w (period, hours) on h.hour > date_trunc('hour', ${now}::timestamptz, 'UTC') - w.hours * interval '1 hour'
    and h.hour <= ${now}::timestamptz`;

/** Callers' own errors do not count: no operator can end them. */
const errors = (now: Date): RawBuilder<unknown> => sql`
  select r.user_id, r.id as rule_id, f.subject, null::text as name, '' as period, floor(f.failed * 100 / f.requests)::text as value
  from warning_rules r join (
    select case h.level when 'total' then 'all' else 'group' end as scope, case h.level when 'total' then 'all' else h.group_id end as subject,
      w.period, sum(h.requests) as requests, sum(h.provider_errors + h.own_errors) as failed
    from ${hours(now)} where h.level in ('total', 'group') group by 1, 2, 3) f
    on f.scope = r.scope and f.period = r.period and (r.subject is null or f.subject = r.subject)
  where ${of('errors')} and r.user_id = '' and f.requests >= r.min_calls and f.failed * 100 >= r.percent * f.requests`;

/** From the places whose every call has a known cost. */
const margins = (now: Date): RawBuilder<unknown> => sql`
  select r.user_id, r.id as rule_id, f.subject, null::text as name, '' as period, floor(f.margin * 100 / f.nanos)::text as value
  from warning_rules r join (
    select case grouping(h.group_id) when 1 then 'all' else 'group' end as scope,
      case grouping(h.group_id) when 1 then 'all' else h.group_id end as subject,
      w.period, sum(h.requests) as requests, sum(h.nanos) as nanos, sum(h.nanos - h.cost_nanos) as margin
    from ${hours(now)} where h.level = 'all' and h.cost_unknown = 0 and h.nanos > 0
    group by grouping sets ((h.group_id, w.period), (w.period))) f
    on f.scope = r.scope and f.period = r.period and (r.subject is null or f.subject = r.subject)
  where ${of('margin')} and r.user_id = '' and f.requests >= r.min_calls and f.margin * 100 < r.percent * f.nanos`;

const ALARM_ROWS = sql`
  select r.user_id, r.id as rule_id, a.name as subject, null::text as name, '' as period, a.detail as value
  from warning_rules r join alarms a on a.count > 0 and (r.subject is null or a.name = r.subject)
  where ${of('alarm')} and r.user_id = ''`;

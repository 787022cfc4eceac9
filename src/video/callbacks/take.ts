/**
 * Choice of the events to send next. Workers of all replicas take one after the other,
 * so that the limits of a destination and of a task hold for all of them together.
 * A taken event has a lease: after a crash it is due again when the lease ends.
 */
import { sql } from 'kysely';
import { crashPoint } from '../../ledger/index.ts';
import { ADVISORY_LOCK, allRows, type Db, type Row, type Tx } from '../../platform/db/index.ts';
import type { CallbackRules } from '../../rules/index.ts';

/** `attempts` counts this one. Marks compare it: only the last taker may write the outcome. */
type TakenColumns = 'user_id' | 'task_id' | 'event_id' | 'url' | 'host' | 'body' | 'attempts' | 'attempts_before';

export interface TakenEvent extends Readonly<Pick<Row<'callback_events'>, TakenColumns>> {
  /** The only attempt to a destination whose circuit is open. */
  readonly is_probe: boolean;
  /**
   * The secret of the key that created the task, sealed with the task: the key may be gone. Null when the task is gone.
   */
  readonly secret_sealed: string | null;
}

/** The second key of the advisory lock of this job. */
const TAKING_CALLBACKS = 3;

export async function takeCallbacks(db: Db, limit: number, rules: CallbackRules): Promise<TakenEvent[]> {
  return db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${ADVISORY_LOCK}, ${TAKING_CALLBACKS})`.execute(tx);
    const events = await takeLocked(tx, limit, rules);
    if (events.length > 0) crashPoint('callback.taking');
    return events;
  });
}

/**
 * Destinations with pending events are found by jumps through an index, so a long backlog costs nothing. Each offers
 * its oldest due events: as many as it has free slots, or a single probe while its circuit is open. Destinations take
 * turns. Of one task only the lowest version is offered, and none while another is being sent. `offset 0` and
 * `finished_at` keep the planner from reading the whole backlog for these rows when its statistics are old.
 */
async function takeLocked(tx: Tx, limit: number, rules: CallbackRules): Promise<TakenEvent[]> {
  const { leaseMs, perDestination, circuit } = rules;
  const lease = sql`now() + ${leaseMs} * interval '1 millisecond'`;
  return allRows(tx)<TakenEvent>`
    with recursive destinations (user_id, host) as (
      (select user_id, host from callback_events where state = 'pending' order by user_id, host limit 1)
      union all
      select following.user_id, following.host from destinations d cross join lateral (
        select user_id, host from callback_events
        where state = 'pending' and (user_id, host) > (d.user_id, d.host) order by user_id, host limit 1) following
    ), offers as (
      select d.user_id, d.host, busy.count as busy, coalesce(c.probe_at <= now(), false) as is_probe,
        case when c.probe_at > now()
          then now() - ${circuit.maxWaitMs} * interval '1 millisecond' else now() end as due_before
      from destinations d
      left join callback_circuits c on c.user_id = d.user_id and c.host = d.host
      cross join lateral (
        select count(*) from callback_events s
        where s.user_id = d.user_id and s.host = d.host and s.sending_until > now()) busy
    ), due as (
      select e.user_id, e.event_id, e.next_at, o.is_probe,
        o.busy + row_number() over (partition by o.user_id, o.host order by e.next_at, e.version) as turn
      from offers o cross join lateral (
        select e.user_id, e.event_id, e.version, e.next_at from callback_events e
        where e.state = 'pending' and e.user_id = o.user_id and e.host = o.host and e.next_at <= o.due_before
          and not exists (
            select from callback_events other
            where other.user_id = e.user_id and other.task_id = e.task_id and other.finished_at is null
              and (other.sending_until > now() or (other.version < e.version and other.next_at <= o.due_before))
            offset 0)
        order by e.next_at
        limit greatest(0, least(case when o.is_probe then 1 else ${perDestination} end, ${perDestination} - o.busy))) e
    ), chosen as (
      select e.*, next.is_probe from (select * from due order by turn, next_at limit ${limit}) next cross join lateral (
        select e.user_id, e.event_id, e.task_id, e.host from callback_events e
        where e.user_id = next.user_id and e.event_id = next.event_id and e.finished_at is null and e.next_at <= now()
        for update skip locked) e
    ), probes as (
      update callback_circuits c set probe_at = ${lease}
      from chosen where chosen.is_probe and c.user_id = chosen.user_id and c.host = chosen.host
    )
    update callback_events e set next_at = ${lease}, sending_until = ${lease}, attempts = e.attempts + 1
    from chosen left join video_tasks t on t.user_id = chosen.user_id and t.id = chosen.task_id
    where e.user_id = chosen.user_id and e.event_id = chosen.event_id
    returning e.user_id, e.task_id, e.event_id, e.url, e.host, e.body, e.attempts, e.attempts_before, chosen.is_probe,
      t.callback_secret_sealed as secret_sealed`;
}

/**
 * Outcome of an attempt: the state of the event, its line in the delivery log and the circuit of its destination,
 * in one statement. Compares the attempt, so that a worker whose lease has ended changes nothing.
 */
import { sql } from 'kysely';
import { type Db, firstRow } from '../../platform/db/index.ts';
import type { AttemptSummary, Verdict } from '../../platform/outbound/index.ts';
import type { CallbackRules } from '../../rules/index.ts';
import type { TakenEvent } from './take.ts';

export interface AttemptOutcome extends AttemptSummary {
  readonly verdict: Verdict;
  readonly durationMs: number;
}

export interface Marked {
  /** Undefined unless the circuit changed with this attempt. */
  readonly circuit: 'opened' | 'closed' | undefined;
}

/** Undefined when another worker has taken the event since. */
export async function markAttempt(db: Db, event: TakenEvent, outcome: AttemptOutcome, rules: CallbackRules) {
  const isDelivered = outcome.verdict.state === 'delivered';
  const row = await firstRow(db)<{ marked: boolean; circuit: Marked['circuit'] | null }>`
    with marked as (${markEvent(event, outcome)}),
    logged as (
      insert into callback_attempts (user_id, event_id, attempt, status, error, duration_ms)
      select user_id, event_id, attempts, ${outcome.status}::smallint, ${outcome.error}::text,
        ${outcome.durationMs}::integer
      from marked),
    circuit as (${isDelivered ? closeCircuit() : countFailure(event, rules)})
    select exists (select from marked) as marked, (select change from circuit) as circuit`;
  return row?.marked ? { circuit: row.circuit ?? undefined } : undefined;
}

function markEvent({ user_id, event_id, attempts }: TakenEvent, { verdict, status, error }: AttemptOutcome) {
  const isEnd = verdict.state !== 'pending';
  const nextAt = isEnd ? sql`next_at` : sql`now() + ${verdict.waitMs} * interval '1 millisecond'`;
  return sql`
    update callback_events
    set state = ${verdict.state}, next_at = ${nextAt}, sending_until = null,
      last_status = ${status}, last_error = ${error},
      finished_at = ${isEnd ? sql`now()` : null}
    where user_id = ${user_id} and event_id = ${event_id} and state = 'pending' and attempts = ${attempts}
    returning user_id, event_id, host, attempts`;
}

const closeCircuit = () => sql`
  delete from callback_circuits c using marked where c.user_id = marked.user_id and c.host = marked.host
  returning case when c.probe_at is not null then 'closed' end as change`;

/** Only a failed probe moves the next probe: attempts that began before the circuit opened say nothing new. */
function countFailure({ is_probe }: TakenEvent, { circuit }: CallbackRules) {
  const backOffMs = sql`least(${circuit.maxProbeMs}, ${circuit.probeMs} * power(2, c.probes + 1))`;
  const opens = sql`c.probe_at is null and c.failures + 1 >= ${circuit.failures}`;
  return sql`
    insert into callback_circuits as c (user_id, host) select user_id, host from marked
    on conflict (user_id, host) do update set
      failures = c.failures + 1,
      probes = c.probes + ${is_probe ? 1 : 0},
      probe_at = case
        when ${is_probe}::boolean and c.probe_at is not null
          then now() + ${backOffMs} * interval '1 millisecond'
        when ${opens} then now() + ${circuit.probeMs} * interval '1 millisecond'
        else c.probe_at end,
      updated_at = now()
    returning case when c.failures = ${circuit.failures} and c.probes = 0 then 'opened' end as change`;
}

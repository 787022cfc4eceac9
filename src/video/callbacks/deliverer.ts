/**
 * Delivery of callbacks, at least once (V 6 r2): takes due events, signs and sends each, and records the outcome.
 * Logs ids and hosts, never a body, a path or a secret.
 */
import { sql } from 'kysely';
import { errorFields } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import { type Db, deleteBatch } from '../../platform/db/index.ts';
import { summaryOf, verdictOf } from '../../platform/outbound/index.ts';
import { CALLBACK_RETENTION_DAYS, CALLBACK_RULES, type CallbackRules } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import { type AttemptOutcome, type Marked, markAttempt } from './mark.ts';
import { type CallbackSender, sendCallback } from './send.ts';
import { type TakenEvent, takeCallbacks } from './take.ts';

type DelivererServices = CallbackSender & Pick<VideoServices, 'db' | 'log'>;

export class Deliverer {
  readonly #services: DelivererServices;
  readonly #rules: CallbackRules;
  readonly #sending = new Set<Promise<void>>();
  #taking: Promise<number> | undefined;
  /** A slot became free while events were being taken. */
  #isStale = false;
  #isStopped = false;

  constructor(services: DelivererServices, rules: CallbackRules = CALLBACK_RULES) {
    this.#services = services;
    this.#rules = rules;
  }

  /**
   * Starts the events that are due, as many as the limits allow;
   * the next follow when slots become free. Returns how many it started.
   */
  run(): Promise<number> {
    this.#isStale = this.#taking !== undefined;
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
      if (this.#isStale) this.#continue();
    });
    return this.#taking;
  }

  /** Takes no more events, and waits for those that are being sent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#taking?.catch(() => {});
    await Promise.all(this.#sending);
  }

  async #take(): Promise<number> {
    const free = this.#rules.concurrency - this.#sending.size;
    if (free <= 0 || this.#isStopped) return 0;
    const events = await takeCallbacks(this.#services.db, free, this.#rules);
    if (events.length > 0) crashPoint('callback.taken');
    for (const event of events) this.#start(event);
    return events.length;
  }

  #continue(): void {
    this.run().catch((error: unknown) => {
      // The job takes events again within a second.
      this.#services.log.warn('callback.take_failed', errorFields(error));
    });
  }

  #start(event: TakenEvent): void {
    const delivery = this.#deliver(event)
      .catch((error: unknown) => {
        // The event is due again when its lease ends.
        this.#services.log.error('callback.attempt_lost', { ...fieldsOf(event), ...errorFields(error) });
      })
      .finally(() => {
        this.#sending.delete(delivery);
        if (!this.#isStopped) this.#continue();
      });
    this.#sending.add(delivery);
  }

  async #deliver(event: TakenEvent): Promise<void> {
    const { db, clock } = this.#services;
    const begun = clock.now();
    const result = await sendCallback(this.#services, event, this.#rules);
    crashPoint('callback.sent');
    const now = clock.now();
    const number = event.attempts - event.attempts_before;
    const verdict = verdictOf({ result, number, now, random: Math.random() }, this.#rules);
    const outcome: AttemptOutcome = { ...summaryOf(result), verdict, durationMs: Math.max(0, Math.round(now - begun)) };
    const marked = await markAttempt(db, event, outcome, this.#rules);
    crashPoint('callback.marked');
    this.#report(event, outcome, marked);
  }

  #report(event: TakenEvent, { verdict, status, error }: AttemptOutcome, marked: Marked | undefined): void {
    const { log } = this.#services;
    const fields = { ...fieldsOf(event), status, error };
    if (!marked) log.warn('callback.lease_lost', fields);
    else if (verdict.state === 'delivered') log.info('callback.delivered', fields);
    else if (verdict.state === 'dead') log.error('callback.dead', fields);
    else log.warn('callback.failed', fields);
    if (marked?.circuit) log.warn(`callback.circuit_${marked.circuit}`, { user: event.user_id, host: event.host });
  }
}

const fieldsOf = ({ user_id, event_id, task_id, host, attempts }: TakenEvent) => ({
  user: user_id,
  event: event_id,
  task: task_id,
  host,
  attempt: attempts,
});

/**
 * Deletes finished events with their attempts, and circuits that no attempt has used.
 * Returns how many events it deleted.
 */
export async function expireCallbacks(db: Db): Promise<number> {
  const age = sql`now() - ${CALLBACK_RETENTION_DAYS} * interval '1 day'`;
  await sql`delete from callback_circuits where updated_at < ${age}`.execute(db);
  return deleteBatch(db, 'callback_events', sql`finished_at < ${age}`);
}

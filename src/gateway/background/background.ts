/**
 * Background responses of responses-style groups: held before they are sent, followed, charged once.
 * Reasons: docs/adr/0014-background-responses.md
 */
import { sql } from 'kysely';
import type { ErasedUser } from '../../access/people/index.ts';
import { ApiError, errorFields, fail, formatNanos, type Repetition, repeat } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import { DUE_SOON, type Job, type OpenWork } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { BACKGROUND } from '../../rules/index.ts';
import type { BackgroundCall, BackgroundStarter, LostCall, MadeObject } from '../native/native-request.ts';
import { eraseResponses } from './erase-responses.ts';
import { followDue, followResponse } from './follow.ts';
import { holdMaximum } from './hold.ts';
import { isOpen } from './run-rows.ts';
import { type BackgroundServices, inTransaction, releaseRow, settleRow } from './settle.ts';

export interface Background extends BackgroundStarter {
  /** Deletes responses of an erased user at their providers. Returns how many were left there. */
  eraseUser(user: ErasedUser): Promise<number>;
  readonly jobs: readonly Job[];
}

const FOLLOW_MS = 2_000;
const OPEN_RESPONSES: OpenWork = {
  name: 'background',
  condition: sql<boolean>`exists (select from background_responses where next_check_at < ${DUE_SOON})`,
};
/** A process that sends a request renews this; one that has ended does not, and the hold is released. */
const sendLeaseEnd = sql<Date>`now() + ${BACKGROUND.sendLeaseMs} * interval '1 millisecond'`;
const RECORD_TURNS = 3;
const RECORD_WAIT_MS = 500;

export function createBackground(services: BackgroundServices): Background {
  const { db } = services;
  return {
    jobs: [{ name: 'background.follow', everyMs: FOLLOW_MS, needs: OPEN_RESPONSES, run: () => followDue(services) }],
    eraseUser: (user) => eraseResponses(services, user),
    async begin(input) {
      const reference = await holdMaximum(services, input, async (tx, row) => {
        await tx
          .insertInto('background_responses')
          .values({ ...row, next_check_at: sendLeaseEnd })
          .execute();
      });
      crashPoint('background.held');
      return new OpenCall(services, reference, input.call);
    },
    async endBeforeDelete(responseId, userId) {
      const isRunning = () => isOpen(db, responseId, userId, 'running');
      if (!(await isRunning())) return;
      await followResponse(services, responseId, userId);
      if (await isRunning())
        throw fail('invalid_request', 'The response is still running; cancel it, then delete it.', {
          param: 'response_id',
        });
    },
    async checkSoon(responseId, userId) {
      await sql`update background_responses set next_check_at = now() where response_id = ${responseId}
        and user_id = ${userId} and state = 'running'`.execute(db);
    },
  };
}

class OpenCall implements BackgroundCall {
  readonly #services: BackgroundServices;
  readonly #reference: string;
  readonly #lease: Repetition;
  readonly #call: Call;
  #recorded: Promise<void> | undefined;

  constructor(services: BackgroundServices, reference: string, call: Call) {
    this.#services = services;
    this.#reference = reference;
    this.#call = call;
    const { db, clock, log } = services;
    const renew = () =>
      sql`update background_responses set next_check_at = ${sendLeaseEnd} where reference = ${reference}
        and state = 'sending'`.execute(db);
    const onError = (error: unknown) => log.warn('background.lease_not_renewed', { reference, ...errorFields(error) });
    this.#lease = repeat(renew, { clock, intervalMs: BACKGROUND.renewMs, onError });
  }

  get isAccepted(): boolean {
    return this.#recorded !== undefined;
  }

  get recorded(): Promise<void> {
    return this.#recorded ?? Promise.resolve();
  }

  accepted(responseId: string, accountId: string): void {
    crashPoint('background.accepted');
    this.#recorded ??= this.#record(() => this.#writeId(responseId, accountId)).finally(() => this.#lease.stop());
  }

  keep(object: MadeObject, accountId: string): void {
    crashPoint('background.accepted');
    this.#recorded ??= this.#record(() => this.#writeObject(object, accountId)).finally(() => this.#lease.stop());
  }

  async end(lost: LostCall | undefined): Promise<void> {
    if (this.#recorded) return this.#recorded;
    await this.#lease.stop();
    await inTransaction(this.#services, { reference: this.#reference, state: 'sending' }, async (tx, row) => {
      if (lost) await settleRow(this.#services, tx, { ...row, account_id: lost.accountId }, lost);
      else await releaseRow(tx, this.#reference);
    });
  }

  /**
   * Resolves also when the database cannot be used: the client gets its response,
   * which is paid for by the operator then.
   */
  async #record(write: () => Promise<boolean>): Promise<void> {
    const { clock, log } = this.#services;
    for (let turn = 1; ; turn += 1) {
      try {
        const isWritten = await write();
        crashPoint('background.recorded');
        // A repeated write, after a connection that broke, finds the row as it should be.
        if (!isWritten && turn === 1) log.error('background.not_recorded', { reference: this.#reference });
        return;
      } catch (error) {
        if (error instanceof ApiError || turn === RECORD_TURNS) {
          log.error('background.not_recorded', { reference: this.#reference, ...errorFields(error) });
          return;
        }
        await new Promise<void>((resolve) => void clock.after(RECORD_WAIT_MS, resolve));
      }
    }
  }

  async #writeId(responseId: string, accountId: string): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update background_responses
      set response_id = ${responseId}, account_id = ${accountId},
        state = 'running', next_check_at = now() + interval '5 seconds'
      where reference = ${this.#reference} and state = 'sending'`.execute(this.#services.db);
    return numAffectedRows !== 0n;
  }

  #writeObject({ record, ...charge }: MadeObject, accountId: string): Promise<boolean> {
    return inTransaction(this.#services, { reference: this.#reference, state: 'sending' }, async (tx, row) => {
      await record(tx);
      const nanos = await settleRow(this.#services, tx, { ...row, account_id: accountId }, charge);
      this.#call.addLogFields({ cost: formatNanos(nanos) });
    });
  }
}

/**
 * Background responses of responses-style groups: the money is held before the request is sent, the response is followed at the provider
 * until it ends, and charged once, also when no client reads it or this process ends.
 * Reasons: docs/adr/0014-background-responses.md
 */
import { sql } from 'kysely';
import { ApiError, errorFields, fail } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';
import type { HubUsage } from '../../dialects/index.ts';
import { askForLeases, hold, InsufficientBalance, RETURN_WANTED_MS, readBalance, release } from '../../ledger/index.ts';
import type { BackgroundCall, BackgroundInput, BackgroundStarter } from '../native/native-request.ts';
import { followDue, followResponse } from './follow.ts';
import type { BackgroundServices } from './services.ts';
import { endRow, settleRow } from './settle.ts';

export interface Background extends BackgroundStarter {
  readonly jobs: readonly { readonly name: string; readonly everyMs: number; run(): Promise<number> }[];
}

const FOLLOW_MS = 2_000;
/** The provider has a day to finish; the ledger check reports a hold that is open an hour later. */
const HOLD_HOURS = 25;
/** A request that is not accepted by then never was: longer than the time limit of a whole request. */
const SENDING_HOURS = 2;
/** Times to ask other servers for the money that they have leased. */
const ASK_TURNS = 3;
const RECORD_TURNS = 3;
const RECORD_WAIT_MS = 500;

export function createBackground(services: BackgroundServices): Background {
  const { db } = services;
  return {
    jobs: [{ name: 'background.follow', everyMs: FOLLOW_MS, run: () => followDue(services) }],
    async begin(input) {
      const { userId } = input.caller.key;
      await input.checkSpend((await openNanos(db, userId)) + input.quote.maxCost);
      const reference = `background:${input.call.id}`;
      await insertOnceCovered(services, input, reference);
      return new OpenCall(services, reference);
    },
    async endBeforeDelete(responseId, userId) {
      const isRunning = () => isOpen(db, responseId, userId);
      if (!(await isRunning())) return;
      await followResponse(services, responseId);
      if (await isRunning())
        throw fail('invalid_request', 'The response is still running; cancel it, then delete it.', {
          param: 'response_id',
        });
    },
    async checkSoon(responseId) {
      await sql`update background_responses set next_check_at = now() where response_id = ${responseId} and state = 'running'`.execute(
        db,
      );
    },
  };
}

/** What open background responses of the user may cost. It counts as spent until they end. */
async function openNanos(db: Db, userId: string): Promise<bigint> {
  const { rows } = await sql<{ nanos: bigint }>`
    select coalesce(sum(nanos), 0)::bigint as nanos from holds
    where user_id = ${userId} and state in ('held', 'review') and reference like 'background:%'`.execute(db);
  return BigInt(rows[0]?.nanos ?? 0);
}

async function isOpen(db: Db, responseId: string, userId: string): Promise<boolean> {
  const row = await db
    .selectFrom('background_responses')
    .select('state')
    .where('response_id', '=', responseId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return row?.state === 'running';
}

/** A balance that is short may be leased to servers that do not use it; they return it when they are asked. */
async function insertOnceCovered(
  services: BackgroundServices,
  input: BackgroundInput,
  reference: string,
): Promise<void> {
  const { db, clock } = services;
  const { userId } = input.caller.key;
  for (let turn = 0; ; turn += 1) {
    if (await insertHeld(services, input, reference)) return;
    const { available } = await readBalance(db, userId);
    const missing = input.quote.maxCost - available;
    const coming =
      turn < ASK_TURNS ? await askForLeases(db, { userId, replicaId: null, missing, isFirst: turn === 0 }) : 0n;
    if (coming === 0n) throw new InsufficientBalance(available);
    await new Promise<void>((resolve) => void clock.after(RETURN_WANTED_MS, resolve));
  }
}

/** The hold and the row, together or not at all. False when the balance is short. */
function insertHeld(
  { db, clock }: BackgroundServices,
  { caller, call, model, quote, inputTokens }: BackgroundInput,
  reference: string,
): Promise<boolean> {
  const { key, group } = caller;
  return db.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = '2s'`.execute(tx);
    const checkAfter = new Date(clock.now() + HOLD_HOURS * 3_600_000);
    const held = await hold(tx, { userId: key.userId, nanos: quote.maxCost, reference, checkAfter }).catch(
      onLockTimeout,
    );
    if (held !== 'held') return false;
    await tx
      .insertInto('background_responses')
      .values({
        reference,
        user_id: key.userId,
        key_id: key.id,
        group_id: group.id,
        model: model.name,
        request_id: call.id,
        input_tokens: BigInt(inputTokens),
        price_id: quote.priceId,
        tier: quote.tier?.tier ?? null,
        next_check_at: sql<Date>`now() + ${SENDING_HOURS} * interval '1 hour'`,
      })
      .execute();
    return true;
  });
}

const LOCK_NOT_AVAILABLE = '55P03';

function onLockTimeout(error: Error & { readonly code?: string }): never {
  if (error.code !== LOCK_NOT_AVAILABLE) throw error;
  throw fail('server_is_overloaded', 'The balance is in use by other requests. Nothing was sent; try again shortly.', {
    retryAfter: 2,
  });
}

/** The call that creates a background response, until the provider has accepted it or has not. */
class OpenCall implements BackgroundCall {
  readonly #services: BackgroundServices;
  readonly #reference: string;
  #recorded: Promise<void> | undefined;

  constructor(services: BackgroundServices, reference: string) {
    this.#services = services;
    this.#reference = reference;
  }

  get isAccepted(): boolean {
    return this.#recorded !== undefined;
  }

  get recorded(): Promise<void> {
    return this.#recorded ?? Promise.resolve();
  }

  accepted(responseId: string, accountId: string): void {
    this.#recorded ??= this.#record(responseId, accountId);
  }

  async end(lost: { readonly usage: HubUsage; readonly accountId: string } | undefined): Promise<void> {
    if (this.#recorded) return this.#recorded;
    const { db } = this.#services;
    await db.transaction().execute(async (tx) => {
      const row = await tx
        .selectFrom('background_responses')
        .selectAll()
        .where('reference', '=', this.#reference)
        .where('state', '=', 'sending')
        .forUpdate()
        .executeTakeFirst();
      if (!row) return;
      if (lost) return void (await settleRow(this.#services, tx, { ...row, account_id: lost.accountId }, lost.usage));
      await release(tx, this.#reference);
      await endRow(tx, this.#reference, 'released');
    });
  }

  /** Resolves also when the database cannot be used: the client gets its response, which is paid for by the operator then. */
  async #record(responseId: string, accountId: string): Promise<void> {
    const { db, clock, log } = this.#services;
    for (let turn = 1; ; turn += 1) {
      try {
        await sql`
          update background_responses
          set response_id = ${responseId}, account_id = ${accountId}, state = 'running', next_check_at = now() + interval '5 seconds'
          where reference = ${this.#reference} and state = 'sending'`.execute(db);
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
}

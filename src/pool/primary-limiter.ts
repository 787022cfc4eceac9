/**
 * Rate limiter of a worker: the primary counts for all workers of the machine (limit-book.ts). A request with limits waits for one round
 * trip, so a limit is exact, and so are the headers. While the primary does not respond, requests with limits are rejected.
 */
import type { Link } from '../cluster/index.ts';
import type { LimitedKey } from '../core/index.ts';
import type { TakeQuestion, TakeReply, TokenNotice } from './limit-book.ts';
import {
  type Limiter,
  type LimitScope,
  limitHeaders,
  limitRejection,
  type OperationLimit,
  type Slot,
  scopesOf,
} from './limiter.ts';

export const LIMIT_SERVICES = { take: 'limits.take', release: 'limits.release', count: 'limits.count' } as const;

export class PrimaryLimiter implements Limiter {
  readonly #primary: Link;
  #nextId = 1;

  constructor(primary: Link) {
    this.#primary = primary;
  }

  acquire(key: LimitedKey, operation?: OperationLimit): undefined | Promise<Slot> {
    if (!key.limits && !key.userLimits && !operation) return undefined;
    const scopes = scopesOf(key, operation);
    return scopes.length === 0 ? undefined : this.#take(scopes);
  }

  count(key: LimitedKey, tokens: number): void {
    if (!key.limits && !key.userLimits) return;
    const scopes = scopesOf(key).filter(({ limits }) => limits.tpm !== undefined);
    if (scopes.length === 0) return;
    const notice: TokenNotice = { scopes: scopes.map(ratesOnly), tokens };
    this.#primary.post(LIMIT_SERVICES.count, notice);
  }

  async #take(scopes: readonly LimitScope[]): Promise<Slot> {
    const question: TakeQuestion = { id: this.#nextId, scopes: scopes.map(ratesOnly) };
    this.#nextId += 1;
    const release = (): void => this.#primary.post(LIMIT_SERVICES.release, question.id);
    let reply: TakeReply;
    try {
      reply = (await this.#primary.ask(LIMIT_SERVICES.take, question)) as TakeReply;
    } catch (error) {
      // The primary may still read the question, and would keep the slot.
      release();
      throw error;
    }
    if (!reply.isAdmitted) throw limitRejection(scopes, reply.used);
    let isHeld = true;
    return {
      headers: limitHeaders(scopes, reply.used),
      release: () => {
        if (isHeld) release();
        isHeld = false;
      },
    };
  }
}

/** Without amounts of money, which JSON cannot carry and the limiter does not read. */
const ratesOnly = ({ owner, id, limits: { rpm, tpm, concurrency } }: LimitScope): LimitScope => ({
  owner,
  id,
  limits: { rpm, tpm, concurrency },
});

/**
 * Spend limits of a worker: the primary counts for all workers of the machine (spend-book.ts). While it does not respond, calls with a
 * spend limit are rejected.
 */
import type { Link } from '../../cluster/index.ts';
import type { SharedSpendHold, SharedSpendLimits, SpendRequest } from './shared-spend-limits.ts';
import type { SpendEndNotice, SpendQuestion, SpendReply } from './spend-book.ts';
import { counterName, type SpentAmounts } from './spend-counter.ts';

export const SPEND_SERVICES = { reserve: 'spend.reserve', end: 'spend.end' } as const;

export class PrimarySpendLimits implements SharedSpendLimits {
  readonly isUp = true;
  readonly #primary: Link;

  constructor(primary: Link) {
    this.#primary = primary;
  }

  async reserve(request: SpendRequest): Promise<SharedSpendHold | readonly SpentAmounts[]> {
    const hold = this.trackHold(request);
    let reply: SpendReply;
    try {
      reply = (await this.#primary.ask(SPEND_SERVICES.reserve, questionOf(request))) as SpendReply;
    } catch (error) {
      // The primary may still read the question, and would keep the hold.
      hold.end(0n);
      throw error;
    }
    if (reply.isAdmitted) return hold;
    return reply.amounts.map(({ day, month, reserved }) => ({
      day: BigInt(day),
      month: BigInt(month),
      reserved: BigInt(reserved),
    }));
  }

  trackHold({ id }: SpendRequest): SharedSpendHold {
    return {
      end: (cost) => {
        const notice: SpendEndNotice = { id, cost: String(cost) };
        this.#primary.post(SPEND_SERVICES.end, notice);
      },
    };
  }
}

const questionOf = ({ id, maxCost, day, month, scopes }: SpendRequest): SpendQuestion => ({
  id,
  maxCost: String(maxCost),
  day,
  month,
  scopes: scopes.map((scope) => ({
    name: counterName(scope.owner, scope.id),
    limitDay: scope.limitDay?.toString(),
    limitMonth: scope.limitMonth?.toString(),
    day: String(scope.day),
    month: String(scope.month),
  })),
});

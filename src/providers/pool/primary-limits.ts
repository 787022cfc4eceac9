/**
 * Counts of rate limits for all workers of a machine, in the primary.
 * While it does not respond, requests with limits are rejected.
 */
import type { Link } from '../../platform/cluster/index.ts';
import type { LimitCounts, LimitScope, LimitUsage, Take } from './limiter.ts';
import { LocalLimits } from './local-limits.ts';

export const LIMIT_SERVICES = { take: 'limits.take', release: 'limits.release', count: 'limits.count' } as const;

export interface TakeQuestion {
  /** Unique among the requests of the worker. */
  readonly id: number;
  readonly scopes: readonly LimitScope[];
}

export interface TakeReply {
  readonly isAdmitted: boolean;
  readonly used: readonly LimitUsage[];
}

export interface TokenNotice {
  readonly scopes: readonly LimitScope[];
  readonly tokens: number;
}

/** The side of a worker. */
export class PrimaryLimits implements LimitCounts {
  readonly #primary: Link;
  #nextId = 1;

  constructor(primary: Link) {
    this.#primary = primary;
  }

  async take(scopes: readonly LimitScope[]): Promise<Take> {
    const question: TakeQuestion = { id: this.#nextId, scopes: scopes.map(ratesOnly) };
    this.#nextId += 1;
    const release = (): void => this.#primary.post(LIMIT_SERVICES.release, question.id);
    try {
      const { used, isAdmitted } = (await this.#primary.ask(LIMIT_SERVICES.take, question)) as TakeReply;
      return { used, release: isAdmitted ? release : undefined };
    } catch (error) {
      // The primary may still read the question, and would keep the request open.
      release();
      throw error;
    }
  }

  count(scopes: readonly LimitScope[], tokens: number): void {
    const notice: TokenNotice = { scopes: scopes.map(ratesOnly), tokens };
    this.#primary.post(LIMIT_SERVICES.count, notice);
  }
}

/** Without amounts of money, which JSON cannot carry. */
const ratesOnly = ({ limits: { rpm, tpm, concurrency }, ...scope }: LimitScope): LimitScope => ({
  ...scope,
  limits: { rpm, tpm, concurrency },
});

export class LimitBook extends LocalLimits {
  openPage() {
    const releases = new Map<number, () => void>();
    const end = (id: number): void => {
      releases.get(id)?.();
      releases.delete(id);
    };
    return {
      take: ({ id, scopes }: TakeQuestion): TakeReply => {
        const { used, release } = this.take(scopes);
        if (release) releases.set(id, release);
        return { isAdmitted: release !== undefined, used };
      },
      release: end,
      count: ({ scopes, tokens }: TokenNotice): void => this.count(scopes, tokens),
      close: (): void => {
        for (const id of [...releases.keys()]) end(id);
      },
    };
  }
}

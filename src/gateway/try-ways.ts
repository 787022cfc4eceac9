/** The ways of a call, tried in the order of its plan while its client has received nothing. */
import { ApiError, type Clock } from '../core/index.ts';
import type { Call } from '../platform/web/index.ts';
import type { RetryBudget } from '../providers/pool/index.ts';
import { FALLBACK_HEADER } from '../rules/index.ts';
import { WayUnavailable } from './client-error.ts';
import { begin, type CallProgress, next, type Outcome, type Step, type WayOrder } from './next-step.ts';
import type { Plan, Way } from './plan.ts';

export interface TriesServices {
  readonly clock: Clock;
  readonly retryBudget: RetryBudget;
}

/** Of a call that only the accounts of one group can serve, in one way. */
const ONE_WAY: WayOrder = { ways: [{ caller: { group: { id: '' } } }], refusal: undefined };

export class Tries {
  readonly #services: TriesServices;
  #progress: CallProgress;

  constructor(services: TriesServices, order: WayOrder = ONE_WAY) {
    this.#services = services;
    this.#progress = begin(order);
  }

  get progress(): CallProgress {
    return this.#progress;
  }

  tell(outcome: Outcome): Step {
    const { clock, retryBudget } = this.#services;
    if (outcome.kind === 'opened' && this.#progress.startedAt === undefined) retryBudget.countCall();
    this.#progress = next(this.#progress, outcome, clock.elapsed());
    const { step } = this.#progress;
    return step.kind === 'attempt' && step.isRetry && !retryBudget.take() ? this.tell({ kind: 'no retry' }) : step;
  }
}

export type ServeWay = (way: Way, tries: Tries) => Promise<void>;

/** Resolves when the client has its response or is gone; rejects with its error. */
export async function tryWays(services: TriesServices, call: Call, plan: Plan, serve: ServeWay): Promise<void> {
  const tries = new Tries(services, plan);
  for (let { step } = tries.progress; step.kind !== 'refuse'; ) {
    const { at, isFirstPass } = tries.progress;
    const way = plan.ways[at];
    if (!way) throw new TypeError('a step without a way');
    if (way.caller.fallback || !isFirstPass) enterGroup(call, way);
    try {
      return await serve(way, tries);
    } catch (error) {
      step = tries.tell({ kind: 'over', error: unavailable(call, way, error) });
    }
    if (way.caller.fallback) call.removeHeader(FALLBACK_HEADER);
    if (step.kind === 'refuse') throw step.error;
  }
  throw plan.refusal;
}

/** Nothing that is on record about the conversion for the group before holds for this one. */
function enterGroup(call: Call, { caller: { group, fallback } }: Way): void {
  // A header holds ASCII only.
  if (fallback) call.addHeaders({ [FALLBACK_HEADER]: encodeURI(fallback.line) });
  call.trace.beginGroup(fallback && group.id);
  call.addLogFields({ converted: undefined });
}

/**
 * Whatever keeps a fallback line from serving the call,
 * such as the balance at its price, the next one may do. Throws what ends the call.
 */
function unavailable(call: Call, { caller }: Way, error: unknown): WayUnavailable {
  if (call.response.headersSent || !(error instanceof ApiError)) throw error;
  if (error instanceof WayUnavailable) return error;
  if (!caller.fallback) throw error;
  return new WayUnavailable(error);
}

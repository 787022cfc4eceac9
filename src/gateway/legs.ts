/**
 * The ways of a call, tried in the order of its plan: those of its own group, and then the lines of other groups that its model names as
 * fallback. A call moves on while its client has received nothing.
 */
import type { Catalog, Model } from '../catalog/index.ts';
import { ApiError } from '../core/index.ts';
import type { Call } from '../platform/web/index.ts';
import { FALLBACK_HEADER, type InferenceOperation } from '../rules/index.ts';
import { AttemptBudget, type AttemptBudgetServices, type LegTurn } from './attempt-budget.ts';
import { LegUnavailable } from './failover.ts';
import { planFallback, type Way } from './plan.ts';

export interface LegRoute {
  readonly call: Call;
  readonly operation: InferenceOperation;
  readonly legs: readonly Way[];
  /** The catalog with the lines that may take the call; undefined where none may. */
  readonly fallback: Catalog | undefined;
  run(leg: Way, turn?: LegTurn): Promise<void>;
}

/**
 * Runs the legs until one serves the call: first on accounts that are not cooling down, then on any that were skipped. All legs share
 * one budget of attempts. The client gets the error of the best leg, because that one counts when its accounts are back.
 */
export function runLegs(services: AttemptBudgetServices, route: LegRoute): Promise<void> {
  const [best] = route.legs;
  return best && route.legs.length === 1 && !route.fallback ? route.run(best) : new LegRun(services, route).run();
}

interface TurnOptions extends Pick<LegTurn, 'budget' | 'waits' | 'onModel'> {
  isReadyOnly(): boolean;
  isLast(): boolean;
}

/**
 * Has getters, because the fallback of the model is known only when the leg has read the request. A class, because an object literal with
 * getters has a hidden class of its own, which keeps the call in memory until a full garbage collection.
 */
class Turn implements LegTurn {
  readonly budget: AttemptBudget;
  readonly waits: boolean;
  readonly onModel: LegTurn['onModel'];
  readonly #options: TurnOptions;

  constructor(options: TurnOptions) {
    this.budget = options.budget;
    this.waits = options.waits;
    this.onModel = options.onModel;
    this.#options = options;
  }

  get onlyReady(): boolean {
    return this.#options.isReadyOnly();
  }

  get hasFallback(): boolean {
    return !this.#options.isLast();
  }
}

class LegRun {
  readonly #route: LegRoute;
  readonly #budget: AttemptBudget;
  readonly #errors = new Map<Way, LegUnavailable>();
  /** Known once a leg has read the request. */
  #fallback: readonly Way[] = [];

  constructor(services: AttemptBudgetServices, route: LegRoute) {
    this.#route = route;
    this.#budget = new AttemptBudget(services);
  }

  async run(): Promise<void> {
    const { legs } = this.#route;
    for (const isFirstPass of [true, false]) {
      if (!isFirstPass && this.#fallback.length > 0) {
        if (!this.#budget.beginGroup(undefined)) break;
        this.#enter(undefined);
      }
      for (const leg of legs) if (!this.#budget.isSpent && (await this.#serves(leg, isFirstPass))) return;
      if (!this.#mayFallBack) continue;
      for (const leg of this.#fallback) {
        if (!this.#isOpen(leg) || !this.#budget.beginGroup(leg.caller.group.id)) continue;
        if (await this.#fallsBackTo(leg, isFirstPass)) return;
      }
      if (legs.length + this.#fallback.length === 1) break;
    }
    throw this.#error;
  }

  get #error(): LegUnavailable | undefined {
    const [best] = this.#route.legs;
    const error = best && this.#errors.get(best);
    // What the request continues is held by a line of another group, whose error says more.
    const held = this.#fallback.map((leg) => this.#errors.get(leg)).find((one) => one?.because === 'out');
    return error?.because === 'elsewhere' ? (held ?? error) : error;
  }

  /** Never because of the request. */
  get #mayFallBack(): boolean {
    return this.#route.legs.some((leg) => {
      const because = this.#errors.get(leg)?.because;
      return because === 'out' || because === 'elsewhere';
    });
  }

  #isOpen(leg: Way): boolean {
    return this.#errors.get(leg)?.isSkipped !== false;
  }

  async #serves(leg: Way, isFirstPass: boolean): Promise<boolean> {
    if (!this.#isOpen(leg)) return false;
    try {
      await this.#route.run(leg, this.#turn(leg, isFirstPass));
      return true;
    } catch (error) {
      if (!(error instanceof LegUnavailable) || this.#route.call.response.headersSent) throw error;
      this.#errors.set(leg, error);
      if (error.model) this.#planFallback(error.model);
      return false;
    }
  }

  /** Whatever keeps the line from serving the call, such as the balance at its price, the next one may do. */
  async #fallsBackTo(leg: Way, isFirstPass: boolean): Promise<boolean> {
    const { call } = this.#route;
    const { group, fallback } = leg.caller;
    // A header holds ASCII only.
    call.addHeaders({ [FALLBACK_HEADER]: encodeURI(fallback?.line ?? '') });
    this.#enter(group.id);
    try {
      if (await this.#serves(leg, isFirstPass)) return true;
    } catch (error) {
      if (!(error instanceof ApiError) || call.response.headersSent) throw error;
      this.#errors.set(leg, new LegUnavailable(error));
    }
    call.removeHeader(FALLBACK_HEADER);
    return false;
  }

  /** Nothing that is on record about the conversion for the group before holds for this one. */
  #enter(groupId: string | undefined): void {
    const { call } = this.#route;
    call.trace.beginGroup(groupId);
    call.addLogFields({ converted: undefined });
  }

  #turn(leg: Way, isFirstPass: boolean): LegTurn {
    const { legs, fallback } = this.#route;
    const isOwn = legs.includes(leg);
    return new Turn({
      budget: this.#budget,
      waits: isOwn && legs.length === 1,
      isReadyOnly: () => isFirstPass && legs.length - 1 + this.#fallback.length > 0,
      isLast: () => this.#fallback.indexOf(leg) === this.#fallback.length - 1,
      onModel: (model, isBound) => {
        if (isOwn && fallback && !isBound) this.#planFallback(model);
      },
    });
  }

  #planFallback(model: Model): void {
    const { fallback, legs, operation } = this.#route;
    const [best] = legs;
    if (best && fallback && this.#fallback.length === 0)
      this.#fallback = planFallback(fallback, best.caller, model, operation);
  }
}

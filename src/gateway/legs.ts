/**
 * The plan of a call: the accounts of its group that can serve it, by the dialect in which they do, the best dialect first. A call moves
 * on to the next dialect while its client has received nothing.
 */
import type { Account, Catalog } from '../catalog/index.ts';
import { type Dialect, type Leg, legsOf, type ServedCell } from '../rules/index.ts';
import type { Call } from '../web/index.ts';
import { AttemptBudget, type AttemptBudgetServices, type LegTurn } from './attempt-budget.ts';
import type { Caller } from './caller.ts';
import { accountsSpeaking } from './caller.ts';
import { LegUnavailable } from './failover.ts';

export interface PlannedLeg extends Leg {
  readonly accounts: readonly Account[];
}

/** Each account serves in the best dialect that it speaks. A group without any account keeps the first leg, which says so. */
export function planLegs(catalog: Catalog, caller: Caller, cell: ServedCell): readonly PlannedLeg[] {
  const earlier: Dialect[] = [];
  const legs = legsOf(cell).map((leg) => {
    const accounts = accountsSpeaking(catalog, caller, leg.dialect).filter(
      ({ features }) => !earlier.some((dialect) => features.has(dialect)),
    );
    earlier.push(leg.dialect);
    return { ...leg, accounts };
  });
  const possible = legs.filter(({ accounts }) => accounts.length > 0);
  return possible.length > 0 ? possible : legs.slice(0, 1);
}

/**
 * Runs the legs until one serves the call: first on accounts that are not cooling down, then on any that were skipped. All legs share
 * one budget of attempts. The client gets the error of the best leg, because that one counts when its accounts are back.
 */
export async function runLegs(
  services: AttemptBudgetServices,
  call: Call,
  legs: readonly PlannedLeg[],
  run: (leg: PlannedLeg, turn?: LegTurn) => Promise<void>,
): Promise<void> {
  const [best] = legs;
  if (best && legs.length === 1) return run(best);
  const budget = new AttemptBudget(services);
  const errors = new Map<PlannedLeg, LegUnavailable>();
  for (const onlyReady of [true, false]) {
    for (const leg of legs) {
      if (errors.get(leg)?.isSkipped === false || budget.isSpent) continue;
      try {
        return await run(leg, { onlyReady, budget });
      } catch (error) {
        if (!(error instanceof LegUnavailable) || call.response.headersSent) throw error;
        errors.set(leg, error);
      }
    }
  }
  throw best && errors.get(best);
}

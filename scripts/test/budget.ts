/**
 * What a whole run may cost, in units of the fixed work of its own minutes (scripts/test/costs.ts), so that the suite
 * stays as fast as it is. A new capability is paid for by tests that repeat others, or by cheaper ones.
 */
import type { RunCost } from './costs.ts';

/** 240 units are about four minutes on two cores. */
const BUDGETS = { quick: 240, all: 520 } as const;
export type BudgetedSet = keyof typeof BUDGETS;

/** Of one file of `npm test`. Dearer ones belong to test:all, or need a shorter way to the same proof. */
const FILE_UNITS = 6;

/**
 * Continuous integration fails above this part of the budget: shared machines vary by 1.3, and the suite costs up to
 * 1.4 budgets today. It only becomes smaller.
 */
const TOLERANCE = 1.6;

export interface Verdict {
  readonly text: string;
  /** False above the budget and its tolerance. */
  readonly isKept: boolean;
}

export function judgeCost(set: BudgetedSet, { cpuMs, unitMs, files }: RunCost): Verdict {
  const budget = BUDGETS[set];
  const units = cpuMs / unitMs;
  const isKept = units <= budget * TOLERANCE;
  const state = units <= budget ? 'kept' : `exceeded; CI fails above ${(budget * TOLERANCE).toFixed(0)}`;
  const dear = set === 'quick' ? files.filter((file) => file.cpuMs / unitMs > FILE_UNITS) : [];
  const lines = [
    `Budget: ${units.toFixed(0)} of ${budget} units, ${state}.`,
    ...dear.map(
      ({ file, cpuMs: ms }) =>
        `${file}: ${(ms / unitMs).toFixed(1)} units, above the ${FILE_UNITS} of a file of npm test.`,
    ),
  ];
  return { text: `${lines.join('\n')}\n`, isKept };
}

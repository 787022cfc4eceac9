/**
 * Advice for a caller whose balance does not cover the maximum cost:
 * the members that cause it, and values that would be admitted.
 */
import { formatNanos, type MaybePromise, type Nanos } from '../../core/index.ts';
import { InsufficientBalance } from '../../ledger/index.ts';
import { assumedOutput, type CallFacts } from './call-facts.ts';
import type { Lever } from './members.ts';
import { outputLevers } from './output-bounds.ts';
import { toolLevers } from './tool-bounds.ts';

type MaxCost = (facts: CallFacts) => Nanos;

export function withAdvice<R extends MaybePromise<unknown>>(admit: () => R, maxCost: MaxCost, facts: CallFacts): R {
  const advise = (error: unknown): never => {
    throw error instanceof InsufficientBalance ? advised(error, maxCost, facts) : error;
  };
  try {
    const admitted = admit();
    return (admitted instanceof Promise ? admitted.catch(advise) : admitted) as R;
  } catch (error) {
    return advise(error);
  }
}

/** A member that the request does not have yet makes it longer by so many bytes. */
const MEMBER_BYTES = 48;

function advised({ available }: InsufficientBalance, maxCost: MaxCost, facts: CallFacts): InsufficientBalance {
  const cost = maxCost(facts);
  if (available === undefined) return new InsufficientBalance(undefined);
  const begin =
    `The balance does not cover the maximum cost of the request: up to ${formatNanos(cost)} dollars, ` +
    `of which ${formatNanos(available > 0n ? available : 0n)} are available`;
  const changes = changesFor(available, maxCost, facts);
  const [first] = changes ?? [];
  if (!changes || !first) return new InsufficientBalance(available, `${begin}; ${reasonOf(facts)}. Add credit.`);
  const values = changes.map(({ param, value }) => `${param}: ${value}`).join(' and ');
  return new InsufficientBalance(available, `${begin}. Add credit, or send ${values}.`, first.param);
}

interface Change {
  readonly param: string;
  readonly value: number;
}

/** Members with the values that make the request fit, those that save most first; undefined when no values do. */
function changesFor(available: Nanos, maxCost: MaxCost, given: CallFacts): Change[] | undefined {
  const changes: Change[] = [];
  let facts: CallFacts = given;
  const tried = new Set<string>();
  for (;;) {
    const [best] = leversOf(facts)
      .filter(({ param, value, min }) => !tried.has(param) && value > min)
      .map((lever) => ({ lever, cost: maxCost(withLever(facts, lever, lever.min)) }))
      .sort((a, b) => Number(a.cost - b.cost));
    if (!best || best.cost >= maxCost(facts)) return undefined;
    const { lever } = best;
    tried.add(lever.param);
    const fits = (value: number): boolean => maxCost(withLever(facts, lever, value)) <= available;
    if (best.cost <= available) return [...changes, { param: lever.param, value: largest(lever, fits) }];
    changes.push({ param: lever.param, value: lever.min });
    facts = withLever(facts, lever, lever.min);
  }
}

type AnyLever = Lever<Partial<CallFacts>>;

function leversOf(facts: CallFacts): AnyLever[] {
  const { maxOutput, choices = 1, limitedBy, countedBy, writesAudio = true, toolUses } = facts;
  return [
    ...outputLevers({ maxOutput, choices, limitedBy, countedBy, writesAudio }, assumedOutput(facts)),
    ...(toolUses ? toolLevers(toolUses) : []),
  ];
}

const withLever = (facts: CallFacts, lever: AnyLever, value: number): CallFacts => ({
  ...facts,
  ...lever.boundsWith(value),
  bodyBytes: facts.bodyBytes + MEMBER_BYTES,
});

function largest({ min, value }: AnyLever, fits: (value: number) => boolean): number {
  let [low, high] = [Math.ceil(min), Math.ceil(value)];
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

function reasonOf({ unknown, wholeContext, openTool, bodyBytes }: CallFacts): string {
  if (unknown !== undefined)
    return `${unknown} is not known to this gateway, so that the request counts as the most that its model can cost`;
  const reader = wholeContext ?? openTool;
  return reader === undefined
    ? `its input counts as up to ${bodyBytes} tokens`
    : `${reader} can make the model read its whole context`;
}

/**
 * The part of an assignment that is the same in every possible one: a bipartite matching that gives each candidate a
 * claimant of its own, and the pairs that no other such matching changes. Pure, and bounded in time.
 */

/** The claimants that each candidate can belong to, by the number of the candidate. */
export type Options = readonly (readonly number[])[];

/** Larger sets of candidates that hang together are left open: the work grows with the third power of their number. */
const MAX_CANDIDATES = 300;

/**
 * The claimant of each candidate; undefined where it differs between assignments,
 * or where candidates that share claimants cannot all have one. A claimant may have no candidate.
 */
export function forcedPairs(options: Options): readonly (number | undefined)[] {
  const forced: (number | undefined)[] = options.map(() => undefined);
  for (const candidates of connected(options)) {
    const assignment = candidates.length <= MAX_CANDIDATES ? assignAll(options, candidates) : undefined;
    if (!assignment) continue;
    for (const candidate of candidates)
      if (!canChange(options, assignment, candidate)) forced[candidate] = assignment.claimantOf.get(candidate);
  }
  return forced;
}

/** Sets of candidates that share claimants, directly or through others. */
function connected(options: Options): readonly (readonly number[])[] {
  const pairs = options.flatMap((claimants, candidate) => claimants.map((claimant) => ({ claimant, candidate })));
  const pairsOf = Map.groupBy(pairs, ({ claimant }) => claimant);
  const seen = new Set<number>();
  const sets: number[][] = [];
  for (const start of options.keys()) {
    if (seen.has(start)) continue;
    const set = new Set([start]);
    for (const candidate of set)
      for (const claimant of options[candidate] ?? []) {
        for (const next of pairsOf.get(claimant) ?? []) set.add(next.candidate);
        pairsOf.delete(claimant);
      }
    for (const candidate of set) seen.add(candidate);
    sets.push([...set]);
  }
  return sets;
}

interface Assignment {
  readonly claimantOf: Map<number, number>;
  readonly candidateOf: Map<number, number>;
}

/** Undefined when the candidates cannot all have a claimant of their own. */
function assignAll(options: Options, candidates: readonly number[]): Assignment | undefined {
  const assignment: Assignment = { claimantOf: new Map(), candidateOf: new Map() };
  return candidates.every((candidate) => assignOne(options, assignment, candidate)) ? assignment : undefined;
}

/** Searches in breadth for a claimant without a candidate; candidates on the way to it move on by one. */
function assignOne(options: Options, assignment: Assignment, start: number): boolean {
  const reachedFrom = new Map<number, number>();
  const queue = new Set([start]);
  for (const candidate of queue)
    for (const claimant of options[candidate] ?? []) {
      if (reachedFrom.has(claimant)) continue;
      reachedFrom.set(claimant, candidate);
      const holder = assignment.candidateOf.get(claimant);
      if (holder === undefined) {
        moveOn(assignment, reachedFrom, claimant);
        return true;
      }
      queue.add(holder);
    }
  return false;
}

function moveOn({ claimantOf, candidateOf }: Assignment, reachedFrom: ReadonlyMap<number, number>, free: number): void {
  let claimant: number | undefined = free;
  while (claimant !== undefined) {
    const candidate = reachedFrom.get(claimant);
    if (candidate === undefined) return;
    const left = claimantOf.get(candidate);
    claimantOf.set(candidate, claimant);
    candidateOf.set(claimant, candidate);
    claimant = left;
  }
}

/** Whether another assignment gives the candidate another claimant: a free one, or one in a circle of exchanges. */
function canChange(options: Options, { claimantOf, candidateOf }: Assignment, start: number): boolean {
  const moved = new Set([start]);
  for (const candidate of moved)
    for (const claimant of options[candidate] ?? []) {
      if (claimant === claimantOf.get(candidate)) continue;
      const holder = candidateOf.get(claimant);
      if (holder === undefined || holder === start) return true;
      moved.add(holder);
    }
  return false;
}

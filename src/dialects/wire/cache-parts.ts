/** Cached parts of the input. They never exceed it together, whatever a server reports (`overlappingCache` in rules/tolerances.ts). */

export interface CacheParts {
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export function cacheParts(input: number, read = 0, write = 0): CacheParts {
  const cacheRead = Math.min(read, input);
  return { cacheRead, cacheWrite: Math.min(write, input - cacheRead) };
}

/** Counts that no honest provider reports. They are read as "not reported", and named here, so that nobody is charged by them. */

/** Names under which the dialects count something that is paid for. */
const COUNTED = /(?:^|_)(?:tokens|requests)$|^tokenCount$|TokenCount$/;
/** Details of details; nothing is counted deeper. */
const DEPTH = 4;

/** The first count that is none, in words; undefined when all of them can be believed. */
export function oddCount(usage: unknown, depth = DEPTH): string | undefined {
  if (typeof usage !== 'object' || usage === null || depth === 0) return undefined;
  for (const [name, value] of Object.entries(usage)) {
    const odd = typeof value === 'object' ? oddCount(value, depth - 1) : COUNTED.test(name) && oddityOf(name, value);
    if (odd) return odd;
  }
  return undefined;
}

function oddityOf(name: string, value: unknown): string | undefined {
  if (typeof value !== 'number') return `${name} is a ${typeof value}`;
  return Number.isSafeInteger(value) && value >= 0 ? undefined : `${name} is ${value}`;
}

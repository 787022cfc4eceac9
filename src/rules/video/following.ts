/** How tasks are followed at the provider: intervals, deadlines and limits (V 3). */

/** Time between two looks at a task, by its age. */
export const CHECK_INTERVALS: readonly { readonly belowAgeMs: number; readonly everyMs: number }[] = [
  { belowAgeMs: 120_000, everyMs: 5_000 },
  { belowAgeMs: 600_000, everyMs: 10_000 },
  { belowAgeMs: 3_600_000, everyMs: 20_000 },
  { belowAgeMs: Number.POSITIVE_INFINITY, everyMs: 60_000 },
];
/** Intervals vary by this part, so that tasks that were created together are not checked together. */
export const CHECK_JITTER = 0.2;

/** A provider may forget a task for a moment after it was created; only repeated reports over this time count. */
export const MISSING = { reports: 3, overMs: 600_000 } as const;

/** A success without usage: interval of further looks, and how long they go on before an operator decides. */
export const REVIEW = { everyMs: 300_000, forMs: 86_400_000 } as const;

/** Requests to one upstream account (per second), and tasks of one account that a replica checks at the same time. */
export const ACCOUNT_RATES = { getsPerSecond: 20, listsPerSecond: 1, concurrentGets: 8 } as const;

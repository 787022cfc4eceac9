/** Statuses of a video task, the moves between them, and how tasks are followed at the provider (V 3). */

export const TASK_STATUSES = ['queued', 'running', 'cancelled', 'succeeded', 'failed', 'expired'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Codes of a failed task's `error` (V 2). */
export const TASK_ERROR_CODES = [
  'input_content_rejected',
  'output_content_rejected',
  'invalid_video_parameter',
  'upstream_rate_limited',
  'upstream_error',
  'submission_failed',
  'task_expired',
  'task_cancelled',
] as const;
export type TaskErrorCode = (typeof TASK_ERROR_CODES)[number];

/**
 * `running` may be too short to be seen. A provider, or an operator at its console, may cancel a running task. A
 * terminal status is never left.
 */
export const TASK_MOVES: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  queued: ['running', 'succeeded', 'failed', 'cancelled', 'expired'],
  running: ['succeeded', 'failed', 'cancelled', 'expired'],
  cancelled: [],
  succeeded: [],
  failed: [],
  expired: [],
};

export const isTerminal = (status: TaskStatus): boolean => TASK_MOVES[status].length === 0;

/** A report of any other move, such as running to queued, changes nothing. */
export const canMove = (from: TaskStatus, to: TaskStatus): boolean => TASK_MOVES[from].includes(to);

/** Where the provider reports no progress. A task that ends without success keeps its last value (V 2). */
export const TASK_PROGRESS: Readonly<Partial<Record<TaskStatus, number>>> = { queued: 0, running: 50, succeeded: 100 };

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

/** A success without usage: interval of further checks, and how long they go on before an operator decides. */
export const REVIEW = { everyMs: 300_000, forMs: 86_400_000 } as const;

/**
 * Requests to one upstream account per second, and tasks of one account that a replica checks at the same time. That of
 * gets can be set.
 */
export const ACCOUNT_RATES = { getsPerSecond: 20, listsPerSecond: 1, concurrentGets: 8 } as const;

/**
 * Where more tasks are due than single reads see in `behindSeconds`, the list shows up to `tasks` at once, with those
 * due within `aheadMs`.
 */
export const SWEEP = { behindSeconds: 5, tasks: 4_000, aheadMs: 5_000 } as const;

/** What a task has that was not requested, as the provider documents it. A report of the provider replaces it. */
export const TASK_DEFAULTS = { generate_audio: true, watermark: false, return_last_frame: false } as const;

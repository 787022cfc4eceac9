/** Statuses of a video task and the moves between them (V 3). */

export const TASK_STATUSES = ['queued', 'running', 'cancelled', 'succeeded', 'failed', 'expired'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** `running` may be too short to be seen, so a queued task can succeed directly. A terminal status is never left. */
export const TASK_MOVES: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  queued: ['running', 'succeeded', 'failed', 'cancelled', 'expired'],
  running: ['succeeded', 'failed', 'expired'],
  cancelled: [],
  succeeded: [],
  failed: [],
  expired: [],
};

export const isTerminal = (status: TaskStatus): boolean => TASK_MOVES[status].length === 0;

/** A report of any other move, such as running to queued, changes nothing. */
export const canMove = (from: TaskStatus, to: TaskStatus): boolean => TASK_MOVES[from].includes(to);

/** Providers report no progress. A task that ends without success keeps its last value (V 2). */
export const TASK_PROGRESS: Readonly<Partial<Record<TaskStatus, number>>> = { queued: 0, running: 50, succeeded: 100 };

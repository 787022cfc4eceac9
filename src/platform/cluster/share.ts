/**
 * The part of this machine's budgets that one worker has:
 * every limit that is counted per process is divided by the number of workers.
 */

export interface WorkerShare {
  /** From 1 to `workers`, or `PRIMARY`. A worker that replaces another takes over its number. */
  readonly worker: number;
  readonly workers: number;
}

export const WHOLE_MACHINE: WorkerShare = { worker: 1, workers: 1 };

/** Rounded up and at least 1: a worker with a share of nothing would reject every request that it gets. */
export const shareOf = (total: number, { workers }: WorkerShare): number => Math.max(1, Math.ceil(total / workers));

/** The parts of all workers add up to the total; some may be 0. */
export const exactPartOf = (total: number, { worker, workers }: WorkerShare): number =>
  Math.floor(total / workers) + (worker <= total % workers ? 1 : 0);

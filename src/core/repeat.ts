/** A task that runs again and again, with a fixed pause between the end of one run and the start of the next. */
import type { Clock } from './clock.ts';

export interface Repetition {
  /** Goes on if it rests. */
  wake(): void;
  /** Starts no further run and resolves when the running one has ended. */
  stop(): Promise<void>;
}

export interface RepeatOptions {
  readonly clock: Clock;
  readonly intervalMs: number;
  /** Called when a run fails; the next run follows as usual. */
  readonly onError: (error: unknown) => void;
  /** While true, there is nothing to do: it rests until `wake` is called. */
  readonly isIdle?: () => boolean;
}

/** Runs the task for the first time after one interval. */
export function repeat(task: () => Promise<unknown>, options: RepeatOptions): Repetition {
  const { clock, intervalMs, onError, isIdle = () => false } = options;
  let running = Promise.resolve();
  let isStopped = false;
  let isResting = true;
  let cancel = (): void => {};
  const schedule = (): void => {
    isResting = isStopped || isIdle();
    if (!isResting) cancel = clock.after(intervalMs, run);
  };
  function run(): void {
    running = task().catch(onError).then(schedule);
  }
  schedule();
  return {
    wake() {
      if (isResting) schedule();
    },
    stop() {
      isStopped = true;
      cancel();
      return running;
    },
  };
}

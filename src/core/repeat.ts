/** A task that runs again and again, with a fixed pause between the end of one run and the start of the next. */
import type { Clock } from './clock.ts';

export interface Repetition {
  /** Starts no further run and resolves when the running one has ended. */
  stop(): Promise<void>;
}

export interface RepeatOptions {
  readonly clock: Clock;
  readonly intervalMs: number;
  /** Called when a run fails; the next run follows as usual. */
  readonly onError: (error: unknown) => void;
}

/** Runs the task for the first time after one interval. */
export function repeat(task: () => Promise<unknown>, { clock, intervalMs, onError }: RepeatOptions): Repetition {
  let running = Promise.resolve();
  let isStopped = false;
  let cancel = clock.after(intervalMs, run);
  function run(): void {
    running = task()
      .catch(onError)
      .then(() => {
        if (!isStopped) cancel = clock.after(intervalMs, run);
      });
  }
  return {
    stop() {
      isStopped = true;
      cancel();
      return running;
    },
  };
}

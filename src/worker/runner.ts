/** Runs duties over and over: each on its own pace, a failing one backs off, none overlaps itself, all stop cleanly. */
import { type Clock, errorFields, type Log } from '../core/index.ts';

export interface Job {
  readonly name: string;
  readonly everyMs: number;
  /** Answers how many things were done; the next run follows at once while there is something to do. */
  run(): Promise<number>;
}

export interface Worker {
  stop(): Promise<void>;
}

const MAX_BACKOFF_MS = 60_000;

export function startJobs(duties: readonly Job[], { clock, log }: { clock: Clock; log: Log }): Worker {
  const loops = duties.map((duty) => startJob(duty, clock, log));
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}

function startJob(duty: Job, clock: Clock, log: Log): Worker {
  let stopped = false;
  let failures = 0;
  let running: Promise<void> = Promise.resolve();
  let cancel = () => {};

  const once = async (): Promise<void> => {
    try {
      const done = await duty.run();
      failures = 0;
      if (done > 0) log.info('job.done', { duty: duty.name, done });
      schedule(done > 0 ? 0 : duty.everyMs);
    } catch (error) {
      failures += 1;
      log.warn('job.failed', { duty: duty.name, failures, ...errorFields(error) });
      schedule(Math.min(MAX_BACKOFF_MS, duty.everyMs * 2 ** failures));
    }
  };
  const schedule = (ms: number): void => {
    if (stopped) return;
    cancel = clock.after(ms, () => {
      running = once();
    });
  };
  schedule(0);
  return {
    async stop() {
      stopped = true;
      cancel();
      await running;
    },
  };
}

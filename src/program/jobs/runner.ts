/**
 * Runs jobs at their intervals. A failing job backs off; a job never overlaps itself; stop() waits for running jobs.
 */
import { type Clock, errorFields, type Log } from '../../core/index.ts';
import type { Job } from '../../platform/db/index.ts';
import type { WorkGate } from './work-gate.ts';

export interface RunningJobs {
  stop(): Promise<void>;
}

const MAX_BACKOFF_MS = 60_000;

export interface RunnerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Without it, jobs run whether or not there is work. */
  readonly gate?: Pick<WorkGate, 'isOpen' | 'whenOpen'>;
}

export function startJobs(jobs: readonly Job[], options: RunnerOptions): RunningJobs {
  const loops = jobs.map((job) => startJob(job, options));
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}

function startJob(job: Job, { clock, log, gate }: RunnerOptions): RunningJobs {
  let stopped = false;
  let failures = 0;
  let running: Promise<void> = Promise.resolve();
  let cancel = () => {};

  const once = async (): Promise<void> => {
    try {
      const done = await job.run();
      failures = 0;
      if (done > 0) log.info('job.done', { job: job.name, done });
      schedule(done > 0 ? 0 : job.everyMs);
    } catch (error) {
      failures += 1;
      log.warn('job.failed', { job: job.name, failures, ...errorFields(error) });
      schedule(Math.min(MAX_BACKOFF_MS, job.everyMs * 2 ** failures));
    }
  };
  const schedule = (ms: number): void => {
    if (stopped) return;
    cancel = clock.after(ms, onTurn);
  };
  const onTurn = (): void => {
    if (gate && job.needs && !gate.isOpen(job.needs)) cancel = gate.whenOpen(job.needs, start);
    else start();
  };
  const start = (): void => {
    running = once();
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

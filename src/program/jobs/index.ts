import type { Job } from '../../platform/db/index.ts';
import type { JobServices } from './jobs.ts';
import { type RunningJobs, startJobs } from './runner.ts';
import { WorkGate } from './work-gate.ts';

export function runJobs(
  services: Pick<JobServices, 'database' | 'watch' | 'clock' | 'log'>,
  jobs: readonly Job[],
): RunningJobs {
  const { database, watch } = services;
  const kinds = [...new Set(jobs.flatMap(({ needs }) => needs ?? []))];
  const gate = new WorkGate({ ...services, db: database.db, kinds });
  watch.onWork(
    (name) => gate.announce(name),
    () => gate.catchUp(),
  );
  const running = startJobs(jobs, { ...services, gate });
  return {
    async stop() {
      await gate.stop();
      await running.stop();
    },
  };
}
export { jobsFor } from './jobs.ts';
export { reseal } from './reseal.ts';
export type { RunningJobs };

import { type JobServices, jobsFor } from './jobs.ts';
import { type RunningJobs, startJobs } from './runner.ts';
import { WorkGate } from './work-gate.ts';

export function runJobs(services: JobServices): RunningJobs {
  const { database, watch } = services;
  const jobs = jobsFor(services);
  const kinds = [...new Set(jobs.flatMap(({ needs }) => needs ?? []))];
  const gate = new WorkGate({ ...services, db: database.db, kinds });
  watch.onWork((name) => gate.announce(name));
  const running = startJobs(jobs, { ...services, gate });
  return {
    async stop() {
      await gate.stop();
      await running.stop();
    },
  };
}
export { reseal } from './reseal.ts';
export type { RunningJobs };

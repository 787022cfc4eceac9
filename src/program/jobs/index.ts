import { type JobServices, jobsFor } from './jobs.ts';
import { startJobs, type Worker } from './runner.ts';
import { WorkGate } from './work-gate.ts';

export function runWorker(services: JobServices): Worker {
  const { database, watch } = services;
  const jobs = jobsFor(services);
  const kinds = [...new Set(jobs.flatMap(({ needs }) => needs ?? []))];
  const gate = new WorkGate({ ...services, db: database.db, kinds });
  watch.onWork((name) => gate.announce(name));
  const worker = startJobs(jobs, { ...services, gate });
  return {
    async stop() {
      await gate.stop();
      await worker.stop();
    },
  };
}
export { reseal } from './reseal.ts';
export type { Worker };

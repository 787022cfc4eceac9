import { type JobServices, jobsFor } from './jobs.ts';
import { startJobs, type Worker } from './runner.ts';

export const runWorker = (services: JobServices): Worker => startJobs(jobsFor(services), services);
export { reseal } from './reseal.ts';
export type { Worker };

import { type JobServices, jobsFor } from './jobs.ts';
import { startJobs, type Worker } from './runner.ts';

export const runWorker = (parts: JobServices): Worker => startJobs(jobsFor(parts), parts);
export { reseal } from './reseal.ts';
export type { Worker };

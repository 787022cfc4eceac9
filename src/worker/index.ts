import { type DutyParts, dutiesOf } from './jobs.ts';
import { startDuties, type Worker } from './runner.ts';

export const runWorker = (parts: DutyParts): Worker => startDuties(dutiesOf(parts), parts);
export { reseal } from './reseal.ts';
export type { Worker };

import { type DutyParts, dutiesOf } from './duties.ts';
import { startDuties, type Worker } from './loop.ts';

export const runWorker = (parts: DutyParts): Worker => startDuties(dutiesOf(parts), parts);
export { reseal } from './reseal.ts';
export type { Worker };

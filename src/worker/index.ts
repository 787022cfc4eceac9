import type { Log } from '../core/index.ts';
import { type DutyParts, dutiesOf } from './duties.ts';
import { startDuties, type Worker } from './loop.ts';

export const runWorker = (parts: DutyParts & { readonly log: Log }): Worker => startDuties(dutiesOf(parts), parts);
export { reseal } from './reseal.ts';
export type { Worker };

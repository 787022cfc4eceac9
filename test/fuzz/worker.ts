/** A thread of `npm run fuzz -- http`: reads a range of messages and reports the figures after each batch. */
import { parentPort, workerData } from 'node:worker_threads';
import { loadCorpus } from './corpus.ts';
import { Judge } from './judge.ts';
import { type Range, runRange } from './run.ts';

const judge = new Judge();
const figures = await runRange(workerData as Range, [loadCorpus(), judge], (soFar) => parentPort?.postMessage(soFar));
parentPort?.postMessage(figures);
judge.close();

/** Worker thread that examines large task bodies, one after the other. A thrown error is a bug and ends the thread. */
import { parentPort } from 'node:worker_threads';
import { examineTaskBody } from './examine.ts';
import type { ExamineJob } from './examiner.ts';
import type { Examination } from './task-request.ts';
import { buffersOf } from './upstream-template.ts';

parentPort?.on('message', ({ bytes, entry, target }: ExamineJob) => {
  const examination = examineTaskBody(bytes, entry, target);
  parentPort?.postMessage(examination, memoryOf(examination));
});

/** Everything that the upstream request refers to moves to the main thread; the rest is small and copied. */
function memoryOf(examination: Examination): ArrayBuffer[] {
  const result = examination.kind === 'parsed' ? examination.result : undefined;
  return result && 'upstream' in result ? buffersOf(result.upstream) : [];
}

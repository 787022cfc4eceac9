/** The examination of a task body as a job: what the upstream request refers to moves, and is never copied. */
import type { ThreadJob } from '../../platform/threads/index.ts';
import { examineTaskBody } from './examine.ts';
import type { Examination, TaskEntry, TaskTarget } from './task-request.ts';
import { buffersOf } from './upstream-template.ts';

export interface ExamineInput {
  readonly bytes: Uint8Array;
  readonly entry: TaskEntry;
  readonly target: TaskTarget | undefined;
}

export const examineJob: ThreadJob<ExamineInput, Examination> = {
  module: import.meta.url,
  name: 'examineJob',
  inlineBytes: 2 ** 20,
  movesBytes: true,
  run: ({ bytes, entry, target }) => examineTaskBody(bytes, entry, target),
  memoryOf(examination) {
    const result = examination.kind === 'parsed' ? examination.result : undefined;
    return result && 'upstream' in result ? buffersOf(result.upstream) : [];
  },
};

/** A result of a task: the video or its last frame. It never changes, so that its validators are constant. */
import { createHash } from 'node:crypto';
import { reportedOf, type TaskRow } from '../tasks/task.ts';

export type ResultKind = 'video' | 'last_frame';

export interface Result {
  readonly task: TaskRow;
  readonly kind: ResultKind;
  /** Names the result in maps and in the mirror. Lower-case hex, because some file systems ignore the case of names. */
  readonly name: string;
}

export function resultOf(task: TaskRow, kind: ResultKind): Result {
  const name = createHash('sha256').update(`${task.user_id}\n${task.id}\n${kind}`).digest('hex').slice(0, 40);
  return { task, kind, name };
}

/** The results that a succeeded task has. */
export const resultsOf = (task: TaskRow): readonly Result[] =>
  hasLastFrame(task) ? [resultOf(task, 'video'), resultOf(task, 'last_frame')] : [resultOf(task, 'video')];

export const hasLastFrame = (task: TaskRow): boolean => reportedOf(task).last_frame === true;

/** Addresses at the provider. Never shown to callers. */
export interface ResultUrls {
  readonly video: string | undefined;
  readonly last_frame: string | undefined;
}

export const urlsOf = ({ result_url, last_frame_url }: TaskRow): ResultUrls => ({
  video: result_url ?? undefined,
  last_frame: last_frame_url ?? undefined,
});

/** Size and type of a whole result. */
export interface ResultFacts {
  readonly size: number;
  readonly type: string;
}

export const entityTag = ({ name }: Result): string => `"${name}"`;
export const lastModified = ({ task }: Result): string => (task.finished_at ?? task.updated_at).toUTCString();

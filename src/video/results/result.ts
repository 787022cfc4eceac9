/** A result of a task: the video or its last frame. It never changes, so that its validators are constant. */
import { createHash } from 'node:crypto';
import { claimedMime, detectMime } from '../../platform/outbound/index.ts';
import { RESULT_TYPES } from '../../rules/index.ts';
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

export interface ResultFacts {
  readonly size: number;
  readonly type: string;
}

export const entityTag = ({ name }: Result): string => `"${name}"`;
export const lastModified = ({ task }: Result): string => (task.finished_at ?? task.updated_at).toUTCString();

/** The content type of a result: as the upstream sent it, or detected from the first bytes when it sent none. */
export const UNKNOWN_TYPE = 'application/octet-stream';

/** Undefined for a type that no result has: the response is, for example, the error page of a proxy. */
export function claimedType(header: string | undefined): string | undefined {
  const mime = claimedMime(header);
  return mime === UNKNOWN_TYPE || isMedia(mime) ? mime : undefined;
}

const isMedia = (mime: string): boolean => Object.hasOwn(RESULT_TYPES, mime);

/**
 * Headers that name the type. A file of any other type, also one that an earlier version mirrored, is only ever saved.
 */
export const typeHeaders = (type: string, name: string) =>
  isMedia(type)
    ? { 'content-type': type, 'content-disposition': `inline; filename="${name}.${RESULT_TYPES[type]}"` }
    : { 'content-type': UNKNOWN_TYPE, 'content-disposition': `attachment; filename="${name}"` };

export function detectedType(start: Buffer): string {
  const mime = detectMime(start, undefined);
  return isMedia(mime) ? mime : (detectVideo(start) ?? UNKNOWN_TYPE);
}

const EBML = Buffer.from([0x1a, 0x45, 0xdf, 0xa3]);

/** ISO media files begin with a box of the type `ftyp`, Matroska files with an EBML header. */
function detectVideo(start: Buffer): string | undefined {
  if (start.toString('latin1', 4, 8) === 'ftyp')
    return start.toString('latin1', 8, 12) === 'qt  ' ? 'video/quicktime' : 'video/mp4';
  return start.subarray(0, 4).equals(EBML) ? 'video/webm' : undefined;
}

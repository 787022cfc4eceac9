/** Error messages of the embedded PostgreSQL: what failed, the likely cause and what to do. Decides on no retry. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

export class EmbeddedUnavailable extends Error {
  override readonly name = 'EmbeddedUnavailable';
}

const INSTEAD = 'set DATABASE_URL to a PostgreSQL 15 or later';

/** Enough for the FATAL line and its hint; more would hide the message above it. */
const TAIL_LINES = 6;
/** Lines of the startup log are far shorter than 1 KB, so this holds the lines that are shown. */
const TAIL_BYTES = 8_192;

const CAUSES: readonly (readonly [RegExp, string])[] = [
  [/No space left on device|ENOSPC|Disk quota exceeded|EDQUOT/, 'The disk is full: free some space and start again.'],
  [/Read-only file system|EROFS/, 'The file system is read-only: set DATA_DIR to a writable folder.'],
  [
    /error while loading shared libraries|Library not loaded|symbol not found|version .GLIBC/i,
    `A system library that PostgreSQL needs is missing: install it, or ${INSTEAD}.`,
  ],
  [
    /pre-existing shared memory block/,
    'Processes of an earlier PostgreSQL still use this data: stop them and start again.',
  ],
  [
    /spawn( .*)? EPERM|EPERM.* chown/,
    `PostgreSQL does not run as root, and this process may not switch users: run Dragoman as a regular user, or ${INSTEAD}.`,
  ],
  [
    /spawn( .*)? EACCES/,
    `The system does not allow PostgreSQL to run from this folder (noexec mount?): move it, or ${INSTEAD}.`,
  ],
  [/Address already in use|EADDRINUSE/, 'Another process uses its address: stop that process and start again.'],
  [
    /could not (create|map|resize) .*shared memory|Cannot allocate memory|ENOMEM/,
    `Not enough memory for PostgreSQL: give the machine or container more, or ${INSTEAD}.`,
  ],
  [
    /Permission denied|Operation not permitted|EACCES|EPERM|has wrong ownership|invalid permissions/,
    `A file or folder belongs to another user: run Dragoman as the user that owns DATA_DIR, or ${INSTEAD}.`,
  ],
];

export const unsupportedPlatform = (reason: string): EmbeddedUnavailable =>
  new EmbeddedUnavailable(`${reason}: ${INSTEAD}.`);

interface FailureDetails {
  /** Output of the failed program or system call. */
  readonly evidence: string;
  /** A log file with more details. */
  readonly log?: string;
  readonly cause?: unknown;
}

export function embeddedFailure(what: string, { evidence, log, cause }: FailureDetails): EmbeddedUnavailable {
  const known = CAUSES.find(([pattern]) => pattern.test(evidence))?.[1];
  const next = known ?? (log === undefined ? `Correct the error below, or ${INSTEAD}.` : `See ${log}, or ${INSTEAD}.`);
  const tail = lastLines(evidence);
  return new EmbeddedUnavailable(`${what}. ${next}${tail === '' ? '' : `\n${tail}`}`, { cause });
}

/** Reads what was appended to a log since it had `offset` bytes. */
export function readLogSince(path: string, offset: number): string {
  try {
    const file = openSync(path, 'r');
    try {
      const size = fstatSync(file).size;
      const from = Math.max(offset, size - TAIL_BYTES);
      const bytes = Buffer.alloc(Math.max(0, size - from));
      readSync(file, bytes, 0, bytes.length, from);
      return bytes.toString('utf8');
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}

function lastLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines
    .slice(-TAIL_LINES)
    .map((line) => `  ${line.trim()}`)
    .join('\n');
}

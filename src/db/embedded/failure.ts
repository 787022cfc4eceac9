/**
 * What an operator reads when the embedded PostgreSQL cannot be used: one or two plain sentences that say what to do.
 * Owns the wording and the guess at the cause; never decides whether something is tried again.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

export class EmbeddedUnavailable extends Error {
  override readonly name = 'EmbeddedUnavailable';
}

const INSTEAD = 'set DATABASE_URL to a PostgreSQL 15 or later';

/** Enough for the FATAL line and its hint; more would bury the sentence above it. */
const TAIL_LINES = 6;
/** A line of a start-up log is far shorter than 1 KB, so this holds the lines we show. */
const TAIL_BYTES = 8_192;

const CAUSES: readonly (readonly [RegExp, string])[] = [
  [/No space left on device|ENOSPC|Disk quota exceeded|EDQUOT/, 'The disk is full: free some space and start again.'],
  [/Read-only file system|EROFS/, 'The file system is read-only: point DATA_DIR to a folder that can be written.'],
  [
    /error while loading shared libraries|Library not loaded|symbol not found|version .GLIBC/i,
    `A system library that PostgreSQL needs is missing: install it, or ${INSTEAD}.`,
  ],
  [
    /pre-existing shared memory block/,
    'Processes of an earlier PostgreSQL still use this data: end them and start again.',
  ],
  [
    /spawn( .*)? EPERM|EPERM.* chown/,
    `PostgreSQL does not run as root and may not switch to another user: run us as an ordinary one, or ${INSTEAD}.`,
  ],
  [
    /spawn( .*)? EACCES/,
    `The system does not let PostgreSQL run from there (a noexec mount?): move it, or ${INSTEAD}.`,
  ],
  [/Address already in use|EADDRINUSE/, 'Its address is taken by another process: end that process and start again.'],
  [
    /could not (create|map|resize) .*shared memory|Cannot allocate memory|ENOMEM/,
    `There is not enough memory for PostgreSQL: give the machine or container more, or ${INSTEAD}.`,
  ],
  [
    /Permission denied|Operation not permitted|EACCES|EPERM|has wrong ownership|invalid permissions/,
    `A file or folder belongs to another user: run Dragoman as the user that owns DATA_DIR, or ${INSTEAD}.`,
  ],
];

export function unsupported(reason: string): EmbeddedUnavailable {
  return new EmbeddedUnavailable(`${reason}: ${INSTEAD}.`);
}

/** `evidence` is what the failed program or system call said; `log` is named so that the reader can look further. */
export function failed(what: string, evidence: string, log: string | null, cause?: unknown): EmbeddedUnavailable {
  const known = CAUSES.find(([pattern]) => pattern.test(evidence))?.[1];
  const next =
    known ?? (log === null ? `Correct what is named below, or ${INSTEAD}.` : `Look into ${log}, or ${INSTEAD}.`);
  const tail = lastLines(evidence);
  return new EmbeddedUnavailable(`${what}. ${next}${tail === '' ? '' : `\n${tail}`}`, { cause });
}

/** What was appended to a log since it had `offset` bytes. */
export function logSince(path: string, offset: number): string {
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

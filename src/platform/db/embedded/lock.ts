/**
 * A lock file between processes: one at a time starts, joins or leaves the database of a data directory. The file names
 * its owner, so the lock of a dead owner is taken over. It does not protect the data itself: initdb works in its own
 * folder, and postmaster.pid admits one postmaster.
 */
import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { bootId, codeOf, isProcessAlive, processStartTime, valueOfJson } from '../../../core/index.ts';
import type { Notify } from './data-location.ts';
import { readIfExists } from './process.ts';

/** Short against a warm start (about 100 ms), long against the cost of a check (about 0.1 ms). */
const POLL_MS = 20;
/** A start normally takes a second; a longer wait is reported to the operator. */
const NOTIFY_AFTER_MS = 3_000;
/** The file is filled microseconds after it is created; an empty one this old was left by a crash. */
const EMPTY_IS_STALE_AFTER_MS = 2_000;

/**
 * Locks of this process. The process id alone does not identify them: in a container the next process often has the
 * same id.
 */
const ownLocks = new Set<string>();

interface Owner {
  readonly pid: number;
  readonly birth: string | undefined;
}

export async function withLock<T>(path: string, notify: Notify, work: () => Promise<T>): Promise<T> {
  const token = randomBytes(8).toString('hex');
  const lock = JSON.stringify({ pid: process.pid, birth: birthOf(process.pid), token });
  await acquire(path, lock, notify);
  try {
    return await work();
  } finally {
    ownLocks.delete(lock);
    await rm(path, { force: true });
  }
}

async function acquire(path: string, lock: string, notify: Notify): Promise<void> {
  ownLocks.add(lock);
  const notifyAt = Date.now() + NOTIFY_AFTER_MS;
  let isNotified = false;
  try {
    while (!(await create(path, lock))) {
      const found = await readIfExists(path);
      // Its owner has just released it.
      if (found === undefined) continue;
      if (await isStale(path, found)) {
        await remove(path, found);
        continue;
      }
      if (!isNotified && Date.now() > notifyAt) {
        isNotified = true;
        notify(`Waiting for process ${ownerOf(found)?.pid ?? '?'}, which is starting or stopping the database.`);
      }
      await sleep(POLL_MS);
    }
  } catch (error) {
    ownLocks.delete(lock);
    throw error;
  }
}

async function create(path: string, lock: string): Promise<boolean> {
  try {
    await writeFile(path, lock, { flag: 'wx', mode: 0o644 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function isStale(path: string, found: string): Promise<boolean> {
  const owner = ownerOf(found);
  if (!owner) {
    const entry = await stat(path).catch(() => undefined);
    return entry !== undefined && Date.now() - entry.mtimeMs > EMPTY_IS_STALE_AFTER_MS;
  }
  const { pid, birth } = owner;
  if (pid === process.pid) return !ownLocks.has(found);
  return !isProcessAlive(pid) || (birth !== undefined && birth !== birthOf(pid));
}

/** Boot and start time: distinguishes processes that had the same id. Undefined where the system does not report it. */
function birthOf(pid: number): string | undefined {
  const start = processStartTime(pid);
  return start === undefined ? undefined : `${bootId() ?? ''}/${start}`;
}

function ownerOf(found: string): Owner | undefined {
  const { pid, birth } = (valueOfJson(found) ?? {}) as Record<string, unknown>;
  return typeof pid === 'number' ? { pid, birth: typeof birth === 'string' ? birth : undefined } : undefined;
}

/**
 * Removes a stale lock by a rename, so that only one of several waiters does. Puts it back if it was replaced
 * meanwhile.
 */
async function remove(path: string, stale: string): Promise<void> {
  const aside = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    await rename(path, aside);
    if ((await readFile(aside, 'utf8')) === stale) await rm(aside, { force: true });
    else await rename(aside, path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

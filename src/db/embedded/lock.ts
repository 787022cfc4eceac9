/**
 * A lock between processes: one at a time starts, joins or leaves the database of a data directory.
 * The file names its owner, so a lock whose owner died is taken over. It keeps processes out of each other's way but is
 * not what protects the data: initdb works in a folder of its own, and postmaster.pid admits one postmaster.
 */
import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Notify } from './data-location.ts';
import { errorCode, isAlive, startTimeOf } from './process.ts';

/** Short against a warm start (about 100 ms), long against the cost of a look (about 0.1 ms). */
const LOOK_EVERY_MS = 20;
/** A start normally takes a second; whoever waits longer wants to know for whom. */
const SAY_AFTER_MS = 3_000;
/** Between making the file and filling it lie microseconds; an empty one this old was left by a crash. */
const EMPTY_IS_STALE_AFTER_MS = 2_000;

/** In a container the next process often has the number of the last one: the number alone does not say "mine". */
const mine = new Set<string>();

export async function withLock<T>(path: string, say: Notify, work: () => Promise<T>): Promise<T> {
  const claim = JSON.stringify({
    pid: process.pid,
    birth: startTimeOf(process.pid),
    token: randomBytes(8).toString('hex'),
  });
  await take(path, claim, say);
  try {
    return await work();
  } finally {
    mine.delete(claim);
    await rm(path, { force: true });
  }
}

async function take(path: string, claim: string, say: Notify): Promise<void> {
  mine.add(claim);
  const sayAt = Date.now() + SAY_AFTER_MS;
  let said = false;
  try {
    while (!(await create(path, claim))) {
      const found = await read(path);
      if (found === null) continue;
      if (await isStale(path, found)) {
        await remove(path, found);
        continue;
      }
      if (!said && Date.now() > sayAt) {
        said = true;
        say(`Waiting for process ${ownerOf(found)?.pid ?? '?'}, which is starting or stopping the database.`);
      }
      await sleep(LOOK_EVERY_MS);
    }
  } catch (error) {
    mine.delete(claim);
    throw error;
  }
}

async function create(path: string, claim: string): Promise<boolean> {
  try {
    await writeFile(path, claim, { flag: 'wx', mode: 0o644 });
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Null when its owner has just released it. */
async function read(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

async function isStale(path: string, found: string): Promise<boolean> {
  const owner = ownerOf(found);
  if (owner === null) {
    const entry = await stat(path).catch(() => null);
    return entry !== null && Date.now() - entry.mtimeMs > EMPTY_IS_STALE_AFTER_MS;
  }
  if (owner.pid === process.pid) return !mine.has(found);
  return !isAlive(owner.pid) || (owner.birth !== null && owner.birth !== startTimeOf(owner.pid));
}

function ownerOf(found: string): { pid: number; birth: string | null } | null {
  try {
    const owner: unknown = JSON.parse(found);
    if (typeof owner !== 'object' || owner === null || !('pid' in owner) || typeof owner.pid !== 'number') return null;
    return { pid: owner.pid, birth: 'birth' in owner && typeof owner.birth === 'string' ? owner.birth : null };
  } catch {
    return null;
  }
}

/** By a rename, so that of several waiters one removes it; the look afterwards notices a lock taken meanwhile. */
async function remove(path: string, stale: string): Promise<void> {
  const aside = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    await rename(path, aside);
    if ((await readFile(aside, 'utf8')) === stale) await rm(aside, { force: true });
    else await rename(aside, path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

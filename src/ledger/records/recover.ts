/**
 * Recovery of journals of dead processes: claims a folder by renaming it, writes its records,
 * returns the leases, removes it. Each step may be repeated.
 */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as core from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { crashPoint } from '../crash-points.ts';
import { BATCH_ROWS } from './flusher.ts';
import { fenceIfStale, REPLICA_LIFETIME_MS, removeReplica } from './replica.ts';
import { listSegments, readSegment } from './segment.ts';
import type { UsageWriter } from './usage-writer.ts';

export interface RecoverOptions {
  readonly db: Db;
  readonly writer: UsageWriter;
  readonly journalsDir: string;
  readonly selfId: string;
  readonly ledgerId: string;
  readonly clock: core.Clock;
  readonly log: core.Log;
}

const OWNER_FILE = 'owner.json';
const DAMAGED = 'damaged';
/** `<replica>` or, once claimed, `<replica>~<claiming replica>`. */
const FOLDER = /^(rep_[0-9A-Za-z]+)(?:~(rep_[0-9A-Za-z]+))?$/;

/**
 * Creates the folder with its owner before the replica is registered,
 * so that every lease has a folder to recover it by.
 */
export async function createReplicaFolder(journalsDir: string, id: string, ledgerId: string): Promise<string> {
  const dir = join(journalsDir, id);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const owner: Owner = { ...core.ownIdentity(), ledger: ledgerId };
  await writeFile(join(dir, OWNER_FILE), JSON.stringify(owner));
  return dir;
}

interface Owner extends core.ProcessIdentity {
  readonly ledger: string;
}

/** Recovers all dead processes and returns their ids. One that fails is logged and left for the next time. */
export async function recoverDead(options: RecoverOptions): Promise<string[]> {
  const { journalsDir, log, selfId } = options;
  const recovered: string[] = [];
  for (const name of await readdir(journalsDir)) {
    const [, id, claimedBy] = FOLDER.exec(name) ?? [];
    if (id === undefined || id === selfId) continue;
    try {
      const owner = await readOwner(join(journalsDir, name));
      // A folder of another database, whose users are unknown here. It waits until that database is used again.
      if (owner && owner.ledger !== options.ledgerId) continue;
      if (claimedBy !== selfId && !(await isDead(options, join(journalsDir, name), id, claimedBy))) continue;
      const dir = await claim(options, name, id);
      if (!dir) continue;
      const records = await replay(options, dir, id);
      await removeReplica(options.db, id);
      crashPoint('recover.removed');
      await rm(dir, { recursive: true, force: true });
      log.info('journal.recovered', { replica: id, records });
      recovered.push(id);
    } catch (error) {
      log.error('journal.recovery_failed', { replica: id, ...core.errorFields(error) });
    }
  }
  return recovered;
}

async function isDead(options: RecoverOptions, dir: string, id: string, claimedBy?: string): Promise<boolean> {
  const { db, journalsDir, clock } = options;
  const owner = await readOwner(claimedBy === undefined ? dir : join(journalsDir, claimedBy));
  // A claimer without a folder has closed cleanly or was itself recovered.
  if (!owner && claimedBy !== undefined) return true;
  const isGone = owner && core.isProcessDead(owner);
  if (isGone !== undefined) return isGone;
  const isFenced = await fenceIfStale(db, claimedBy ?? id);
  if (isFenced !== undefined) return isFenced;
  const changedAt = await stat(dir).then(({ mtimeMs }) => mtimeMs, unlessGone);
  return changedAt !== undefined && clock.now() - changedAt > REPLICA_LIFETIME_MS;
}

/**
 * Processes of one machine recover at the same time: one that was faster has taken the folder, which is not a failure.
 */
function unlessGone(error: unknown): undefined {
  if (core.codeOf(error) !== 'ENOENT') throw error;
}

async function readOwner(dir: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(join(dir, OWNER_FILE), 'utf8')) as Owner;
  } catch {
    // Missing, or its process crashed while writing it.
    return undefined;
  }
}

/** Returns the new path of the folder; undefined when another process was faster. */
async function claim({ journalsDir, selfId }: RecoverOptions, name: string, id: string): Promise<string | undefined> {
  const dir = join(journalsDir, `${id}~${selfId}`);
  const claimed = await rename(join(journalsDir, name), dir).then(() => dir, unlessGone);
  if (claimed !== undefined) crashPoint('recover.claimed');
  return claimed;
}

async function replay({ writer, journalsDir, log }: RecoverOptions, dir: string, id: string): Promise<number> {
  let count = 0;
  for (const path of await listSegments(dir)) {
    const { records, damaged } = await readSegment(path);
    for (let at = 0; at < records.length; at += BATCH_ROWS) await writer.write(id, records.slice(at, at + BATCH_ROWS));
    count += records.length;
    if (damaged === 0) continue;
    // An operator may still be able to read the damaged lines.
    log.error('journal.damaged', { replica: id, file: basename(path), damaged });
    await mkdir(join(journalsDir, DAMAGED), { recursive: true, mode: 0o700 });
    await rename(path, join(journalsDir, DAMAGED, `${id}-${basename(path)}`));
  }
  crashPoint('recover.replayed');
  return count;
}

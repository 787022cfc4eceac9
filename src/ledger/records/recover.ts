/**
 * Journals of processes that ended without emptying them. Whoever renames the folder of a dead process owns it: its records are
 * written to the database, then its leases go back, then the folder goes. Interrupted anywhere, the next one begins again.
 */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Clock, errorFields, type Log } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';
import type { OnStep } from '../crash-points.ts';
import type { UsageWriter } from './flusher.ts';
import { readSegment, segmentsOf } from './journal.ts';
import {
  fenceIfStale,
  isProcessDead,
  ownIdentity,
  type ProcessIdentity,
  REPLICA_LIFETIME_MS,
  removeReplica,
} from './replica.ts';

export interface RecoverOptions {
  readonly db: Db;
  readonly store: UsageWriter;
  /** Where every process has its folder. */
  readonly home: string;
  readonly selfId: string;
  /** Which ledger the database holds. */
  readonly ledgerId: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onStep?: OnStep | undefined;
}

const OWNER_FILE = 'owner.json';
const DAMAGED = 'damaged';
/** `<replica>` or, once claimed, `<replica>~<who claimed it>`. */
const FOLDER = /^(rep_[0-9A-Za-z]+)(?:~(rep_[0-9A-Za-z]+))?$/;
/** As the flusher does. */
const BATCH_ROWS = 1_000;

/** The folder says whose it is before the database hears of the replica, so that no lease is ever without one. */
export async function makeOwnFolder(home: string, id: string, ledgerId: string): Promise<string> {
  const dir = join(home, id);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const owner: Owner = { ...ownIdentity(), ledger: ledgerId };
  await writeFile(join(dir, OWNER_FILE), JSON.stringify(owner));
  return dir;
}

interface Owner extends ProcessIdentity {
  readonly ledger: string;
}

/** Ids of the processes that were brought to an end. One that cannot be is left for the next time. */
export async function recoverDead(options: RecoverOptions): Promise<string[]> {
  const { home, log, selfId } = options;
  const recovered: string[] = [];
  for (const name of await readdir(home)) {
    const [, id, claimedBy] = FOLDER.exec(name) ?? [];
    if (id === undefined || id === selfId) continue;
    try {
      const owner = await readOwner(join(home, name));
      // Records of another database: its users are not known here. They wait until it is used again.
      if (owner && owner.ledger !== options.ledgerId) continue;
      if (claimedBy !== selfId && !(await isDead(options, join(home, name), id, claimedBy))) continue;
      const dir = await claim(options, name, id);
      if (!dir) continue;
      const records = await replay(options, dir, id);
      await removeReplica(options.db, id);
      options.onStep?.('recover.retired');
      await rm(dir, { recursive: true, force: true });
      log.info('journal.recovered', { replica: id, records });
      recovered.push(id);
    } catch (error) {
      log.error('journal.recovery_failed', { replica: id, ...errorFields(error) });
    }
  }
  return recovered;
}

/** Of the process that has the folder now: its maker, or who claimed it. */
async function isDead(
  { db, home, clock }: RecoverOptions,
  dir: string,
  id: string,
  claimedBy: string | undefined,
): Promise<boolean> {
  const mark = await readOwner(claimedBy === undefined ? dir : join(home, claimedBy));
  // A claimer that has no folder any more has left it in good order, or was itself recovered.
  if (!mark && claimedBy !== undefined) return true;
  const gone = mark && isProcessDead(mark);
  if (gone !== undefined) return gone;
  const silent = await fenceIfStale(db, claimedBy ?? id);
  if (silent !== undefined) return silent;
  const { mtimeMs } = await stat(dir);
  return clock.now() - mtimeMs > REPLICA_LIFETIME_MS;
}

async function readOwner(dir: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(join(dir, OWNER_FILE), 'utf8')) as Owner;
  } catch {
    // Not there, or its maker ended while writing it.
    return undefined;
  }
}

/** Undefined: another process was faster. */
async function claim({ home, selfId, onStep }: RecoverOptions, name: string, id: string): Promise<string | undefined> {
  const dir = join(home, `${id}~${selfId}`);
  try {
    await rename(join(home, name), dir);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  onStep?.('recover.claimed');
  return dir;
}

async function replay({ store, home, log, onStep }: RecoverOptions, dir: string, id: string): Promise<number> {
  let count = 0;
  for (const path of await segmentsOf(dir)) {
    const { records, damaged } = await readSegment(path);
    for (let at = 0; at < records.length; at += BATCH_ROWS) await store.write(id, records.slice(at, at + BATCH_ROWS));
    count += records.length;
    if (damaged === 0) continue;
    // What a person may still be able to read is kept.
    log.error('journal.damaged', { replica: id, file: basename(path), damaged });
    await mkdir(join(home, DAMAGED), { recursive: true, mode: 0o700 });
    await rename(path, join(home, DAMAGED, `${id}-${basename(path)}`));
  }
  onStep?.('recover.replayed');
  return count;
}

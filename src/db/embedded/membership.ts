/**
 * Who uses the postmaster of a data directory: every process that joined holds a shared advisory lock, and only who
 * gets the exclusive one, because nobody else is left, may stop it.
 * Owns entering and leaving; the file lock around both keeps a start and a stop from crossing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { prepareBinaries } from './binaries.ts';
import { ensureDatabase, passwordOf, prepareCluster } from './cluster.ts';
import { type DataLocation, filesIn, type Notify, openDataLocation } from './data-location.ts';
import { connect, type Endpoint, LAUNCHER_DATABASE, LAUNCHER_ROLE, type Transport, urlOf } from './endpoint.ts';
import { withLock } from './lock.ts';
import {
  findPostmaster,
  findSettledPostmaster,
  type Postmaster,
  silent,
  startPostmaster,
  stopPostmaster,
} from './postmaster.ts';
import { errorCode, isAlive } from './process.ts';

export interface Entry {
  /** Holds the shared lock for as long as it is connected. */
  readonly client: Client;
  readonly home: DataLocation;
  readonly endpoint: Endpoint;
  readonly adopted: boolean;
}

export interface EnterOptions {
  /** A real path. */
  readonly dataDir: string;
  readonly transport: Transport;
  readonly durable: boolean;
  readonly say: Notify;
  /** Where this process was told the postmaster listens, when it enters again. */
  readonly port: number | null;
}

/** "drag" in ASCII; the second number tells this lock from the server role's. */
const LOCK_SPACE = 0x64726167;
const MEMBER_LOCK = 1;
const NAME = 'dragoman-member';

/** A postmaster that is alive and ready but refuses connections longer than this will not recover by itself. */
const SILENCE_PATIENCE_MS = 5_000;
/** After the crash of one of its processes PostgreSQL recovers first; see START_PATIENCE_MS of the postmaster. */
const RECOVERY_PATIENCE_MS = 600_000;
const RETRY_EVERY_MS = 50;
/** PostgreSQL notices within milliseconds that a killed member is gone; a second is ample. */
const DEAD_MEMBER_PATIENCE_MS = 1_000;

const NOT_NOW = '57P03'; // starting, stopping or recovering
const CUT_OFF = ['57P01', '57P02', 'ECONNRESET', 'ECONNREFUSED', 'EPIPE'];

/** Finds or starts the postmaster and becomes a member. If it goes away in the middle, begins anew. */
export async function enter(options: EnterOptions): Promise<Entry> {
  const begun = Date.now();
  for (;;) {
    let running: Postmaster | null = null;
    try {
      return await withLock(filesIn(options.dataDir).lock, options.say, async () => {
        const home = await openDataLocation(options.dataDir, options.say);
        running = await findSettledPostmaster(home.cluster);
        return running === null ? await startAndEnter(home, options) : await enterRunning(home, running, options, true);
      });
    } catch (error) {
      const patience = patienceWith(error);
      if (patience === 0) throw error;
      if (Date.now() - begun > patience) throw running === null ? error : silent(running);
      await sleep(RETRY_EVERY_MS);
    }
  }
}

/** Ends the membership of `client`, or of one that lost its connection, and stops the postmaster after the last. */
export async function depart(entry: Entry, client: Client | null, say: Notify): Promise<void> {
  const leave = async () => {
    try {
      await departBy(entry, client ?? (await reopen(entry)));
    } catch (error) {
      // The connection was dead without our knowing. If the postmaster is not, it still may be ours to stop.
      if (patienceWith(error) === 0) throw error;
      await departBy(entry, await reopen(entry));
    }
  };
  try {
    await withLock(entry.home.lock, say, leave);
  } catch (error) {
    // The data directory was deleted under us: no lock is possible, and nobody can start there either.
    if (errorCode(error) !== 'ENOENT') throw error;
    await leave();
  }
}

async function departBy(entry: Entry, session: Client | null): Promise<void> {
  if (session === null) return;
  const { home } = entry;
  try {
    const postmaster = await findPostmaster(home.cluster);
    if (postmaster === null || !(await isLast(session))) return;
    const binaries = process.platform === 'win32' ? await prepareBinaries(home.directory, home.account) : null;
    await stopPostmaster(home, binaries, postmaster);
  } finally {
    await session.end().catch(() => undefined);
  }
}

/** Null when there is nothing left to leave. */
async function reopen(entry: Entry): Promise<Client | null> {
  if ((await findSettledPostmaster(entry.home.cluster)) === null) return null;
  return openSession(entry.endpoint).catch(() => null);
}

async function startAndEnter(home: DataLocation, options: EnterOptions): Promise<Entry> {
  const binaries = await prepareBinaries(home.directory, home.account);
  await prepareCluster(home, binaries, options);
  const started = await startPostmaster(home, binaries, options);
  try {
    return await enterRunning(home, started, options, false);
  } catch (error) {
    await stopPostmaster(home, binaries, started).catch(() => undefined);
    throw error;
  }
}

async function enterRunning(
  home: DataLocation,
  postmaster: Postmaster,
  options: EnterOptions,
  adopted: boolean,
): Promise<Entry> {
  const host = postmaster.socketDirectory === '' ? '127.0.0.1' : postmaster.socketDirectory;
  const endpoint = { host, port: postmaster.port, password: await passwordOf(home, options.transport) };
  const client = await openSession(endpoint);
  try {
    // Waits only for a leaver that is about to stop the postmaster: then this fails and we begin anew.
    await client.query('select pg_advisory_lock_shared($1, $2)', [LOCK_SPACE, MEMBER_LOCK]);
    await ensureDatabase(client, endpoint.password);
    return { client, home, endpoint, adopted };
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

function openSession(endpoint: Endpoint): Promise<Client> {
  return connect(urlOf(endpoint, LAUNCHER_ROLE, LAUNCHER_DATABASE), `${NAME}:${process.pid}`);
}

async function isLast(client: Client): Promise<boolean> {
  const lock = [LOCK_SPACE, MEMBER_LOCK];
  await client.query('select pg_advisory_unlock_all()');
  const patience = Date.now() + DEAD_MEMBER_PATIENCE_MS;
  for (;;) {
    const got = await client.query('select pg_try_advisory_lock($1, $2) as got', lock);
    if (got.rows[0]?.got === true) return true;
    if ((await isAnyMemberAlive(client)) || Date.now() > patience) return false;
    await sleep(RETRY_EVERY_MS);
  }
}

/** A member that was killed a moment ago may still be listed: its connection is closed but not yet noticed. */
async function isAnyMemberAlive(client: Client): Promise<boolean> {
  const found = await client.query(
    `select a.application_name as name
       from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.objsubid = 2 and l.classid = $1::oid and l.objid = $2::oid
        and l.pid <> pg_backend_pid()`,
    [LOCK_SPACE, MEMBER_LOCK],
  );
  return found.rows.some((row) => isAlive(Number(String(row.name).split(':')[1])));
}

/** How long to go on after this error; 0 for one that will not pass. */
function patienceWith(error: unknown): number {
  const code = errorCode(error);
  if (code === NOT_NOW) return RECOVERY_PATIENCE_MS;
  if (!(error instanceof Error)) return 0;
  const noSocket = code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect';
  // pg gives no code to a connection that closes in the middle of a query, or that was closed before it.
  const closed = /^Connection terminated|Client has encountered a connection error|Client was closed/.test(
    error.message,
  );
  return CUT_OFF.includes(code) || noSocket || closed ? SILENCE_PATIENCE_MS : 0;
}

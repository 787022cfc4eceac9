/**
 * The processes that use the postmaster of a data directory. Each holds a shared advisory lock. A leaving process that
 * gets the exclusive lock is the last one and stops the postmaster. A file lock around joining and leaving prevents
 * that a start and a stop overlap.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { codeOf } from '../../../core/index.ts';
import { ADVISORY_LOCK } from '../advisory-lock.ts';
import { prepareBinaries } from './binaries.ts';
import { ensureDatabase, passwordOf, prepareCluster } from './cluster.ts';
import { type DataLocation, filesIn, type Notify, openDataLocation } from './data-location.ts';
import { connectEmbedded, type Endpoint, LAUNCHER_DATABASE, LAUNCHER_ROLE, type Transport, urlOf } from './endpoint.ts';
import { withLock } from './lock.ts';
import {
  findPostmaster,
  findReadyPostmaster,
  notResponding,
  type Postmaster,
  startPostmaster,
  stopPostmaster,
} from './postmaster.ts';
import { holderName, tryRoleLock } from './role-lock.ts';

export interface Membership {
  /** Holds the shared lock for as long as it is connected. */
  readonly client: Client;
  readonly location: DataLocation;
  readonly endpoint: Endpoint;
  readonly adopted: boolean;
}

export interface JoinOptions {
  /** A real path. */
  readonly dataDir: string;
  readonly transport: Transport;
  readonly durable: boolean;
  readonly notify: Notify;
  /** The port from the first join, when this process joins again. */
  readonly port: number | undefined;
}

const MEMBER = { key: 1, name: 'dragoman-member' } as const;

/** A live postmaster that rejects connections for longer than this does not recover by itself. */
const UNREACHABLE_TIMEOUT_MS = 5_000;
/** After the crash of one of its processes PostgreSQL recovers first; see START_TIMEOUT_MS of the postmaster. */
const RECOVERY_TIMEOUT_MS = 600_000;
const RETRY_MS = 50;

/** SQLSTATE cannot_connect_now: starting, stopping or recovering. */
const CANNOT_CONNECT_NOW = '57P03';
const DISCONNECTED = ['57P01', '57P02', 'ECONNRESET', 'ECONNREFUSED', 'EPIPE'];

/** Finds or starts the postmaster and becomes a member. Starts over if the postmaster stops meanwhile. */
export async function joinServer(options: JoinOptions): Promise<Membership> {
  const startedAt = Date.now();
  for (;;) {
    let running: Postmaster | undefined;
    try {
      return await withLock(filesIn(options.dataDir).lock, options.notify, async () => {
        const location = await openDataLocation(options.dataDir, options.notify);
        running = await findReadyPostmaster(location.cluster);
        return running === undefined
          ? await startAndJoin(location, options)
          : await joinRunning(location, running, options, true);
      });
    } catch (error) {
      const retryMs = retryTimeMs(error);
      if (retryMs === 0) throw error;
      if (Date.now() - startedAt > retryMs) throw running === undefined ? error : notResponding(running);
      await sleep(RETRY_MS);
    }
  }
}

/**
 * Ends the membership and stops the postmaster after the last one. `client` is undefined when its connection is lost.
 */
export async function leaveServer(membership: Membership, client: Client | undefined, notify: Notify): Promise<void> {
  const leave = async () => {
    try {
      await leaveBy(membership, client ?? (await reopen(membership)));
    } catch (error) {
      // The connection was broken. The postmaster may be running, and this process may be the last member.
      if (retryTimeMs(error) === 0) throw error;
      await leaveBy(membership, await reopen(membership));
    }
  };
  try {
    await withLock(membership.location.lock, notify, leave);
  } catch (error) {
    // The data directory was deleted: no lock is possible, and no other process can start there.
    if (codeOf(error) !== 'ENOENT') throw error;
    await leave();
  }
}

async function leaveBy(membership: Membership, session: Client | undefined): Promise<void> {
  if (session === undefined) return;
  const { location } = membership;
  try {
    const postmaster = await findPostmaster(location.cluster);
    if (postmaster === undefined || !(await isLast(session))) return;
    const binaries =
      process.platform === 'win32' ? await prepareBinaries(location.directory, location.osUser) : undefined;
    await stopPostmaster(location, binaries, postmaster);
  } finally {
    await session.end().catch(() => undefined);
  }
}

async function reopen(membership: Membership): Promise<Client | undefined> {
  if ((await findReadyPostmaster(membership.location.cluster)) === undefined) return undefined;
  return openSession(membership.endpoint).catch(() => undefined);
}

async function startAndJoin(location: DataLocation, options: JoinOptions): Promise<Membership> {
  const binaries = await prepareBinaries(location.directory, location.osUser);
  await prepareCluster(location, binaries, options);
  const started = await startPostmaster(location, binaries, options);
  try {
    return await joinRunning(location, started, options, false);
  } catch (error) {
    await stopPostmaster(location, binaries, started).catch(() => undefined);
    throw error;
  }
}

async function joinRunning(
  location: DataLocation,
  postmaster: Postmaster,
  options: JoinOptions,
  adopted: boolean,
): Promise<Membership> {
  const host = postmaster.socketDirectory === '' ? '127.0.0.1' : postmaster.socketDirectory;
  const endpoint = { host, port: postmaster.port, password: await passwordOf(location, options.transport) };
  const client = await openSession(endpoint);
  try {
    // Waits only for a last member that is stopping the postmaster. The query then fails and joining starts over.
    await client.query('select pg_advisory_lock_shared($1, $2)', [ADVISORY_LOCK, MEMBER.key]);
    await ensureDatabase(client, endpoint.password);
    return { client, location: location, endpoint, adopted };
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

const openSession = (endpoint: Endpoint): Promise<Client> =>
  connectEmbedded(urlOf(endpoint, LAUNCHER_ROLE, LAUNCHER_DATABASE), holderName(MEMBER));

async function isLast(client: Client): Promise<boolean> {
  await client.query('select pg_advisory_unlock_all()');
  return (await tryRoleLock(client, MEMBER)) === undefined;
}

/** How long to retry after this error; 0 for a permanent one. */
function retryTimeMs(error: unknown): number {
  const code = codeOf(error) ?? '';
  if (code === CANNOT_CONNECT_NOW) return RECOVERY_TIMEOUT_MS;
  if (!(error instanceof Error)) return 0;
  const isSocketMissing = code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect';
  // pg sets no code when the connection is closed before or during a query.
  const isClosed = /^Connection terminated|Client has encountered a connection error|Client was closed/.test(
    error.message,
  );
  return DISCONNECTED.includes(code) || isSocketMissing || isClosed ? UNREACHABLE_TIMEOUT_MS : 0;
}

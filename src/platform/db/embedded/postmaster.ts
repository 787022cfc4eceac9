/**
 * The postmaster, the main process of a PostgreSQL server: finds it by postmaster.pid of the cluster, starts it so that
 * it outlives this process, and stops it. Never decides whether it should run, and never signals a process that is not
 * the postmaster of the cluster.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, constants, fchownSync, fstatSync, openSync, renameSync, statSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, isProcessAlive } from '../../../core/index.ts';
import { accessSettings } from './access-rules.ts';
import type { Binaries } from './binaries.ts';
import type { DataLocation, Notify } from './data-location.ts';
import type { Transport } from './endpoint.ts';
import { EmbeddedUnavailable, embeddedFailure, readLogSince } from './failure.ts';
import { cleanEnvironment, commandOf, readIfExists, runProgram } from './process.ts';
import { openSocketDir, removeSocketDir, SOCKET_PORT } from './socket-dir.ts';

export interface Postmaster {
  readonly pid: number;
  /** As written by the postmaster. */
  readonly dataDirectory: string;
  readonly port: number;
  /** Empty when it listens on loopback instead. */
  readonly socketDirectory: string;
  readonly status: string;
}

export interface StartOptions {
  readonly transport: Transport;
  readonly durable: boolean;
  /** The port to reuse, so that existing connection strings stay valid. */
  readonly port: number | undefined;
  readonly notify: Notify;
}

/** A warm start takes about 70 ms; a longer interval would dominate the wait. */
const POLL_MS = 10;
/** Only recovery after a crash takes longer than this. */
const NOTIFY_AFTER_MS = 3_000;
/** Recovery replays at most max_wal_size (1 GB), which a slow disk does in minutes. */
const START_TIMEOUT_MS = 600_000;
/** Children of a killed postmaster end when they notice its death; until then PostgreSQL does not start. */
const ORPHAN_TIMEOUT_MS = 5_000;
/**
 * The shutdown checkpoint writes at most shared_buffers. If it takes longer the disk hangs, and the next start recovers
 * instead.
 */
const STOP_TIMEOUT_MS = 60_000;
/** PostgreSQL fills the file as soon as it creates it; an empty one this old was left by a crash of the machine. */
const EMPTY_IS_STALE_AFTER_MS = 2_000;
/** Only starts, stops and crashes are logged: this much means years or a crash loop. */
const LOG_LIMIT_BYTES = 5_000_000;

/** The postmaster that runs on the cluster; undefined also when the process in the file is gone or another program. */
export async function findPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const written = await readPidFile(cluster);
  return written !== undefined && (await isRunning(written, cluster)) ? written : undefined;
}

/** Waits for a start or stop in progress. The result accepts connections. */
export async function findReadyPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const found = await findPostmaster(cluster);
    if (found === undefined || found.status === 'ready') return found;
    if (Date.now() > deadline) throw notResponding(found);
    await sleep(POLL_MS);
  }
}

export async function startPostmaster(
  location: DataLocation,
  binaries: Binaries,
  options: StartOptions,
): Promise<Postmaster> {
  const orphansUntil = Date.now() + ORPHAN_TIMEOUT_MS;
  for (;;) {
    const stale = await staleOwner(location.cluster);
    const socketDirectory =
      options.transport === 'socket' ? await openSocketDir(location.cluster, location.osUser, stale) : undefined;
    const access = socketDirectory === undefined ? [] : await accessSettings(location);
    const settings = [...(await settingsFor(socketDirectory, options)), ...access];
    const offset = rotateLog(location.log);
    const start = process.platform === 'win32' ? startWithControl : startDirectly;
    const error = await start({ location, binaries, settings, stale, notify: options.notify });
    // If this one did not start, another one whose starter was killed may be running, which is as good.
    const running = await findReadyPostmaster(location.cluster);
    if (running !== undefined) return running;
    const evidence = `${error ?? ''}\n${readLogSince(location.log, offset)}`;
    const hasOrphans = evidence.includes('pre-existing shared memory block');
    if (!hasOrphans || Date.now() > orphansUntil) {
      if (socketDirectory !== undefined) await removeSocketDir(socketDirectory);
      throw embeddedFailure('PostgreSQL did not start', { evidence, log: location.log });
    }
    await sleep(POLL_MS * 10);
  }
}

/** Returns when all processes of the cluster have ended: the postmaster waits for its children. */
export async function stopPostmaster(
  location: DataLocation,
  binaries: Binaries | undefined,
  postmaster: Postmaster,
): Promise<void> {
  if (process.platform === 'win32' && binaries !== undefined) {
    await runProgram(binaries.pgCtl, ['stop', '-D', location.cluster, '-m', 'fast', '-w'], {
      cwd: location.cluster,
      osUser: undefined,
    });
  } else {
    signal(postmaster, 'SIGINT'); // fast shutdown: ends sessions and writes a checkpoint
    if (!(await hasEnded(postmaster, STOP_TIMEOUT_MS))) {
      signal(postmaster, 'SIGQUIT'); // immediate shutdown: commits are safe, the next start recovers
      await hasEnded(postmaster, STOP_TIMEOUT_MS);
    }
  }
  if (postmaster.socketDirectory !== '') await removeSocketDir(postmaster.socketDirectory);
}

export const notResponding = (postmaster: Postmaster): EmbeddedUnavailable =>
  new EmbeddedUnavailable(
    `PostgreSQL runs on ${postmaster.dataDirectory} as process ${postmaster.pid} but does not respond. ` +
      `Stop it with kill -INT ${postmaster.pid} and start again.`,
  );

async function readPidFile(cluster: string): Promise<Postmaster | undefined> {
  const text = await readIfExists(join(cluster, 'postmaster.pid'));
  if (text === undefined) return undefined;
  // pid, data directory, start time, port, socket folder, address, shared memory key, status
  const lines = text.split('\n').map((line) => line.trim());
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return {
    pid,
    dataDirectory: lines[1] ?? '',
    port: Number(lines[3] ?? 0),
    socketDirectory: lines[4] ?? '',
    status: lines[7] ?? '',
  };
}

/** After a reboot, or in a new container, the process id in the file may belong to any other process. */
async function isRunning(written: Postmaster, cluster: string): Promise<boolean> {
  if (!isProcessAlive(written.pid) || (await isCopied(written, cluster))) return false;
  const command = await commandOf(written.pid);
  if (command === undefined) return isProcessAlive(written.pid);
  return command.includes(process.platform === 'win32' ? 'postgres' : `-D ${written.dataDirectory}`);
}

/**
 * A folder that was copied while its database ran has the file too; the process belongs to the folder that the file
 * names.
 */
async function isCopied({ dataDirectory }: Postmaster, cluster: string): Promise<boolean> {
  const [named, own] = await Promise.all([dataDirectory, cluster].map((path) => stat(path).catch(() => undefined)));
  return named !== undefined && own !== undefined && (named.ino !== own.ino || named.dev !== own.dev);
}

interface Start {
  readonly location: DataLocation;
  readonly binaries: Binaries;
  readonly settings: readonly string[];
  /** Process id in the postmaster.pid of a postmaster that is gone. */
  readonly stale: number | undefined;
  readonly notify: Notify;
}

/** Returns undefined when the postmaster is ready, otherwise the error. */
async function startDirectly({ location, binaries, settings, stale, notify }: Start): Promise<string | undefined> {
  const log = openLog(location);
  let child: ChildProcess;
  try {
    child = spawn(binaries.postgres, ['-D', location.cluster, ...settings.flatMap((setting) => ['-c', setting])], {
      cwd: location.cluster,
      env: cleanEnvironment(stale === undefined ? {} : { PG_GRANDPARENT_PID: String(stale) }),
      stdio: ['ignore', log, log],
      // A separate session: Ctrl-C in a terminal reaches only this process, which stops PostgreSQL after its last
      // query.
      detached: true,
      ...location.osUser,
    });
  } finally {
    closeSync(log);
  }
  child.unref();
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(String(error)));
    child.once('exit', (code, by) => resolve(`It ended with ${by ?? `code ${code}`}.`));
  });
  return Promise.race([ended, untilReady(location.cluster, child, notify)]);
}

async function untilReady(cluster: string, child: ChildProcess, notify: Notify): Promise<string | undefined> {
  const startedAt = Date.now();
  let isNotified = false;
  while (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const written = await readPidFile(cluster);
    if (written?.pid === child.pid && written.status === 'ready') return undefined;
    const waitedMs = Date.now() - startedAt;
    if (waitedMs > START_TIMEOUT_MS) return `It was not ready after ${START_TIMEOUT_MS / 60_000} minutes.`;
    if (waitedMs > NOTIFY_AFTER_MS && !isNotified) {
      isNotified = true;
      notify('PostgreSQL is still starting: after a crash it first replays its write-ahead log.');
    }
    await sleep(POLL_MS);
  }
  // The exit event has the reason and settles the race.
  return new Promise(() => undefined);
}

/** Windows: PostgreSQL does not run with administrator rights, and only pg_ctl can drop them. */
async function startWithControl({ location, binaries, settings }: Start): Promise<string | undefined> {
  const passed = settings.map((setting) => `-c ${setting}`).join(' ');
  const args = ['start', '-w', '-D', location.cluster, '-l', location.log, '-o', passed];
  const ran = await runProgram(binaries.pgCtl, args, { cwd: location.cluster, osUser: undefined });
  return ran.ok ? undefined : ran.output;
}

/** Settings that override postgresql.conf. Tunable ones are written there by initdb. */
async function settingsFor(socketDirectory: string | undefined, options: StartOptions): Promise<string[]> {
  const address =
    socketDirectory === undefined
      ? ['listen_addresses=127.0.0.1', `port=${options.port ?? (await freePort())}`, 'unix_socket_directories=']
      : ['listen_addresses=', `port=${SOCKET_PORT}`, `unix_socket_directories=${quoteForList(socketDirectory)}`];
  return [...address, ...PRIVACY, ...(options.durable ? [] : NOT_DURABLE)];
}

/**
 * Data of callers must not reach the log, and messages of failed statements quote values. The gateway gets those errors
 * anyway, so the log keeps only events of the server (LOG, FATAL, PANIC), without details.
 */
const PRIVACY: readonly string[] = [
  'logging_collector=off',
  'log_destination=stderr',
  'log_min_messages=log',
  'log_error_verbosity=terse',
  'log_min_error_statement=panic',
  'log_statement=none',
  'log_min_duration_statement=-1',
  'log_parameter_max_length=0',
  'log_parameter_max_length_on_error=0',
  'log_lock_waits=off',
  'log_checkpoints=off',
];

/** Databases of tests are small and live for seconds, so that vacuum and a full log only cost time. */
const NOT_DURABLE: readonly string[] = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'autovacuum=off',
];

const quoteForList = (path: string): string => `"${path.replaceAll('"', '""')}"`;

async function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const server = createServer();
  server.once('error', reject);
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
  });
  return promise;
}

/**
 * The process id in a postmaster.pid whose postmaster is gone. PostgreSQL does not start when another process has that
 * id now. But it ignores the id of its grandparent, which PG_GRANDPARENT_PID sets. Unlike deleting the file, this keeps
 * PostgreSQL's check for surviving children.
 */
async function staleOwner(cluster: string): Promise<number | undefined> {
  const written = await readPidFile(cluster);
  if (written !== undefined) return (await isRunning(written, cluster)) ? undefined : written.pid;
  const path = join(cluster, 'postmaster.pid');
  const entry = await stat(path).catch(() => undefined);
  // PostgreSQL does not start with an empty file and asks the operator to remove it.
  if (entry !== undefined && Date.now() - entry.mtimeMs > EMPTY_IS_STALE_AFTER_MS) await rm(path, { force: true });
  return undefined;
}

function openLog(location: DataLocation): number {
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
  const { osUser } = location;
  const log = openSync(location.log, O_APPEND | O_CREAT | O_WRONLY | (O_NOFOLLOW ?? 0), 0o600);
  // A new log is of the owner of the cluster, who may start it next time without root.
  if (osUser !== undefined && fstatSync(log).size === 0) fchownSync(log, osUser.uid, osUser.gid);
  return log;
}

function rotateLog(path: string): number {
  try {
    const { size } = statSync(path);
    if (size < LOG_LIMIT_BYTES) return size;
    renameSync(path, `${path}.old`);
  } catch {
    // There is no log yet.
  }
  return 0;
}

function signal(postmaster: Postmaster, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(postmaster.pid, name);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

async function hasEnded(postmaster: Postmaster, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (isProcessAlive(postmaster.pid)) {
    if (Date.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/**
 * One running PostgreSQL server process: finding it through the cluster's postmaster.pid, starting it so that it
 * outlives us, stopping it and waiting for its end.
 * Never decides whether it should run, and never signals a process that is not the postmaster of the cluster.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, constants, fchownSync, fstatSync, openSync, renameSync, statSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Binaries } from './binaries.ts';
import type { DataLocation, Notify } from './data-location.ts';
import type { Transport } from './endpoint.ts';
import { EmbeddedUnavailable, failed, logSince } from './failure.ts';
import type { OsUser } from './os-user.ts';
import { cleanEnvironment, commandOf, errorCode, isAlive, runToEnd } from './process.ts';
import { openSocketDir, removeSocketDir, SOCKET_PORT } from './socket-dir.ts';

export interface Postmaster {
  readonly pid: number;
  /** As the postmaster itself spells it. */
  readonly dataDirectory: string;
  readonly port: number;
  /** Empty when it listens on loopback instead. */
  readonly socketDirectory: string;
  readonly status: string;
}

export interface StartOptions {
  readonly transport: Transport;
  readonly durable: boolean;
  /** Where it listened before, so that connection strings handed out stay true. */
  readonly port: number | null;
  readonly say: Notify;
}

/** A warm start takes about 70 ms, so looking more rarely would be most of the wait. */
const LOOK_EVERY_MS = 10;
/** Only recovery after a crash takes longer than this. */
const SAY_AFTER_MS = 3_000;
/** Recovery replays at most max_wal_size (1 GB), which a slow disk does in minutes. */
const START_PATIENCE_MS = 600_000;
/** Children of a killed postmaster end when they notice its death; PostgreSQL refuses to start until then. */
const ORPHAN_PATIENCE_MS = 5_000;
/** The shutdown checkpoint writes at most shared_buffers; after this the disk hangs and recovery must do instead. */
const STOP_PATIENCE_MS = 60_000;
/** PostgreSQL fills the file at once after making it; an empty one this old was left by a crash of the machine. */
const EMPTY_IS_STALE_AFTER_MS = 2_000;
/** Logged are only starts, stops and crashes: this much means years or a crash loop. */
const LOG_LIMIT_BYTES = 5_000_000;

/** What runs on the cluster now; null also for a file whose process is gone or is something else by now. */
export async function findPostmaster(cluster: string): Promise<Postmaster | null> {
  const written = await readPidFile(cluster);
  return written !== null && (await isRunning(written)) ? written : null;
}

/** Waits out a start or a stop that is under way; the answer is ready to connect to. */
export async function findSettledPostmaster(cluster: string): Promise<Postmaster | null> {
  const patience = Date.now() + START_PATIENCE_MS;
  for (;;) {
    const found = await findPostmaster(cluster);
    if (found === null || found.status === 'ready') return found;
    if (Date.now() > patience) throw silent(found);
    await sleep(LOOK_EVERY_MS);
  }
}

export async function startPostmaster(
  home: DataLocation,
  binaries: Binaries,
  options: StartOptions,
): Promise<Postmaster> {
  const orphansUntil = Date.now() + ORPHAN_PATIENCE_MS;
  for (;;) {
    const stale = await staleOwner(home.cluster);
    const socketDirectory =
      options.transport === 'socket' ? await openSocketDir(home.cluster, home.account, stale) : null;
    const settings = await settingsFor(socketDirectory, options);
    const offset = rotateLog(home.log);
    const start = process.platform === 'win32' ? startWithControl : startDirectly;
    const trouble = await start(home, binaries, settings, stale, options.say);
    // If ours did not start, one that a killed starter had launched may have been quicker: it is as good.
    const running = await findSettledPostmaster(home.cluster);
    if (running !== null) return running;
    const evidence = `${trouble ?? ''}\n${logSince(home.log, offset)}`;
    const orphans = evidence.includes('pre-existing shared memory block');
    if (!orphans || Date.now() > orphansUntil) {
      if (socketDirectory !== null) await removeSocketDir(socketDirectory);
      throw failed('PostgreSQL did not start', evidence, home.log);
    }
    await sleep(LOOK_EVERY_MS * 10);
  }
}

/** Returns when the process is gone and with it, since it waits for its children, every process of the cluster. */
export async function stopPostmaster(
  home: DataLocation,
  binaries: Binaries | null,
  postmaster: Postmaster,
): Promise<void> {
  if (process.platform === 'win32' && binaries !== null) {
    await runToEnd(binaries.pgCtl, ['stop', '-D', home.cluster, '-m', 'fast', '-w'], {
      cwd: home.cluster,
      account: null,
    });
  } else {
    signal(postmaster, 'SIGINT'); // fast: sessions are ended, everything is written
    if (!(await isGone(postmaster, STOP_PATIENCE_MS))) {
      signal(postmaster, 'SIGQUIT'); // immediate: nothing acknowledged is lost, the next start recovers
      await isGone(postmaster, STOP_PATIENCE_MS);
    }
  }
  if (postmaster.socketDirectory !== '') await removeSocketDir(postmaster.socketDirectory);
}

export function silent(postmaster: Postmaster): EmbeddedUnavailable {
  return new EmbeddedUnavailable(
    `PostgreSQL runs on ${postmaster.dataDirectory} as process ${postmaster.pid} but does not answer. ` +
      `Stop it with kill -INT ${postmaster.pid} and start again.`,
  );
}

async function readPidFile(cluster: string): Promise<Postmaster | null> {
  let text: string;
  try {
    text = await readFile(join(cluster, 'postmaster.pid'), 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
  // pid, data directory, start time, port, socket folder, address, shared memory key, status
  const lines = text.split('\n').map((line) => line.trim());
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return null;
  return {
    pid,
    dataDirectory: lines[1] ?? '',
    port: Number(lines[3] ?? 0),
    socketDirectory: lines[4] ?? '',
    status: lines[7] ?? '',
  };
}

/** After a reboot, or in a fresh container, the number in the file may belong to any other process. */
async function isRunning(written: Postmaster): Promise<boolean> {
  if (!isAlive(written.pid)) return false;
  const command = await commandOf(written.pid);
  if (command === null) return isAlive(written.pid);
  return command.includes(process.platform === 'win32' ? 'postgres' : `-D ${written.dataDirectory}`);
}

/** Null when it is ready, otherwise what went wrong. */
async function startDirectly(
  home: DataLocation,
  binaries: Binaries,
  settings: string[],
  stale: number | null,
  say: Notify,
): Promise<string | null> {
  const log = openLog(home);
  let child: ChildProcess;
  try {
    child = spawn(binaries.postgres, ['-D', home.cluster, ...settings.flatMap((setting) => ['-c', setting])], {
      cwd: home.cluster,
      env: cleanEnvironment(stale === null ? {} : { PG_GRANDPARENT_PID: String(stale) }),
      stdio: ['ignore', log, log],
      // A session of its own: Ctrl-C in a terminal reaches us, and we stop PostgreSQL after our last query.
      detached: true,
      ...(home.account ?? {}),
    });
  } finally {
    closeSync(log);
  }
  child.unref();
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(String(error)));
    child.once('exit', (code, by) => resolve(`It ended with ${by ?? `code ${code}`}.`));
  });
  return Promise.race([ended, untilReady(home.cluster, child, say)]);
}

async function untilReady(cluster: string, child: ChildProcess, say: Notify): Promise<string | null> {
  const begun = Date.now();
  let said = false;
  while (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const written = await readPidFile(cluster);
    if (written?.pid === child.pid && written.status === 'ready') return null;
    const waited = Date.now() - begun;
    if (waited > START_PATIENCE_MS) return `It was not ready after ${START_PATIENCE_MS / 60_000} minutes.`;
    if (waited > SAY_AFTER_MS && !said) {
      said = true;
      say('PostgreSQL is still starting: after a crash it first replays what was written last.');
    }
    await sleep(LOOK_EVERY_MS);
  }
  // The exit event carries the reason and has won the race, or is about to.
  return new Promise(() => undefined);
}

/** Windows: only pg_ctl can drop an administrator's rights, which PostgreSQL refuses to run with. */
async function startWithControl(home: DataLocation, binaries: Binaries, settings: string[]): Promise<string | null> {
  const passed = settings.map((setting) => `-c ${setting}`).join(' ');
  const args = ['start', '-w', '-D', home.cluster, '-l', home.log, '-o', passed];
  const ran = await runToEnd(binaries.pgCtl, args, { cwd: home.cluster, account: null });
  return ran.ok ? null : ran.output;
}

/** What must hold whatever the cluster's own configuration says; tunable numbers are written there by initdb. */
async function settingsFor(socketDirectory: string | null, options: StartOptions): Promise<string[]> {
  const where =
    socketDirectory === null
      ? ['listen_addresses=127.0.0.1', `port=${options.port ?? (await freePort())}`, 'unix_socket_directories=']
      : ['listen_addresses=', `port=${SOCKET_PORT}`, `unix_socket_directories=${quotedForList(socketDirectory)}`];
  return [...where, ...PRIVACY, ...(options.durable ? [] : UNSAFE_BUT_QUICK)];
}

/**
 * Callers' data must not reach the log. Statements that fail are reported to the gateway anyway, and their messages and
 * details quote values; so the log keeps only the server's own life (LOG, FATAL, PANIC), without details.
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

const UNSAFE_BUT_QUICK: readonly string[] = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

function quotedForList(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}

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
 * The number in a postmaster.pid whose postmaster is gone. If it belongs to some other process by now, PostgreSQL would
 * refuse to start; but it takes its grandparent's number for stale, and lets the environment say which that is. Unlike
 * deleting the file, this leaves PostgreSQL's own check for surviving children in force.
 */
async function staleOwner(cluster: string): Promise<number | null> {
  const written = await readPidFile(cluster);
  if (written !== null) return (await isRunning(written)) ? null : written.pid;
  const path = join(cluster, 'postmaster.pid');
  const entry = await stat(path).catch(() => null);
  // Without a number there is nothing to check, and PostgreSQL asks for the file to be removed by hand.
  if (entry !== null && Date.now() - entry.mtimeMs > EMPTY_IS_STALE_AFTER_MS) await rm(path, { force: true });
  return null;
}

function openLog(home: DataLocation): number {
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
  const log = openSync(home.log, O_APPEND | O_CREAT | O_WRONLY | (O_NOFOLLOW ?? 0), 0o600);
  giveNewFile(log, home.account);
  return log;
}

/** So that the owner of the cluster can start it as well, when root did it first. */
function giveNewFile(file: number, account: OsUser | null): void {
  if (account !== null && fstatSync(file).size === 0) fchownSync(file, account.uid, account.gid);
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
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

async function isGone(postmaster: Postmaster, patience: number): Promise<boolean> {
  const until = Date.now() + patience;
  while (isAlive(postmaster.pid)) {
    if (Date.now() > until) return false;
    await sleep(LOOK_EVERY_MS);
  }
  return true;
}

/**
 * Fixtures for tests of the embedded PostgreSQL: temporary folders, queries, members in separate processes.
 * Run as a program, it is such a member: it joins, prints the result, and executes one command per line of its input.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { isProcessAlive } from '../../src/core/index.ts';
import { COPY_PREFIX } from '../../src/platform/db/embedded/binaries.ts';
import type { Transport } from '../../src/platform/db/embedded/endpoint.ts';
import { claimServer, type EmbeddedOptions, joinOver } from '../../src/platform/db/embedded/index.ts';
import { canRead, type OsUser } from '../../src/platform/db/embedded/os-user.ts';

export const isRoot = process.geteuid?.() === 0;
export const NOBODY: OsUser = { uid: 65_534, gid: 65_534 };

export interface MemberMessage {
  readonly url: string;
  readonly adopted: boolean;
  readonly directory: string;
  readonly error?: string;
  readonly claimed?: boolean;
  readonly takenBy?: number;
  readonly left?: boolean;
}

/** A temporary folder that other users may pass through. */
export async function createFolder(owner?: OsUser): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'dragoman-test-')));
  await chmod(folder, 0o711);
  if (owner) await chown(folder, owner.uid, owner.gid);
  return folder;
}

/** Removes the folder of a test, and the folder of a cluster that is kept elsewhere. */
export async function removeFolder(folder: string, cluster = ''): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  if (cluster !== '' && !cluster.startsWith(folder)) await rm(dirname(cluster), { recursive: true, force: true });
}

export async function createClosedFolder(inside: string): Promise<string> {
  const closed = join(inside, 'closed');
  await mkdir(closed, { mode: 0o700 });
  return closed;
}

/**
 * The files in a data directory. Leaves out the binaries that are copied there when PostgreSQL cannot read
 * node_modules.
 */
export const dataFiles = (dataDir: string): string[] =>
  readdirSync(dataDir)
    .filter((name) => !name.startsWith(COPY_PREFIX))
    .sort();

export async function queryValue(url: string, statement: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query({ text: statement, rowMode: 'array' });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}

export async function postmasterPid(cluster: string): Promise<number> {
  return Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

/**
 * The process ids of the postmaster and its children. Call it while they run: command lines of children do not name the
 * cluster.
 */
export function familyOf(pid: number): number[] {
  if (process.platform !== 'linux') return [pid];
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
  return [pid, ...children.map(Number)];
}

export const survivors = (family: readonly number[]): number[] => family.filter(isProcessAlive);

export async function canRunAsNobody(): Promise<boolean> {
  const needed = [fileURLToPath(import.meta.url), process.execPath];
  const isReadable = await Promise.all(needed.map((file) => canRead(file, NOBODY)));
  return isReadable.every(Boolean);
}

/** A member in a separate process. */
export class Member {
  readonly process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(options: EmbeddedOptions & { transport?: Transport }, osUser?: OsUser) {
    this.process = spawn(process.execPath, [fileURLToPath(import.meta.url), JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      cwd: '/',
      ...osUser,
    });
    const output = this.process.stdout;
    if (output === null) throw new Error('the member has no stdout');
    this.#lines = createInterface({ input: output })[Symbol.asyncIterator]();
  }

  async read(): Promise<MemberMessage> {
    const line = await this.#lines.next();
    if (line.done) throw new Error('the member ended without a message');
    return JSON.parse(line.value);
  }

  async command(name: 'claim' | 'leave'): Promise<MemberMessage> {
    this.process.stdin?.write(`${name}\n`);
    return this.read();
  }

  async kill(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGKILL');
    await ended;
  }
}

/** 0 when the process is gone. */
export function parentOf(pid: string): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}

async function runMember(options: EmbeddedOptions & { transport?: Transport }, commands: Interface): Promise<void> {
  const print = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);
  const embedded = await joinOver(options.transport ?? 'socket', options);
  print(embedded);
  for await (const command of commands) {
    if (command === 'claim') {
      const claim = await claimServer(embedded.url);
      print('takenBy' in claim ? claim : { claimed: true });
    }
    if (command === 'leave') {
      await embedded.leave();
      print({ left: true });
      process.exit(0);
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const commands = createInterface({ input: process.stdin });
  runMember(JSON.parse(process.argv[2] ?? '{}'), commands).catch((error) => {
    process.stdout.write(`${JSON.stringify({ error: String(error) })}\n`);
    process.exit(1);
  });
}

/**
 * What the tests of this folder share: temporary folders, questions to a database, members in their own processes.
 * Run as a program it is such a member: it joins, prints what it got, and obeys one word per line on its input.
 * Used by tests only.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import type { Transport } from '../../src/db/embedded/endpoint.ts';
import { claimServer, type EmbeddedOptions, joinOver } from '../../src/db/embedded/index.ts';
import { canRead, type OsUser } from '../../src/db/embedded/os-user.ts';
import { isAlive } from '../../src/db/embedded/process.ts';

export const isRoot = process.geteuid?.() === 0;
export const NOBODY: OsUser = { uid: 65_534, gid: 65_534 };

export interface Answer {
  readonly url: string;
  readonly adopted: boolean;
  readonly directory: string;
  readonly error?: string;
  readonly claimed?: boolean;
  readonly takenBy?: number;
  readonly left?: boolean;
}

/** Others may pass through it, as through most folders; `owner` makes it somebody's own. */
export async function makeFolder(owner: OsUser | null = null): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'dragoman-test-')));
  await chmod(folder, 0o711);
  if (owner !== null) await chown(folder, owner.uid, owner.gid);
  return folder;
}

/** Removes a test's folder and, where the cluster had to be kept elsewhere, that folder too. */
export async function removeFolder(folder: string, cluster = ''): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  if (cluster !== '' && !cluster.startsWith(folder)) await rm(dirname(cluster), { recursive: true, force: true });
}

export async function makeClosedFolder(inside: string): Promise<string> {
  const closed = join(inside, 'closed');
  await mkdir(closed, { mode: 0o700 });
  return closed;
}

export async function ask(url: string, statement: string): Promise<unknown> {
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

/** The postmaster and its children; their command lines do not name the cluster, so this is asked while it runs. */
export function familyOf(pid: number): number[] {
  if (process.platform !== 'linux') return [pid];
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
  return [pid, ...children.map(Number)];
}

export function survivors(family: readonly number[]): number[] {
  return family.filter((pid) => isAlive(pid));
}

export async function canRunAsNobody(): Promise<boolean> {
  const needed = [fileURLToPath(import.meta.url), process.execPath];
  const answers = await Promise.all(needed.map((file) => canRead(file, NOBODY)));
  return answers.every(Boolean);
}

/** A member in a process of its own. */
export class Member {
  readonly process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(options: EmbeddedOptions & { transport?: Transport }, account: OsUser | null = null) {
    this.process = spawn(process.execPath, [fileURLToPath(import.meta.url), JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      cwd: '/',
      ...(account ?? {}),
    });
    const output = this.process.stdout;
    if (output === null) throw new Error('no output to read');
    this.#lines = createInterface({ input: output })[Symbol.asyncIterator]();
  }

  async answer(): Promise<Answer> {
    const line = await this.#lines.next();
    if (line.done) throw new Error('the member ended without an answer');
    return JSON.parse(line.value);
  }

  async tell(word: 'claim' | 'leave'): Promise<Answer> {
    this.process.stdin?.write(`${word}\n`);
    return this.answer();
  }

  async kill(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGKILL');
    await ended;
  }
}

function parentOf(pid: string): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}

async function beMember(options: EmbeddedOptions & { transport?: Transport }, orders: Interface): Promise<void> {
  const print = (answer: object) => process.stdout.write(`${JSON.stringify(answer)}\n`);
  const embedded = await joinOver(options.transport ?? 'socket', options);
  print(embedded);
  for await (const order of orders) {
    if (order === 'claim') {
      const claim = await claimServer(embedded.url);
      print('takenBy' in claim ? claim : { claimed: true });
    }
    if (order === 'leave') {
      await embedded.leave();
      print({ left: true });
      process.exit(0);
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const orders = createInterface({ input: process.stdin });
  beMember(JSON.parse(process.argv[2] ?? '{}'), orders).catch((error) => {
    process.stdout.write(`${JSON.stringify({ error: String(error) })}\n`);
    process.exit(1);
  });
}

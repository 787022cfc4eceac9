/**
 * Questions about operating-system processes (alive? the same one? which command?) and running one to its end.
 * Never signals a process and knows nothing about PostgreSQL.
 */
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { OsUser } from './os-user.ts';

const execute = promisify(execFile);

/** A zombie counts as gone: in a container whose first process is Node, nobody collects adopted children. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM' && !isZombie(pid);
  }
  return !isZombie(pid);
}

/** Tells two processes that had the same number apart; null where the system does not say. */
export function startTimeOf(pid: number): string | null {
  const started = linuxStat(pid)?.[19]; // field 22 of proc(5), counted after the pid and the name
  if (started === undefined) return null;
  return `${readOrNull('/proc/sys/kernel/random/boot_id')?.trim() ?? ''}/${started}`;
}

/** The command line, or null when it cannot be known. */
export async function commandOf(pid: number): Promise<string | null> {
  if (process.platform === 'linux') return readOrNull(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ') ?? null;
  const [program, ...args] =
    process.platform === 'win32'
      ? ['tasklist', '/FI', `PID eq ${pid}`, '/FO', 'CSV', '/NH']
      : ['ps', '-ww', '-o', 'command=', '-p', String(pid)];
  try {
    return (await execute(program ?? '', args)).stdout;
  } catch {
    return null;
  }
}

/**
 * PostgreSQL gets only what it needs: our own environment holds secrets, and PG* or LC_* variables of the shell would
 * change how it starts. TZ saves initdb from guessing the zone by comparing hundreds of files.
 */
export function cleanEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = ['PATH', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'SYSTEMROOT', 'ComSpec', 'LD_LIBRARY_PATH'];
  const environment: NodeJS.ProcessEnv = { LC_ALL: 'C', TZ: 'UTC', ...extra };
  for (const name of kept) if (process.env[name] !== undefined) environment[name] = process.env[name];
  return environment;
}

export async function runToEnd(
  program: string,
  args: readonly string[],
  options: { cwd: string; account: OsUser | null },
): Promise<{ ok: boolean; output: string }> {
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
    ...(options.account ?? {}),
  });
  let output = '';
  const collect = (chunk: Buffer) => {
    output += chunk.toString('utf8');
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once('error', reject);
  child.once('close', resolve);
  return { ok: (await promise) === 0, output };
}

export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function isZombie(pid: number): boolean {
  return linuxStat(pid)?.[0] === 'Z';
}

/** The fields after the name; the name itself may contain spaces and brackets. */
function linuxStat(pid: number): string[] | null {
  if (process.platform !== 'linux') return null;
  const text = readOrNull(`/proc/${pid}/stat`);
  return text === null ? null : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

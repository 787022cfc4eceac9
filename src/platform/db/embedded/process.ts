/**
 * Child processes and command lines of the operating system. Never signals a process and knows nothing about
 * PostgreSQL.
 */
import { execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { codeOf } from '../../../core/index.ts';
import type { OsUser } from './os-user.ts';

const execute = promisify(execFile);

/** The command line of a process; undefined when it cannot be read. */
export async function commandOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
    return text?.replaceAll('\0', ' ');
  }
  const [program, ...args] =
    process.platform === 'win32'
      ? ['tasklist', '/FI', `PID eq ${pid}`, '/FO', 'CSV', '/NH']
      : ['ps', '-ww', '-o', 'command=', '-p', String(pid)];
  try {
    return (await execute(program ?? '', args)).stdout;
  } catch {
    return undefined;
  }
}

/**
 * The environment of PostgreSQL: only what it needs. Our own environment holds secrets, and PG* or LC_* variables of
 * the shell would change how it starts. TZ keeps initdb from guessing the zone by comparing hundreds of files.
 */
export function cleanEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = ['PATH', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'SYSTEMROOT', 'ComSpec', 'LD_LIBRARY_PATH'];
  const environment: NodeJS.ProcessEnv = { LC_ALL: 'C', TZ: 'UTC', ...extra };
  for (const name of kept) if (process.env[name] !== undefined) environment[name] = process.env[name];
  return environment;
}

/** Runs a program to its end and collects both of its outputs. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { cwd, osUser }: { cwd: string; osUser: OsUser | undefined },
): Promise<{ ok: boolean; output: string }> {
  const child = spawn(program, args, {
    cwd,
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
    ...osUser,
  });
  let output = '';
  const collect = (chunk: Buffer): void => {
    output += chunk.toString('utf8');
  };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', collect).on('error', () => {});
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.on('error', reject);
  child.once('close', resolve);
  return { ok: (await promise) === 0, output };
}

/** Undefined when there is no such file. */
export const readIfExists = (path: string): Promise<string | undefined> =>
  readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });

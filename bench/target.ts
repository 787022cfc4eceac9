/** A target of the load: how it is reached, which processes it has, and how one is started. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Dialect } from './bodies.ts';
import type { StartedProcess } from './child.ts';

export interface Target {
  readonly port: number;
  /** The process whose CPU time is measured, with its children. Undefined for the bare upstream. */
  readonly pid: number | undefined;
  /** Headers that this target needs to reach an upstream of dialect `group`. */
  headers(group: Dialect): Readonly<Record<string, string>>;
  /** Of a gateway. */
  allocatedBytes?(): Promise<number>;
  stop(): Promise<void>;
}

/** The reason why a target is skipped. */
export class TargetUnavailable extends Error {}

export const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The commit of a source tree, and whether what runs differs from it. */
export function commitOf(tree: string): string {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: tree, encoding: 'utf8' }).trim();
  try {
    const isClean = git('status', '--porcelain', 'src', 'package-lock.json', 'migrations') === '';
    return `${git('rev-parse', '--short', 'HEAD')}${isClean ? '' : ' with changes'}`;
  } catch {
    return 'an unknown commit';
  }
}

/** Peers are installed here, once. */
export const CACHE = join(ROOT, '.cache/bench');

export function createWorkFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-bench-'));
  // PostgreSQL does not run as root; its own user must be able to traverse this folder.
  chmodSync(folder, 0o711);
  return folder;
}

export interface TargetProcess {
  readonly name: string;
  readonly process: StartedProcess;
  readonly port: number;
  readonly headers: Target['headers'];
  /** Removed when the target stops. */
  readonly folder?: string;
}

/** LiteLLM needs half a minute on a busy machine. */
const READY_MS = 120_000;

/** Waits until the process accepts connections. */
export async function whenReady({ name, process, port, headers, folder }: TargetProcess): Promise<Target> {
  const stop = async (): Promise<void> => {
    await process.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  for (const until = Date.now() + READY_MS; !(await accepts(port)); await pause(100)) {
    if (!process.hasEnded() && Date.now() < until) continue;
    await stop();
    throw new TargetUnavailable(`${name} did not start: ${errorLineIn(process.stderr())}`);
  }
  return { port, pid: process.pid, headers, stop };
}

const errorLineIn = (stderr: string): string => {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  return lines.find((line) => /error|cannot|taken/i.test(line)) ?? lines.at(-1) ?? 'no output';
};

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (isOpen: boolean) => (): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', done(true));
    socket.once('error', done(false));
  });
}

/** Starting and ending processes. Only what was started here is ever ended, by its handle. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What does not leave after this long is killed. */
const PATIENCE_MS = 15_000;

const running = new Set<ChildProcess>();
// A bug up here: they are asked to leave, and the gateway takes its database with it.
process.on('exit', () => {
  for (const child of running) child.kill('SIGTERM');
});

export interface Started {
  readonly pid: number;
  /** Words that the process said on stderr, the last of them. */
  readonly words: () => string;
  readonly hasEnded: () => boolean;
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

/** On one core when there is one for it; `taskset` becomes the program, so that the process id is the program's. */
export function start(
  program: string,
  args: readonly string[],
  core: number | undefined,
  options: SpawnOptions,
): Started {
  const [command, ...rest] =
    core === undefined ? [program, ...args] : ['taskset', '-c', String(core), program, ...args];
  const child = spawn(command ?? program, rest, { stdio: ['ignore', 'ignore', 'pipe'], ...options });
  let words = '';
  child.stderr?.on('data', (bytes: Buffer) => {
    words = (words + bytes.toString('utf8')).slice(-2_000);
  });
  running.add(child);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', (error) => {
      words += error.message;
      resolve();
    });
  }).then(() => void running.delete(child));
  return {
    pid: child.pid ?? 0,
    words: () => words.trim(),
    hasEnded: () => !running.has(child),
    child,
    async stop() {
      if (!running.has(child)) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** A helper of this folder that answers each message with one message. */
export function startHelper(file: string, core: number | undefined): Started {
  const path = fileURLToPath(new URL(file, import.meta.url));
  return start(process.execPath, [path], core, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

export function nextMessage<T>({ child }: Started): Promise<T> {
  return new Promise((resolve, reject) => {
    const lost = (): void => reject(new Error('A helper process of the benchmark ended early.'));
    child.once('exit', lost);
    child.once('message', (message) => {
      child.removeListener('exit', lost);
      resolve(message as T);
    });
  });
}

export function ask<T>(helper: Started, message: object): Promise<T> {
  const answer = nextMessage<T>(helper);
  helper.child.send(message);
  return answer;
}

export function findProgram(name: string): string | undefined {
  return [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0));
    });
  });
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

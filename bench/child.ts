/** Starts and stops child processes. Never stops a process that it did not start. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A process that does not exit within this time is killed. */
const STOP_TIMEOUT_MS = 15_000;

const running = new Set<ChildProcess>();
// Reached with running children only after a crash of the benchmark. SIGTERM lets the gateway stop its database.
process.on('exit', () => {
  for (const child of running) child.kill('SIGTERM');
});

export interface StartedProcess {
  readonly pid: number;
  /** The last 2,000 characters of stderr. */
  readonly stderr: () => string;
  readonly hasEnded: () => boolean;
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

/** Pins the process to `core` if given. `taskset` execs the program, so the process id is the program's. */
export function start(
  program: string,
  args: readonly string[],
  core: number | undefined,
  options: SpawnOptions,
): StartedProcess {
  const [command, ...rest] =
    core === undefined ? [program, ...args] : ['taskset', '-c', String(core), program, ...args];
  const child = spawn(command ?? program, rest, { stdio: ['ignore', 'ignore', 'pipe'], ...options });
  let stderr = '';
  child.stderr?.on('data', (bytes: Buffer) => {
    stderr = (stderr + bytes.toString('utf8')).slice(-2_000);
  });
  running.add(child);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', (error) => {
      stderr += error.message;
      resolve();
    });
  }).then(() => void running.delete(child));
  return {
    pid: child.pid ?? 0,
    stderr: () => stderr.trim(),
    hasEnded: () => !running.has(child),
    child,
    async stop() {
      if (!running.has(child)) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Starts a script of this folder that replies to each message with one message. */
export function startHelper(file: string, core: number | undefined): StartedProcess {
  const path = fileURLToPath(new URL(file, import.meta.url));
  return start(process.execPath, [path], core, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

export function nextMessage<T>({ child }: StartedProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('A helper process of the benchmark ended early.'));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.removeListener('exit', onExit);
      resolve(message as T);
    });
  });
}

export function sendOrder<T>(helper: StartedProcess, message: object): Promise<T> {
  const reply = nextMessage<T>(helper);
  helper.child.send(message);
  return reply;
}

export function findProgram(name: string): string | undefined {
  return [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}

/**
 * Below the ports that a system picks for connections and for servers without a port, so that none of these takes it
 * meanwhile.
 */
const [FIRST_PORT, LAST_PORT] = [20_000, 32_000];

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

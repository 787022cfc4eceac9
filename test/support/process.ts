/** Runs Dragoman in its own process, with its output as one text. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { PROGRAM } from './program.ts';
import { HANGING_MS } from './wait.ts';

export interface LaunchedProcess {
  readonly child: ChildProcess;
  /** Everything printed so far on both streams. */
  output(): string;
  /** Waits until the output matches; fails with the output when it hangs or exits. */
  until(pattern: RegExp, hangingMs?: number): Promise<RegExpMatchArray>;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface LaunchOptions {
  /** A module that the process loads first; it can receive IPC messages. */
  readonly preload?: URL;
  /** The path of the launcher of another version. */
  readonly program?: string;
}

export function launch(
  args: readonly string[],
  env: Record<string, string>,
  { preload, program = PROGRAM }: LaunchOptions = {},
): LaunchedProcess {
  const child = spawn(process.execPath, [...(preload ? ['--import', preload.href] : []), program, ...args], {
    // The machine may be so busy with other tests that a server would refuse requests.
    env: { PATH: process.env.PATH ?? '', WORKERS: '1', SHEDDING: 'off', ...env },
    stdio: ['pipe', 'pipe', 'pipe', ...(preload ? (['ipc'] as const) : [])],
  }) as ChildProcess & { stdout: Readable; stderr: Readable };
  let output = '';
  const listeners = new Set<() => void>();
  const add = (chunk: Buffer): void => {
    output += chunk.toString('utf8');
    for (const listener of listeners) listener();
  };
  child.stdout.on('data', add);
  child.stderr.on('data', add);
  const exited = once(child, 'exit');
  return {
    child,
    output: () => output,
    until(pattern, hangingMs = HANGING_MS) {
      const { promise, resolve, reject } = Promise.withResolvers<RegExpMatchArray>();
      const fail = (): void => reject(new Error(`no ${pattern} in:\n${output}`));
      const timer = setTimeout(fail, hangingMs);
      const checkOutput = (): void => {
        const match = output.match(pattern);
        if (match) resolve(match);
      };
      listeners.add(checkOutput);
      void exited.then(() => {
        checkOutput();
        fail();
      });
      checkOutput();
      return promise.finally(() => {
        clearTimeout(timer);
        listeners.delete(checkOutput);
      });
    },
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await exited;
      return child.exitCode;
    },
  };
}

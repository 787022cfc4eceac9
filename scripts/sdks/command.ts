/** Runs a program to its end, with its output as text and a time limit. */
import { execFile } from 'node:child_process';

export interface CommandOutcome {
  readonly isOk: boolean;
  readonly stdout: string;
  /** What the program reports about its failure: the last lines of its errors, or why it could not start. */
  readonly reason: string;
}

interface CommandSettings {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly timeoutMs?: number;
}

/** An installation over a slow line takes minutes. */
const TIMEOUT_MS = 300_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
const REASON_CHARS = 400;

export function runCommand(
  file: string,
  args: readonly string[],
  { timeoutMs = TIMEOUT_MS, ...settings }: CommandSettings = {},
): Promise<CommandOutcome> {
  const { promise, resolve } = Promise.withResolvers<CommandOutcome>();
  const options = { ...settings, timeout: timeoutMs, maxBuffer: MAX_OUTPUT_BYTES };
  const child = execFile(file, args, options, (error, stdout, stderr) => {
    const reason = error?.killed ? `stopped after ${timeoutMs / 1000} s` : stderr.trim() || (error?.message ?? '');
    resolve({ isOk: error === null, stdout, reason: reason.slice(-REASON_CHARS) });
  });
  // Agent CLIs read a prompt from an open input.
  child.stdin?.end();
  return promise;
}

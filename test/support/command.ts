/** Runs Dragoman in its own process, as a user does. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { LAUNCHER, PROGRAM } from './program.ts';
import { until } from './wait.ts';

export interface CommandResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Path of the Node that runs the launcher; by default the one that runs the tests runs the program. */
  readonly node?: string;
  readonly stdin?: string;
  /** The path of the launcher of another version. */
  readonly program?: string;
  /** Runs as this user; only root can. */
  readonly uid?: number;
}

export class Command {
  readonly process: ChildProcess;
  stdout = '';
  stderr = '';
  readonly ended: Promise<CommandResult>;

  constructor(
    args: readonly string[],
    { env = {}, node, stdin = '', uid, program = node ? LAUNCHER : PROGRAM }: CommandOptions = {},
  ) {
    const { PATH, HOME, TMPDIR } = process.env;
    this.process = spawn(node ?? process.execPath, [program, ...args], {
      // The machine may be so busy with other tests that a server would refuse requests.
      env: { PATH, HOME, TMPDIR, DEMO: 'off', PORT: '0', WORKERS: '1', SHEDDING: 'off', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(uid !== undefined && { uid }),
    });
    this.process.stdin?.end(stdin);
    this.process.stdout?.on('data', (chunk) => {
      this.stdout += chunk;
    });
    this.process.stderr?.on('data', (chunk) => {
      this.stderr += chunk;
    });
    this.ended = once(this.process, 'close').then(([code, signal]) => ({
      code,
      signal,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  /** Waits for the URL that a server prints. */
  async ready(): Promise<string> {
    return until('the server to be ready', () => {
      if (this.process.exitCode !== null) throw new Error(`the command ended: ${this.stderr}`);
      return /^Dragoman is ready at (\S+)$/m.exec(this.stderr)?.[1];
    });
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<CommandResult> {
    this.process.kill(signal);
    return this.ended;
  }
}

export const run = (args: readonly string[], options?: CommandOptions): Promise<CommandResult> =>
  new Command(args, options).ended;

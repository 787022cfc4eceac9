/** Starts a Redis or Valkey server for a test file, if installed: no password, no persistence, a free port. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../bench/child.ts';
import { until } from './wait.ts';

export interface TestRedis {
  readonly url: string;
  /** Kills the server, like a crash. */
  kill(): Promise<void>;
  /** Starts it again on the same port, without data. */
  start(): Promise<void>;
  /** Stops responding while connections stay open. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
  /** Output of `redis-cli`. */
  cli(...args: string[]): string;
}

const cliOf = (server: string): string => server.replace('-server', '-cli');
const serverBinary = ['redis-server', 'valkey-server'].find((name) => {
  try {
    for (const program of [name, cliOf(name)]) execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
});

/** Why tests with Redis are skipped; false when they can run. */
export const noRedis: string | false =
  serverBinary === undefined && 'neither redis-server nor valkey-server is installed';

export async function startRedis({ isCluster = false } = {}): Promise<TestRedis> {
  const port = await freePort();
  // By default 10,000 above the other, where there may be no port.
  const busPort = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'dragoman-redis-'));
  let child: ChildProcess | undefined;
  const cli = (...args: string[]): string =>
    execFileSync(cliOf(serverBinary ?? ''), ['-p', String(port), ...args], { encoding: 'utf8' });
  const start = async (): Promise<void> => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'];
    if (isCluster) args.push('--cluster-enabled', 'yes', '--cluster-port', String(busPort));
    child = spawn(serverBinary ?? '', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await waitForOutput(child, /Ready to accept connections/);
    if (!isCluster) return;
    if (cli('cluster', 'info').includes('cluster_slots_assigned:0')) cli('cluster', 'addslotsrange', '0', '16383');
    await until('the cluster', () => cli('cluster', 'info').includes('cluster_state:ok'));
  };
  const kill = async (): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    kill,
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    cli,
    async stop() {
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function waitForOutput(child: ChildProcess, pattern: RegExp): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (pattern.test(output)) resolve();
  });
  child.once('error', reject);
  child.once('exit', () => reject(new Error(`no ${pattern} in:\n${output}`)));
  return promise;
}

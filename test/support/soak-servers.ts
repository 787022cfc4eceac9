/**
 * The servers of a soak run: real processes of `dragoman serve`, of which one is killed again and again while another
 * survives.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parentOf } from './embedded.ts';
import { type LaunchedProcess, launch } from './process.ts';
import { until } from './wait.ts';

export interface SoakServers {
  /** Addresses that take requests; one of them may be down for a moment. */
  urls(): readonly string[];
  /** The process whose memory and descriptors are watched; it is never killed. */
  readonly survivor: number;
  /** Kills a process with SIGKILL, and waits until it has a successor. */
  kill(): Promise<Outage>;
  stop(): Promise<void>;
}

/** Requests to `url` may have failed between the two moments, which are those of `performance.now()`. */
export interface Outage {
  readonly url: string;
  readonly from: number;
  readonly to: number;
}

export interface ServerOptions {
  readonly directory: string;
  readonly databaseUrl: string;
  readonly setupFile: string;
}

const LAUNCHER = fileURLToPath(new URL('../../bin/dragoman.js', import.meta.url));

export const startSoakServers = (options: ServerOptions): Promise<SoakServers> =>
  hasWorkers() ? startWorkers(options) : startReplicas(options);

/** True when one command runs several processes on one port. */
const hasWorkers = (): boolean =>
  execFileSync(process.execPath, [LAUNCHER, 'serve', '--help'], { encoding: 'utf8' }).includes('--workers');

async function startWorkers(options: ServerOptions): Promise<SoakServers> {
  const server = await Server.start(options, 'server', ['--workers', '2']);
  const workers = (): number[] => childrenOf(server.pid);
  await until('two workers', () => workers().length >= 2);
  const [survivor = 0] = workers();
  return {
    urls: () => [server.url],
    survivor,
    async kill() {
      const from = performance.now();
      const victim = workers().find((pid) => pid !== survivor);
      if (victim === undefined) throw new Error('there is no second worker to kill');
      process.kill(victim, 'SIGKILL');
      await until('a new worker', () => workers().length >= 2 && !workers().includes(victim));
      // The clients see the closed sockets when this process polls next; until then they may still take one for a
      // request.
      await immediate();
      return { url: server.url, from, to: performance.now() };
    },
    stop: () => server.stop(),
  };
}

async function startReplicas(options: ServerOptions): Promise<SoakServers> {
  const first = await Server.start(options, 'survivor', ['--config', options.setupFile]);
  let second = await Server.start(options, 'victim', []);
  return {
    urls: () => [first.url, second.url],
    survivor: first.pid,
    async kill() {
      const { url } = second;
      const from = performance.now();
      await second.kill();
      // On the same port, as an operator restarts a server.
      second = await Server.start(options, 'victim', [], new URL(url).port);
      return { url, from, to: performance.now() };
    },
    async stop() {
      await Promise.all([first.stop(), second.stop()]);
    },
  };
}

class Server {
  readonly url: string;
  readonly #process: LaunchedProcess;

  static async start(options: ServerOptions, name: string, args: readonly string[], port = '0'): Promise<Server> {
    const isConfigured = args.includes('--workers') ? ['--config', options.setupFile] : [];
    const process = launch(['serve', ...args, ...isConfigured], {
      HOST: '127.0.0.1',
      PORT: port,
      DEMO: 'off',
      DRAIN_MS: '5000',
      MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}`,
      DATA_DIR: join(options.directory, name),
      DATABASE_URL: options.databaseUrl,
      NODE_COMPILE_CACHE: join(options.directory, 'compiled'),
    });
    const [, url = ''] = await process.until(/Dragoman is ready at (\S+)/);
    return new Server(process, url);
  }

  private constructor(process: LaunchedProcess, url: string) {
    this.#process = process;
    this.url = url;
  }

  get pid(): number {
    return this.#process.child.pid ?? 0;
  }

  async kill(): Promise<void> {
    await this.#process.stop('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#process.stop();
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => parentOf(pid) === parent)
    .map(Number)
    .sort((a, b) => a - b);
}

export interface ProcessSample {
  /** `performance.now()` of the sample, in seconds. */
  readonly seconds: number;
  readonly rssMb: number;
  readonly descriptors: number;
}

export const sampleProcess = (pid: number): ProcessSample => ({
  seconds: performance.now() / 1_000,
  rssMb: Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024,
  descriptors: readdirSync(`/proc/${pid}/fd`).length,
});

/** Growth of the memory in percent of its mean per minute, by the line of least squares. */
export function growthPerMinute(samples: readonly ProcessSample[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [at, rss] = [mean(samples.map(({ seconds }) => seconds)), mean(samples.map(({ rssMb }) => rssMb))];
  const slope =
    samples.reduce((sum, { seconds, rssMb }) => sum + (seconds - at) * (rssMb - rss), 0) /
    samples.reduce((sum, { seconds }) => sum + (seconds - at) ** 2, 0);
  return (slope * 60 * 100) / rss;
}

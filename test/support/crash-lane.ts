/** A data directory and the gateway process that currently runs on it, which tests kill at a crash point. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import type { CrashStep } from './crash.ts';
import { inParallel } from './ledger-process.ts';
import { type LaunchedProcess, launch } from './process.ts';
import { HANGING_MS } from './wait.ts';

const PRELOAD = new URL('./crash.ts', import.meta.url);

export interface LaneOptions {
  /** Holds the data of all lanes and what they share. */
  readonly directory: string;
  readonly name: string;
  readonly databaseUrl: string;
  /** Also runs the background jobs. */
  readonly worker?: boolean;
}

export class CrashLane {
  readonly dataDir: string;
  readonly #options: LaneOptions;
  #process: LaunchedProcess | undefined;
  #url = '';

  constructor(options: LaneOptions) {
    this.#options = options;
    this.dataDir = join(options.directory, options.name);
  }

  get url(): string {
    return this.#url;
  }

  /** Ready means that the records of the previous process are recovered. */
  async start(args: readonly string[] = [], env: Record<string, string> = {}): Promise<void> {
    const process = this.launch(args, env);
    this.#process = process;
    await process.until(/Dragoman is ready/);
    const [, port] = await process.until(/"port":(\d+),"msg":"server\.ready"/);
    // The printed address may be that of a proxy.
    this.#url = `http://127.0.0.1:${port}`;
  }

  /** Starts a process that is killed at that crash point before it is ready. */
  async dieStarting(step: CrashStep, nth = 1): Promise<void> {
    this.#process = this.launch([], { CRASH_AT: `${step}#${nth}` });
    await this.died(step);
  }

  launch(args: readonly string[], env: Record<string, string> = {}): LaunchedProcess {
    const settings = {
      HOST: '127.0.0.1',
      PORT: '0',
      DEMO: 'off',
      DRAIN_MS: '60000',
      MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}`,
      DATA_DIR: this.dataDir,
      DATABASE_URL: this.#options.databaseUrl,
    };
    return launch(
      ['serve', ...(this.#options.worker ? [] : ['--no-worker']), ...args],
      { ...settings, ...env },
      { preload: PRELOAD },
    );
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  get child(): LaunchedProcess['child'] {
    assert.ok(this.#process);
    return this.#process.child;
  }

  async arm(step: CrashStep, nth: number): Promise<void> {
    this.child.send(`${step}#${nth}`);
    await once(this.child, 'message');
  }

  async died(what: string): Promise<void> {
    const { child } = this;
    const timer = setTimeout(() => child.kill('SIGTERM'), HANGING_MS);
    if (this.isRunning) await once(child, 'exit');
    clearTimeout(timer);
    assert.equal(child.signalCode, 'SIGKILL', `${what} was not reached: ${this.#process?.output()}`);
  }

  async stop(): Promise<void> {
    await this.#process?.stop();
  }

  /** Everything that the current process printed. */
  output(): string {
    return this.#process?.output() ?? '';
  }
}

/** The time limit of a test with so many kills, above which it hangs: each starts a process. */
export const killsMs = (kills: number): number => 240_000 + kills * 30_000;

/** Runs a kill on each lane at the same time. A lane whose run failed is restarted. */
export async function inLanes<L extends Pick<CrashLane, 'start' | 'stop'>, T>(
  lanes: readonly L[],
  inputs: readonly T[],
  run: (lane: L, input: T) => Promise<void>,
): Promise<void> {
  const free = [...lanes];
  const failures: unknown[] = [];
  await inParallel(lanes.length, inputs.length, async (n) => {
    const lane = free.pop() as L;
    await run(lane, inputs[n] as T).catch(async (error: unknown) => {
      failures.push(error);
      await lane.stop();
      await lane.start();
    });
    free.push(lane);
  });
  if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join('\n'));
}

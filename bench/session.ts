/** One run of a comparison: the mock upstream, the load generator and the targets, which start and stop together. */
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { nextMessage, type StartedProcess, sendOrder, startHelper } from './child.ts';
import type { ProbeReport } from './load.ts';
import { CORES } from './machine.ts';
import type { Cell, Measurement } from './round.ts';
import { failureOf, requestOf, type Scenario } from './scenarios.ts';
import { type Target, TargetUnavailable } from './target.ts';
import type { TargetRow } from './targets.ts';

export class Session {
  readonly notes: string[] = [];
  readonly targets = new Map<TargetRow, Target>();
  readonly #helpers: StartedProcess[] = [];

  constructor() {
    if (!existsSync('/proc/self/stat')) throw new Error('The benchmark reads /proc and runs on Linux only.');
    if (!CORES)
      this.note('no second core or no taskset: targets share their cores with the load, so times are less exact.');
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => void this.stop().then(() => process.exit(1)));
  }

  /** Starts everything and returns the load generator. A target that is not installed is left out, with a note. */
  async start(rows: readonly TargetRow[]): Promise<StartedProcess> {
    progress('Starting the mock upstream, the load and the targets ...');
    const { port } = await nextMessage<{ port: number }>(this.#startHelper('upstream.ts'));
    const load = this.#startHelper('load.ts');
    for (const row of rows) {
      try {
        this.targets.set(row, await row.start(port));
      } catch (error) {
        if (!(error instanceof TargetUnavailable)) throw error;
        this.note(`${error.message}; skipped.`);
      }
    }
    // Wait for work that the targets do after they listen.
    await pause(1_000);
    return load;
  }

  #startHelper(file: string): StartedProcess {
    const helper = startHelper(file, CORES?.load);
    this.#helpers.push(helper);
    return helper;
  }

  /** The cells of matching lines that work, found by one request each. */
  async findCells(load: StartedProcess, only: RegExp, scenarios: readonly Scenario[]): Promise<Cell[]> {
    const cells: Cell[] = [];
    const upstream = [...this.targets].find(([{ kind }]) => kind === 'direct')?.[1];
    if (!upstream) throw new Error('The table of targets lacks the bare upstream.');
    for (const [row, target] of this.targets) {
      for (const line of row.lines.filter(({ label }) => only.test(label))) {
        for (const stream of [false, true]) {
          const request = requestOf(target, line.route, { model: 'bench-burst', stream });
          const { status, text } = await sendOrder<ProbeReport>(load, { probe: true, port: target.port, request });
          const failure = failureOf(line.route, stream, status, text);
          if (failure !== undefined) this.note(`${line.label}, ${stream ? 'streams' : 'unary'}: ${failure}; skipped.`);
          else if (target.pid !== undefined || !stream)
            for (const scenario of scenarios)
              if (scenario.stream === stream) cells.push({ line, scenario, target, upstream, results: [] });
        }
      }
    }
    // All lines of a scenario in a row, so that compared results are measured within seconds.
    return scenarios.flatMap(({ name }) => cells.filter((cell) => cell.scenario.name === name));
  }

  async stop(): Promise<void> {
    for (const target of this.targets.values()) await target.stop();
    this.targets.clear();
    for (const helper of this.#helpers.splice(0)) await helper.stop();
  }

  add({ line, scenario, results }: Cell, result: Measurement): void {
    if (result.failures > 0) this.note(`${line.label}, ${scenario.about}: ${result.failures} requests failed.`);
    results.push(result);
  }

  note(text: string): void {
    this.notes.push(text);
    progress(`Note: ${text}`);
  }
}

export const progress = (text: string): void => console.error(text);

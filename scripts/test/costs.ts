/**
 * What a run of tests cost: wall and CPU time beside a fixed piece of work of the same minutes, and the dearest files.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { childCpuMs, cpuMsOf } from '../../test/support/cpu-time.ts';
import type { FileCost } from '../../test/support/file-cost.ts';

const DEAREST = 10;
/** A slice takes a few dozen milliseconds of CPU, so that these slices take less than half a percent of a run. */
const SLICE_EVERY_MS = 15_000;
const SLICE_ROUNDS = 100;
const WORK_ROUNDS = 2_000;

const DOCUMENT = JSON.stringify(
  Array.from({ length: 500 }, (_, n) => ({
    id: n,
    name: `item ${n}`,
    tags: ['a', 'b', `${n}`],
    part: { x: n / 3, y: null, z: true },
  })),
);

/** Measures from its creation on. */
export class RunCosts {
  readonly #report: string;
  readonly #begun = performance.now();
  readonly #slices: number[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(folder: string) {
    this.#report = join(folder, 'costs.jsonl');
    process.env.TEST_COSTS = this.#report;
    this.#measureSlice();
    this.#timer = setInterval(() => this.#measureSlice(), SLICE_EVERY_MS);
  }

  /** Call it when every process of the run has ended. */
  end(shown = DEAREST): string {
    clearInterval(this.#timer);
    this.#measureSlice();
    const files = this.#readFiles();
    const { user, system } = process.cpuUsage();
    const runnerMs = (user + system) / 1_000;
    const cpuMs = runnerMs + childCpuMs();
    const filesMs = files.reduce((sum, file) => sum + file.cpuMs, 0);
    const workMs = (this.#slices.reduce((sum, ms) => sum + ms, 0) / this.#slices.length) * (WORK_ROUNDS / SLICE_ROUNDS);
    const lines = [
      `${seconds(performance.now() - this.#begun)} of wall time, ${seconds(cpuMs)} of CPU time: test files ${seconds(filesMs)}, PostgreSQL and loading ${seconds(cpuMs - filesMs - runnerMs)}, runner ${seconds(runnerMs)}.`,
      `That is ${(cpuMs / workMs).toFixed(0)} times ${WORK_ROUNDS.toLocaleString('en')} rounds of JSON.parse and JSON.stringify of ${(DOCUMENT.length / 1_024).toFixed(0)} KiB, which took ${(workMs / 1_000).toFixed(2)} s of CPU time in the same minutes.`,
    ];
    return [...lines, ...dearest(files, shown), ''].join('\n');
  }

  #measureSlice(): void {
    this.#slices.push(
      cpuMsOf(() => {
        for (let round = 0; round < SLICE_ROUNDS; round += 1) JSON.stringify(JSON.parse(DOCUMENT));
      }),
    );
  }

  #readFiles(): FileCost[] {
    if (!existsSync(this.#report)) return [];
    return readFileSync(this.#report, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  }
}

function dearest(files: readonly FileCost[], count: number): string[] {
  if (files.length <= DEAREST) return [];
  const shown = files.toSorted((one, other) => other.cpuMs - one.cpuMs).slice(0, count);
  return [
    `\nThe ${shown.length} dearest of ${files.length} files:`,
    `${'CPU'.padStart(8)}${'wall'.padStart(9)}`,
    ...shown.map(({ file, cpuMs, wallMs }) => `${seconds(cpuMs).padStart(8)}${seconds(wallMs).padStart(9)}  ${file}`),
  ];
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

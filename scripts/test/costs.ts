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

export interface RunCost {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly runnerMs: number;
  /** CPU time of one unit: the fixed work. */
  readonly unitMs: number;
  readonly files: readonly FileCost[];
}

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

  /** The files that have ended so far. */
  files(): FileCost[] {
    if (!existsSync(this.#report)) return [];
    return readFileSync(this.#report, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  }

  /** Call it when every process of the run has ended. */
  end(): RunCost {
    clearInterval(this.#timer);
    this.#measureSlice();
    const { user, system } = process.cpuUsage();
    const runnerMs = (user + system) / 1_000;
    const sliceMs = this.#slices.reduce((sum, ms) => sum + ms, 0) / this.#slices.length;
    return {
      wallMs: performance.now() - this.#begun,
      cpuMs: runnerMs + childCpuMs(),
      runnerMs,
      unitMs: sliceMs * (WORK_ROUNDS / SLICE_ROUNDS),
      files: this.files(),
    };
  }

  #measureSlice(): void {
    this.#slices.push(
      cpuMsOf(() => {
        for (let round = 0; round < SLICE_ROUNDS; round += 1) JSON.stringify(JSON.parse(DOCUMENT));
      }),
    );
  }
}

/** Lines to print, with the dearest files. */
export function renderCost({ wallMs, cpuMs, runnerMs, unitMs, files }: RunCost, shown = DEAREST): string {
  const filesMs = files.reduce((sum, file) => sum + file.cpuMs, 0);
  const lines = [
    `${seconds(wallMs)} of wall time, ${seconds(cpuMs)} of CPU time: test files ${seconds(filesMs)}, PostgreSQL and loading ${seconds(cpuMs - filesMs - runnerMs)}, runner ${seconds(runnerMs)}.`,
    `That is ${(cpuMs / unitMs).toFixed(0)} units, each ${WORK_ROUNDS.toLocaleString('en')} rounds of JSON.parse and JSON.stringify of ${(DOCUMENT.length / 1_024).toFixed(0)} KiB, which took ${(unitMs / 1_000).toFixed(2)} s of CPU time in the same minutes.`,
  ];
  return [...lines, ...dearest(files, shown), ''].join('\n');
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

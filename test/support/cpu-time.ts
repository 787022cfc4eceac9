/** The cost of code and of processes. Elapsed time would also count the work of other processes. */
import { readFileSync } from 'node:fs';

/** The CPU time of a synchronous function on this thread, in milliseconds. Some systems count in steps of 4 ms. */
export function cpuMsOf(run: () => void): number {
  const begun = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(begun);
  return (user + system) / 1_000;
}

/** The unit of /proc, on every Linux that Node runs on. */
const TICK_MS = 10;

/**
 * The CPU time of processes that this one started, and of theirs, once they were waited for. Linux only, 0 elsewhere.
 */
export function childCpuMs(): number {
  if (process.platform !== 'linux') return 0;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The name, in parentheses, may contain spaces. User and system time of children are fields 16 and 17, of which 2
  // precede the split.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}

/** Long enough that the steps of the system's count do not matter. */
const MEASURED_MS = 20;

/** The same for a function that takes less than such a step: the average of as many runs as it needs to be measured. */
export function averageMsOf(run: () => void): number {
  // The first runs are those of interpreted code.
  for (let n = 0; n < 3; n += 1) run();
  for (let runs = 1; ; runs *= 3) {
    const ms = cpuMsOf(() => {
      for (let n = 0; n < runs; n += 1) run();
    });
    if (ms >= MEASURED_MS) return ms / runs;
  }
}

/** How many times as large the large input of `growthOf` is. */
const FACTOR = 16;

/** More than linear code reaches; quadratic code takes 256 times as long. */
export const LINEAR_GROWTH = 4 * FACTOR;

/**
 * How many times as much CPU time an input of 16 times the size takes, which is the same on every machine. `prepare`
 * makes an input and returns the work to be measured.
 */
export function growthOf(prepare: (size: number) => () => void, size: number): number {
  let least = Number.POSITIVE_INFINITY;
  // A collection of garbage in a short measurement looks like growth, but not three times.
  for (let n = 0; n < 3 && least >= LINEAR_GROWTH; n += 1)
    least = Math.min(least, averageMsOf(prepare(FACTOR * size)) / averageMsOf(prepare(size)));
  return least;
}

/** Takes 5 ms on the machine for which tests give CPU time. */
const REFERENCE = JSON.stringify(Array.from({ length: 8_000 }, (_, n) => ({ id: `item_${n}`, parts: [n, `${n}`] })));
const REFERENCE_MS = 5;

/** How many times as long this machine takes, at least 1: a test multiplies a limit of CPU time with it. */
export const slowness = (): number =>
  Math.max(1, averageMsOf(() => void JSON.stringify(JSON.parse(REFERENCE))) / REFERENCE_MS);

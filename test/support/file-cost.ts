/**
 * What a test file costs: the CPU time of its process and of the processes that it started and waited for. Preloaded
 * into each test file by scripts/test.ts, which sums up the lines of `TEST_COSTS`. Children are known on Linux only.
 */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { childCpuMs } from './cpu-time.ts';

export interface FileCost {
  readonly file: string;
  readonly cpuMs: number;
  readonly wallMs: number;
}

const report = process.env.TEST_COSTS;
/** A process whose files report themselves. */
let isGroup = false;

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000 + childCpuMs();
};

const write = (cost: FileCost): void => {
  if (report) appendFileSync(report, `${JSON.stringify(cost)}\n`);
};

/** Of one file in a group: `load` defines its tests; `begin` and `end` are its first and its last hook. */
export function measureFile(file: string, load: () => void): { begin(): void; end(): void } {
  isGroup = true;
  const before = cpuMs();
  load();
  const loadMs = cpuMs() - before;
  let begun = { cpu: 0, wall: 0 };
  return {
    begin: () => {
      begun = { cpu: cpuMs(), wall: performance.now() };
    },
    end: () => write({ file, cpuMs: loadMs + cpuMs() - begun.cpu, wallMs: performance.now() - begun.wall }),
  };
}

process.on('exit', () => {
  if (!isGroup) write({ file: relative('.', process.argv[1] ?? ''), cpuMs: cpuMs(), wallMs: performance.now() });
});

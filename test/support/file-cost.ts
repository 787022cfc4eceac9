/**
 * What a test file costs: the CPU time of its process and of the processes that it started and waited for. Preloaded
 * into each test file by scripts/test.ts, which sums up the lines of `TEST_COSTS`. Children are known on Linux only.
 */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { childCpuMs } from './cpu-time.ts';
import { beginFileLimit } from './file-limit.ts';

export interface FileCost {
  readonly file: string;
  readonly cpuMs: number;
  readonly wallMs: number;
}

const report = process.env.TEST_COSTS;
/** In a process whose files report themselves: those that have not ended. */
const open = new Set<string>();
let isGroup = false;
/** The file of the group that runs, or ran last. */
let current = '';

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
  open.add(file);
  const before = cpuMs();
  load();
  const loadMs = cpuMs() - before;
  let begun = { cpu: 0, wall: 0 };
  return {
    begin: () => {
      current = file;
      beginFileLimit();
      begun = { cpu: cpuMs(), wall: performance.now() };
    },
    end: () => {
      open.delete(file);
      write({ file, cpuMs: loadMs + cpuMs() - begun.cpu, wallMs: performance.now() - begun.wall });
    },
  };
}

// node:test names only the group when an exception belongs to no test that still runs.
process.on('uncaughtExceptionMonitor', (error) => {
  if (isGroup) process.stderr.write(`Uncaught while ${current} ran: ${error.stack ?? error}\n`);
});

process.on('exit', () => {
  if (!isGroup) write({ file: relative('.', process.argv[1] ?? ''), cpuMs: cpuMs(), wallMs: performance.now() });
  if (open.size === 0) return;
  // Also after process.exit(0), which node:test takes for success.
  process.exitCode = 1;
  process.stderr.write(`The process of ${open.size} test files ended while ${current} ran.\n`);
});

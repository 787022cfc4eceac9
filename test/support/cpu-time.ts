/** The cost of code and of processes. Elapsed time would also count the work of other processes. */
import { readFileSync } from 'node:fs';

/** The CPU time of a synchronous function on this thread, in milliseconds. */
export function cpuMsOf(run: () => void): number {
  const begun = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(begun);
  return (user + system) / 1_000;
}

/** The unit of /proc, on every Linux that Node runs on. */
const TICK_MS = 10;

/** The CPU time of processes that this one started, and of theirs, once they were waited for. Linux only, 0 elsewhere. */
export function childCpuMs(): number {
  if (process.platform !== 'linux') return 0;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The name, in parentheses, may contain spaces. User and system time of children are fields 16 and 17, of which 2 precede the split.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}

/**
 * What work costs another process: the CPU time of its main thread, which bounds every turn of its event loop, and its
 * peak memory.
 */
import { readFileSync, writeFileSync } from 'node:fs';

export interface Cost {
  /** CPU time of the main thread. Other processes on the machine do not change it, unlike the time of a turn. */
  readonly turnMs: number;
  /** Growth of the resident memory at its peak. */
  readonly memoryMb: number;
}

export async function costOf(pid: number, work: () => Promise<unknown>): Promise<Cost> {
  const cpuBefore = mainThreadMs(pid);
  // 5 resets the peak of the resident memory.
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const memoryBefore = statusKb(pid, 'VmRSS');
  await work();
  return {
    turnMs: mainThreadMs(pid) - cpuBefore,
    memoryMb: (statusKb(pid, 'VmHWM') - memoryBefore) / 1024,
  };
}

/** The id of the main thread is that of the process. */
const mainThreadMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;

const statusKb = (pid: number, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

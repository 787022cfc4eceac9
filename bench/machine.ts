/** CPU time and memory of processes and the load of the machine, from /proc. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { findProgram } from './child.ts';

/** Clock ticks per second in /proc (USER_HZ). */
const HZ = 100;

/** Load and upstream share one core, the target has the other; undefined if the machine has only one or no taskset. */
export const CORES: { readonly load: number; readonly target: number } | undefined =
  availableParallelism() >= 2 && findProgram('taskset') !== undefined ? { load: 0, target: 1 } : undefined;

export const describeMachine = (): string =>
  `${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;

/** User and system time of all threads of one process; NaN when it has ended. */
export const cpuSeconds = (pid: number): number => exactSeconds(pid) ?? (statOf(pid)?.ticks ?? Number.NaN) / HZ;

/** From the scheduler, in nanoseconds: ticks are too coarse for a proxy that is busy for a tenth of a second. */
function exactSeconds(pid: number): number | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const times = threads.map((id) => Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]));
    return times.reduce((sum, nanos) => sum + nanos, 0) / 1e9;
  } catch {
    // The process or one of its threads has ended, or the kernel does not count.
    return undefined;
  }
}

/** Resident memory of a process and its descendants, without its database. */
export const rssMb = (root: number): number =>
  statsOfTree(root)
    .filter(([, { name }]) => name !== 'postgres')
    .reduce((sum, [pid]) => sum + rssOfProcessMb(pid), 0);

function rssOfProcessMb(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    // It has ended meanwhile.
    return 0;
  }
}

/** CPU time used by other processes on the benchmark's cores: busy and stolen time minus that of the own processes. */
export interface Usage {
  readonly busy: number;
  readonly own: number;
}

export const usageNow = (): Usage => ({ busy: busySeconds(), own: treeSeconds(process.pid) });

export const WATCHED_CORES = CORES ? 2 : cpus().length;

function busySeconds(): number {
  const names = CORES ? [`cpu${CORES.load}`, `cpu${CORES.target}`] : ['cpu'];
  let ticks = 0;
  for (const line of readFileSync('/proc/stat', 'utf8').split('\n')) {
    const [name, user, nice, system, _idle, _wait, irq, softirq, steal] = line.split(/\s+/);
    if (name !== undefined && names.includes(name))
      for (const part of [user, nice, system, irq, softirq, steal]) ticks += Number(part);
  }
  return ticks / HZ;
}

/** User and system time of a process and its descendants. */
function treeSeconds(root: number): number {
  const { own, database } = cpuOfTree(root);
  return own + database;
}

export interface TreeCpu {
  /** Seconds of the process and its descendants, without its database. */
  readonly own: number;
  /** Seconds of PostgreSQL processes below it, also of those that have ended. */
  readonly database: number;
}

export function cpuOfTree(root: number): TreeCpu {
  const seconds = { own: 0, database: 0 };
  for (const [pid, { name, endedTicks }] of statsOfTree(root)) {
    if (name === 'postgres') seconds.database += (cpuSeconds(pid) || 0) + endedTicks / HZ;
    else seconds.own += cpuSeconds(pid) || 0;
  }
  return seconds;
}

/** A process and its descendants, by process id. */
function statsOfTree(root: number): (readonly [pid: number, stat: ProcessStat])[] {
  const stats = new Map(
    readdirSync('/proc').flatMap((name) => {
      const stat = /^\d+$/.test(name) ? statOf(Number(name)) : undefined;
      return stat ? [[Number(name), stat] as const] : [];
    }),
  );
  const isBelow = (pid: number): boolean => pid === root || (stats.has(pid) && isBelow(stats.get(pid)?.parent ?? 0));
  return [...stats].filter(([pid]) => isBelow(pid));
}

interface ProcessStat {
  readonly name: string;
  readonly parent: number;
  readonly ticks: number;
  /** Of children that have ended. */
  readonly endedTicks: number;
}

function statOf(pid: number): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The process name before may contain spaces and parentheses.
    const end = text.lastIndexOf(')');
    const fields = text.slice(end + 2).split(' ');
    return {
      name: text.slice(text.indexOf('(') + 1, end),
      parent: Number(fields[1]),
      ticks: Number(fields[11]) + Number(fields[12]),
      endedTicks: Number(fields[13]) + Number(fields[14]),
    };
  } catch {
    return undefined;
  }
}

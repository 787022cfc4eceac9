/** The processes that a run of tests started, so that an interrupted run leaves none behind. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { isProcessAlive } from '../../src/core/index.ts';

/** Servers stop, and browsers and databases remove their locks; what takes longer hangs. */
const STOP_MS = 3_000;
const POLL_MS = 50;

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/**
 * Ends all processes below this one, and those whose command names the folder: their parents may have ended before
 * them.
 */
export async function endProcesses(folder: string): Promise<void> {
  const pids = startedProcesses(listProcesses(), folder);
  signalAll(pids, 'SIGINT');
  const deadline = performance.now() + STOP_MS;
  while (pids.some(isProcessAlive) && performance.now() < deadline) await pause(POLL_MS);
  signalAll(pids.filter(isProcessAlive), 'SIGKILL');
}

export function startedProcesses(entries: readonly ProcessEntry[], folder: string, root = process.pid): number[] {
  const children = Map.groupBy(entries, ({ parent }) => parent);
  const found = new Set<number>();
  const addBelow = (pid: number): void => {
    for (const child of children.get(pid) ?? []) {
      if (found.has(child.pid)) continue;
      found.add(child.pid);
      addBelow(child.pid);
    }
  };
  addBelow(root);
  for (const { pid, command } of entries) {
    if (pid === root || !command.includes(folder)) continue;
    found.add(pid);
    addBelow(pid);
  }
  return [...found];
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended.
    }
  }
}

function listProcesses(): ProcessEntry[] {
  if (process.platform === 'win32') return [];
  if (process.platform !== 'linux')
    return parsePs(execFileSync('ps', ['-A', '-o', 'pid=,ppid=,command='], { encoding: 'utf8' }));
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        return [{ pid: Number(name), parent, command: readFileSync(`/proc/${name}/cmdline`, 'utf8') }];
      } catch {
        return [];
      }
    });
}

const parsePs = (output: string): ProcessEntry[] =>
  [...output.matchAll(/^\s*(\d+)\s+(\d+)\s+(.*)$/gm)].map(([, pid, parent, command = '']) => ({
    pid: Number(pid),
    parent: Number(parent),
    command,
  }));

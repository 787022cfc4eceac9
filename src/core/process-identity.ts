/** Liveness of processes on this machine: whether a process id is in use, and whether by the same process as before. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { codeOf } from './errors.ts';

export interface ProcessIdentity {
  /** Boot id and PID namespace: process ids can be compared only where both are equal. */
  readonly host: string;
  readonly pid: number;
  /**
   * Start time in clock ticks since boot, because process ids are
   * reused. Empty where the system does not report it.
   */
  readonly start: string;
}

export const ownIdentity = (): ProcessIdentity => ({
  host: hostId(),
  pid: process.pid,
  start: processStartTime(process.pid) ?? '',
});

/** Undefined when this process cannot know: the other one runs on another host, or its start time cannot be read. */
export function isProcessDead({ host, pid, start }: ProcessIdentity): boolean | undefined {
  if (host !== hostId()) return undefined;
  if (!isProcessAlive(pid)) return true;
  const current = processStartTime(pid);
  return current === undefined || start === '' ? undefined : current !== start;
}

/** A zombie counts as dead: in a container whose first process is Node, adopted children are never reaped. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if (codeOf(error) !== 'EPERM') return false;
  }
  const state = readStat(pid)?.[0];
  return state !== 'Z' && state !== 'X';
}

/** Start time in clock ticks since boot; undefined where the system does not report it. */
export const processStartTime = (pid: number): string | undefined => readStat(pid)?.[START_TIME];

export const bootId = (): string | undefined => readText('/proc/sys/kernel/random/boot_id')?.trim();

/** Field 22 of proc(5), counted from the state, which is field 3. */
const START_TIME = 19;

/** The fields of /proc/PID/stat after the command name, which may itself contain spaces and parentheses. */
function readStat(pid: number): string[] | undefined {
  const text = readText(`/proc/${pid}/stat`);
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

function hostId(): string {
  const boot = bootId();
  if (boot === undefined) return hostname();
  try {
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

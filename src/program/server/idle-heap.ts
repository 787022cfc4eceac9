/**
 * Gives back the memory that a load has left, once the server is idle: V8 collects the old heap by itself only after it
 * has grown again.
 */
import { Session } from 'node:inspector/promises';
import { type Clock, type Repetition, repeat } from '../../core/index.ts';

export const CHECK_MS = 10_000;
/** Part of a core below which the server is idle, in so many checks in a row. */
const IDLE_CORE = 0.02;
const IDLE_CHECKS = 4;
/**
 * Compiled code goes with the garbage, so that the next few thousand calls cost more: less growth than this is not
 * worth it.
 */
const GROWTH = 1.4;

export interface ProcessMemory {
  cpuMs(): number;
  bytes(): number;
  collect(): Promise<unknown>;
}

const THIS_PROCESS: ProcessMemory = {
  cpuMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
  bytes: () => process.memoryUsage.rss(),
  collect() {
    const session = new Session();
    session.connect();
    return session.post('HeapProfiler.collectGarbage').finally(() => session.disconnect());
  },
};

export function collectWhenIdle(clock: Clock, memory: ProcessMemory = THIS_PROCESS): Repetition {
  let kept = memory.bytes();
  let hasCollected = false;
  let idleChecks = 0;
  let last = { cpuMs: memory.cpuMs(), at: clock.elapsed() };
  const check = async (): Promise<void> => {
    const now = { cpuMs: memory.cpuMs(), at: clock.elapsed() };
    idleChecks = now.cpuMs - last.cpuMs < IDLE_CORE * (now.at - last.at) ? idleChecks + 1 : 0;
    last = now;
    // What a collection has left is in use; pages go back to the machine moments after it.
    if (hasCollected && idleChecks > 0) kept = Math.max(kept, memory.bytes());
    hasCollected = idleChecks >= IDLE_CHECKS && memory.bytes() > GROWTH * kept;
    if (hasCollected) await memory.collect();
  };
  return repeat(check, { clock, intervalMs: CHECK_MS, onError: () => {} });
}

/**
 * Loaded into a server before its program: writes the CPU time of every longer turn of its event loop to a file. The
 * time of a turn on the clock would count the work of other processes.
 */
import { openSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const SHORT_MS = 2;
const { TURNS_FILE: path } = process.env;
if (isMainThread && path !== undefined) watchTurns(openSync(path, 'a'));

function watchTurns(file: number): void {
  let begunMs = cpuMs();
  // Runs at the end of every turn, and, without a reference, keeps the loop from nothing.
  const endTurn = (): void => {
    const turnMs = cpuMs() - begunMs;
    if (turnMs > SHORT_MS) writeSync(file, `${turnMs.toFixed(1)}\n`);
    begunMs = cpuMs();
    setImmediate(endTurn).unref();
  };
  setImmediate(endTurn).unref();
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

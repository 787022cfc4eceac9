/** A module that a process loads first: after SIGUSR2 every turn of its event loop takes at least `SLOW_TURN_MS`. */
import { isMainThread } from 'node:worker_threads';

const turnMs = Number(process.env.SLOW_TURN_MS);

function turn(): void {
  const end = performance.now() + turnMs;
  while (performance.now() < end);
  setImmediate(turn).unref();
}

if (isMainThread) process.once('SIGUSR2', turn);

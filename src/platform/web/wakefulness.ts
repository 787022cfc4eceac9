/** Whether the server has calls. What samples the event loop several times a second rests without them. */
import type { Clock } from '../../core/index.ts';

export interface Sampler {
  pause(): void;
  resume(): void;
}

interface WakefulnessOptions {
  readonly clock: Clock;
  readonly openCalls: () => number;
  readonly samplers: readonly Sampler[];
}

const CHECK_MS = 1_000;

/** Begins awake. Returns what is to be called for every request, so it costs next to nothing. */
export function watchCalls({ clock, openCalls, samplers }: WakefulnessOptions): () => void {
  let isAwake = true;
  let isUsed = false;
  const checkLater = (): void => {
    clock.after(CHECK_MS, () => {
      isAwake = isUsed || openCalls() > 0;
      isUsed = false;
      if (isAwake) return checkLater();
      for (const sampler of samplers) sampler.pause();
    });
  };
  checkLater();
  return () => {
    isUsed = true;
    if (isAwake) return;
    isAwake = true;
    for (const sampler of samplers) sampler.resume();
    checkLater();
  };
}

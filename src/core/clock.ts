/**
 * The clock: the only module that reads the time. Tests pass a
 * `FakeClock`, so timeouts and expiries need no waiting.
 */

export interface Clock {
  /** Milliseconds since the Unix epoch. An operator or a time server may set this clock forward and back. */
  now(): number;
  /** Milliseconds on a clock that only moves forward, from an arbitrary start: for durations and expiries. */
  elapsed(): number;
  /** Runs `task` once after `ms` and returns a cancel function. A pending timer never keeps the process alive. */
  after(ms: number, task: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Whole seconds since 1970, as the APIs state times. */
export const unixSeconds = (date: Date): number => Math.floor(date.getTime() / 1_000);

/** The cost of code, for tests of its complexity. Elapsed time would also count the work of other processes. */

/** The CPU time of a synchronous function on this thread, in milliseconds. */
export function cpuMsOf(run: () => void): number {
  const begun = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(begun);
  return (user + system) / 1_000;
}

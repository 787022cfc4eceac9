/** Uncaught exceptions: the process stops in an orderly way, and ends at once when that takes too long. */
import { errorFields, type Log } from '../../core/index.ts';

/** Time for an orderly stop after an uncaught exception. */
const PANIC_MS = 10_000;

export function stopAfterPanic(log: Log, stop: () => void, endAtOnce: () => void): void {
  const panic = (error: unknown): void => {
    log.error('process.panic', errorFields(error));
    process.exitCode = 1;
    setTimeout(endAtOnce, PANIC_MS).unref();
    stop();
  };
  process.on('uncaughtException', panic);
  process.on('unhandledRejection', panic);
}

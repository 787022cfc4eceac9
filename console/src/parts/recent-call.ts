/** How pages read a call that may have just ended. */
import { Problem } from '../api/client.ts';

/** A lost connection, an overload, and a call that is not there yet. */
const RETRIED: readonly number[] = [0, 503, 404];

/** The log is written every second: a call that has just ended is missing for a moment. */
export const WRITTEN_SOON = {
  retry: (count: number, error: Error) => count < 4 && error instanceof Problem && RETRIED.includes(error.status),
  retryDelay: 750,
};

/** The limits of a key and its user on a call: a slot is held from the first check until the response is closed. */
import type { Limiter, Slot } from '../pool/index.ts';
import type { Call } from '../web/index.ts';
import type { Caller } from './caller.ts';

/** Throws or rejects when a limit is reached. Without a promise when the limits are counted in this process. */
export function acquireSlot(limiter: Limiter, call: Call, { key }: Caller): undefined | Promise<void> {
  const acquired = limiter.acquire(key);
  if (acquired instanceof Promise) return acquired.then((slot) => hold(call, slot));
  if (acquired) hold(call, acquired);
  return undefined;
}

function hold(call: Call, slot: Slot): void {
  call.headers = slot.headers;
  call.onClose(() => slot.release());
}

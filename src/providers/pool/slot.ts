/** The rate limits of a call: a slot is held from the first check until the response is closed. */
import type { LimitedKey } from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';
import type { Limiter, OperationLimit, Slot } from './limiter.ts';

/** Throws or rejects when a limit is reached. Without a promise when the limits are counted in this process. */
export function acquireSlot(
  limiter: Limiter,
  call: Call,
  key: LimitedKey,
  operation?: OperationLimit,
): undefined | Promise<void> {
  // A turn of a WebSocket that goes on over HTTP is one request.
  if (HOLDING.has(call)) return undefined;
  const acquired = limiter.acquire(key, operation);
  if (acquired instanceof Promise) return acquired.then((slot) => hold(call, slot));
  if (acquired) hold(call, acquired);
  return undefined;
}

const HOLDING = new WeakSet<Call>();

function hold(call: Call, slot: Slot): void {
  HOLDING.add(call);
  call.addHeaders(slot.headers);
  call.onClose(() => slot.release());
}

/** Faults that tests set for coming calls, and faults that apply a limited number of times. Both planes share them. */
import { createHash } from 'node:crypto';
import { invalid } from './errors.ts';
import { type CallFault, parseTrigger, type Target } from './triggers.ts';

export class Faults {
  /** Faults of the next calls, set by tests. */
  readonly #queued: CallFault[] = [];
  /** How often a fault with `times` was applied to equal requests. */
  readonly #applied = new Map<string, number>();

  /** Sets a fault for the next call, or for the next `times` calls, of the target it names. */
  next(spec: string): void {
    const { fault } = parseTrigger(spec);
    if (!fault) throw new RangeError(`"${spec}" has no word about a call; only requests can change a task or an asset`);
    this.#queued.push({ times: 1, ...fault });
  }

  /** The first queued fault that `accepts` its target; it counts as used. */
  takeQueued(accepts: (on: Target | undefined) => boolean): CallFault | undefined {
    const fault = takeFault(this.#queued, accepts);
    if (fault?.times === 0) this.#queued.splice(this.#queued.indexOf(fault), 1);
    return fault;
  }

  /** The fault, unless it was applied to equal requests often enough. `identity` is what equal requests share. */
  limited(fault: CallFault, identity: unknown): CallFault | undefined {
    if (fault.times === undefined) return fault;
    const key = createHash('sha256').update(JSON.stringify(identity)).digest('hex');
    const applied = this.#applied.get(key) ?? 0;
    if (applied >= fault.times) return undefined;
    this.#applied.set(key, applied + 1);
    return fault;
  }
}

/** The first fault that is not used up and whose target fits; it counts as used. */
export function takeFault(
  faults: readonly CallFault[],
  accepts: (on: Target | undefined) => boolean,
): CallFault | undefined {
  const fault = faults.find(({ on, times }) => times !== 0 && accepts(on));
  if (fault?.times !== undefined) fault.times -= 1;
  return fault;
}

/** A trigger with a mistake is an error of the request; otherwise a test would wait for a fault that never comes. */
export function readTriggers<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalid('trigger', error instanceof Error ? error.message : String(error));
  }
}

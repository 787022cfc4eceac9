/**
 * Opaque values for clients whose dialect has no slot for them (chat): kept for some hours by key and tool-call id, so that the
 * next turn can bring them back to their provider. In memory of this replica: a miss only means that a turn goes without.
 */
import type { Clock } from '../core/index.ts';
import type { Remembered } from '../dialects/index.ts';

const LIFETIME_MS = 6 * 3_600_000;
const MAX_ENTRIES = 50_000;
const MAX_CHARS = 256 * 1024;

export class SideTable {
  readonly #clock: Clock;
  readonly #entries = new Map<string, { value: Remembered; until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keep(keyId: string, values: ReadonlyMap<string, Remembered>): void {
    for (const [callId, value] of values) {
      if (JSON.stringify(value).length > MAX_CHARS) continue;
      const oldest = this.#entries.keys().next();
      if (this.#entries.size >= MAX_ENTRIES && !oldest.done) this.#entries.delete(oldest.value);
      this.#entries.set(`${keyId}\n${callId}`, { value, until: this.#clock.now() + LIFETIME_MS });
    }
  }

  find(keyId: string, callId: string): Remembered | undefined {
    const entry = this.#entries.get(`${keyId}\n${callId}`);
    return entry && entry.until > this.#clock.now() ? entry.value : undefined;
  }
}

/**
 * Opaque values for clients whose dialect has no slot for them (chat): kept for some hours by key and tool call or words, so that
 * the next turn can bring them back to their provider. In memory of this replica: a miss only means that a turn goes without. What
 * a conversation asks for stays: its beginning must not change while it lasts.
 */
import type { Clock } from '../../core/index.ts';
import type { OpaqueForCall } from '../../dialects/index.ts';

const LIFETIME_MS = 6 * 3_600_000;
const MAX_ENTRIES = 50_000;
const MAX_CHARS = 256 * 1024;
/** Of all entries together; fifty thousand large ones would be more than the process may have. */
const MAX_SUM = 64 * 2 ** 20;

interface Entry {
  readonly value: OpaqueForCall;
  readonly chars: number;
  readonly until: number;
}

export class OpaqueCache {
  readonly #clock: Clock;
  /** The one that was used last stands last. */
  readonly #entries = new Map<string, Entry>();
  #sum = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  put(keyId: string, values: ReadonlyMap<string, OpaqueForCall>): void {
    for (const [callId, value] of values) {
      const chars = JSON.stringify(value).length;
      if (chars <= MAX_CHARS) this.#put(`${keyId}\n${callId}`, value, chars);
    }
  }

  get(keyId: string, callId: string): OpaqueForCall | undefined {
    const id = `${keyId}\n${callId}`;
    const entry = this.#entries.get(id);
    if (!entry) return undefined;
    if (entry.until > this.#clock.now()) this.#put(id, entry.value, entry.chars);
    else this.#drop(id);
    return this.#entries.get(id)?.value;
  }

  #put(id: string, value: OpaqueForCall, chars: number): void {
    this.#drop(id);
    this.#entries.set(id, { value, chars, until: this.#clock.now() + LIFETIME_MS });
    this.#sum += chars;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_ENTRIES && this.#sum <= MAX_SUM && !this.#isOver(oldest)) return;
      this.#drop(oldest);
    }
  }

  #isOver(id: string): boolean {
    return (this.#entries.get(id)?.until ?? 0) <= this.#clock.now();
  }

  #drop(id: string): void {
    this.#sum -= this.#entries.get(id)?.chars ?? 0;
    this.#entries.delete(id);
  }
}

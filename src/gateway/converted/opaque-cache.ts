/** Opaque values for clients whose dialect cannot carry them. Every use renews an entry: the beginning of a conversation must not change while it lasts. */
import type { Clock } from '../../core/index.ts';
import type { OpaqueForCall } from '../../dialects/index.ts';

const LIFETIME_MS = 6 * 3_600_000;
const MAX_ENTRIES = 50_000;
const MAX_CHARS = 256 * 1024;
/** All entries together: 50,000 of the largest would be 12 GiB. */
const MAX_TOTAL_CHARS = 64 * 2 ** 20;

interface Entry {
  readonly value: OpaqueForCall;
  readonly chars: number;
  readonly expiresAt: number;
}

export class OpaqueCache {
  readonly #clock: Clock;
  /** In order of use, the most recent last. */
  readonly #entries = new Map<string, Entry>();
  #totalChars = 0;

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
    if (entry.expiresAt > this.#clock.now()) this.#put(id, entry.value, entry.chars);
    else this.#drop(id);
    return this.#entries.get(id)?.value;
  }

  #put(id: string, value: OpaqueForCall, chars: number): void {
    this.#drop(id);
    this.#entries.set(id, { value, chars, expiresAt: this.#clock.now() + LIFETIME_MS });
    this.#totalChars += chars;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_ENTRIES && this.#totalChars <= MAX_TOTAL_CHARS && !this.#isExpired(oldest)) return;
      this.#drop(oldest);
    }
  }

  #isExpired(id: string): boolean {
    return (this.#entries.get(id)?.expiresAt ?? 0) <= this.#clock.now();
  }

  #drop(id: string): void {
    this.#totalChars -= this.#entries.get(id)?.chars ?? 0;
    this.#entries.delete(id);
  }
}

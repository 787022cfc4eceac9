/**
 * Opaque values for clients whose dialect cannot carry them.
 * Every use renews an entry: the beginning of a conversation must not change while it lasts.
 */
import { type Clock, RecentMap } from '../../core/index.ts';
import type { OpaqueForCall } from '../../dialects/index.ts';

const LIFETIME_MS = 6 * 3_600_000;
const MAX_ENTRIES = 50_000;
const MAX_CHARS = 256 * 1024;
/** All entries together: 50,000 of the largest would be 12 GiB. */
const MAX_TOTAL_CHARS = 64 * 2 ** 20;

const charsOf = (value: OpaqueForCall): number => JSON.stringify(value).length;

export class OpaqueCache {
  readonly #values: RecentMap<string, OpaqueForCall>;

  constructor(clock: Clock) {
    const lifetime = { clock, ms: LIFETIME_MS };
    this.#values = new RecentMap({ entries: MAX_ENTRIES, size: MAX_TOTAL_CHARS, sizeOf: charsOf, lifetime });
  }

  put(keyId: string, values: ReadonlyMap<string, OpaqueForCall>): void {
    for (const [callId, value] of values)
      if (charsOf(value) <= MAX_CHARS) this.#values.set(`${keyId}\n${callId}`, value);
  }

  get(keyId: string, callId: string): OpaqueForCall | undefined {
    return this.#values.renew(`${keyId}\n${callId}`);
  }
}

/**
 * A map of limited size: what was not used for longest goes first,
 * and what is older than the time limit counts as gone.
 */
import type { Clock } from './clock.ts';

export interface RecentMapLimits<V> {
  readonly entries: number;
  /** Of all values together, as `sizeOf` counts them. */
  readonly size?: number;
  readonly sizeOf?: (value: V) => number;
  /** How long a value lives after it was set. */
  readonly lifetime?: { readonly clock: Pick<Clock, 'elapsed'>; readonly ms: number };
}

interface Entry<V> {
  readonly value: V;
  readonly size: number;
  readonly setAt: number;
}

export class RecentMap<K, V> {
  readonly #limits: RecentMapLimits<V>;
  /** In order of use, the most recent last. */
  readonly #entries = new Map<K, Entry<V>>();
  #size = 0;

  constructor(limits: RecentMapLimits<V>) {
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  values(): V[] {
    return [...this.#entries.values()].map(({ value }) => value);
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    return entry && !this.#isOver(entry) ? entry.value : undefined;
  }

  /** As `get`; the value is then the one that was used last, and ends when it would have before. */
  use(key: K): V | undefined {
    return this.#move(key, (entry) => entry);
  }

  /** The same, and it lives as long as one that is set now. */
  renew(key: K): V | undefined {
    return this.#move(key, (entry) => ({ ...entry, setAt: this.#now }));
  }

  #move(key: K, change: (entry: Entry<V>) => Entry<V>): V | undefined {
    const entry = this.#entries.get(key);
    this.delete(key);
    if (!entry || this.#isOver(entry)) return undefined;
    this.#add(key, change(entry));
    return entry.value;
  }

  set(key: K, value: V): void {
    const { entries, size = Number.POSITIVE_INFINITY, sizeOf } = this.#limits;
    this.delete(key);
    this.#add(key, { value, size: sizeOf?.(value) ?? 0, setAt: this.#now });
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= entries && this.#size <= size && !this.#isOver(entry)) return;
      this.delete(oldest);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#size = 0;
  }

  delete(key: K): void {
    this.#size -= this.#entries.get(key)?.size ?? 0;
    this.#entries.delete(key);
  }

  #add(key: K, entry: Entry<V>): void {
    this.#entries.set(key, entry);
    this.#size += entry.size;
  }

  #isOver({ setAt }: Entry<V>): boolean {
    return this.#now - setAt >= (this.#limits.lifetime?.ms ?? Number.POSITIVE_INFINITY);
  }

  get #now(): number {
    return this.#limits.lifetime?.clock.elapsed() ?? 0;
  }
}

/**
 * Who holds this key? Answered from memory for a few seconds, so that the hot path makes no query. Entries are found by the
 * SHA-256 of the whole value; a change of any key empties the memory on every replica (src/db/watch.ts), and no entry
 * outlives `PROPAGATION_MS` even when that message is lost.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import { PROPAGATION_MS } from '../rules/index.ts';
import { isKeyFormat } from './key-format.ts';
import { findKey, hashKey, type Key } from './keys.ts';

/** Refreshed well before the limit, since a look-up takes time too. */
const MEMORY_MS = PROPAGATION_MS - 1_000;
const MAX_ENTRIES = 10_000;

interface Entry {
  readonly key: Key | undefined;
  readonly until: number;
}

export class KeyCache {
  readonly #db: Db;
  readonly #pepper: Buffer;
  readonly #clock: Clock;
  readonly #admin: string | undefined;
  readonly #entries = new Map<string, Entry>();
  readonly #pending = new Map<string, Promise<Key | undefined>>();
  /** Counts how often the memory was emptied; an answer that was asked for before must not be remembered after. */
  #generation = 0;

  /** The admin token opens nothing of callers, even where somebody made a key of the same value. */
  constructor(db: Db, pepper: Buffer, clock: Clock, adminToken?: string) {
    this.#admin = adminToken === undefined ? undefined : nameOf(adminToken);
    this.#db = db;
    this.#pepper = pepper;
    this.#clock = clock;
  }

  /** A plain value when it is remembered, a promise when it must be looked up. */
  find(token: string): Key | undefined | Promise<Key | undefined> {
    if (!isKeyFormat(token)) return undefined;
    const name = nameOf(token);
    if (name === this.#admin) return undefined;
    const now = this.#clock.now();
    const entry = this.#entries.get(name);
    if (entry && entry.until > now) return isLive(entry.key, now) ? entry.key : undefined;
    return this.#lookUp(name, token);
  }

  forget(): void {
    this.#generation += 1;
    this.#entries.clear();
    this.#pending.clear();
  }

  #lookUp(name: string, token: string): Promise<Key | undefined> {
    const pending = this.#pending.get(name);
    if (pending) return pending;
    const generation = this.#generation;
    const query = findKey(this.#db, hashKey(token, this.#pepper), this.#clock.now())
      .then((key) => {
        if (generation === this.#generation) this.#remember(name, key);
        return key;
      })
      .finally(() => {
        if (this.#pending.get(name) === query) this.#pending.delete(name);
      });
    this.#pending.set(name, query);
    return query;
  }

  #remember(name: string, key: Key | undefined): void {
    this.#entries.delete(name);
    const oldest = this.#entries.keys().next();
    if (this.#entries.size >= MAX_ENTRIES && !oldest.done) this.#entries.delete(oldest.value);
    this.#entries.set(name, { key, until: this.#clock.now() + MEMORY_MS });
  }
}

const nameOf = (token: string): string => hash('sha256', token, 'base64');

const isLive = (key: Key | undefined, now: number): boolean =>
  key !== undefined && (key.expiresAt === null || key.expiresAt > now);

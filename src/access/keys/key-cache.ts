/**
 * Cache of API keys by SHA-256, cleared by any change and expired before `PROPAGATION_MS`. Without the database keys
 * stay valid for half a minute (ADR 6).
 */
import { hash } from 'node:crypto';
import { type Clock, isKeyFormat, RecentMap, within } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { PROPAGATION_MS } from '../../rules/index.ts';
import { findKey, type Key } from './keys.ts';

/** One second below the limit, because the query takes time too. */
const ENTRY_MS = PROPAGATION_MS - 1_000;
/** How long a key is used without the database: as long as a replica trusts its wallet leases. */
const OUTAGE_MS = 30_000;
/** A call with a key that was valid a moment ago waits this long for a slow database. */
const SLOW_MS = 500;
const MAX_ENTRIES = 10_000;
/** Queries at a time for keys that addresses with many failures send, and that were not valid before. */
const MAX_SUSPECT_QUERIES = 16;

interface Entry {
  readonly key: Key | undefined;
  /** By `clock.elapsed()`. */
  readonly readAt: number;
}

export class KeyCache {
  readonly #db: Db;
  readonly #pepper: Buffer;
  readonly #clock: Clock;
  readonly #adminHash: string | undefined;
  readonly #entries = new RecentMap<string, Entry>({ entries: MAX_ENTRIES });
  readonly #pending = new Map<string, Promise<Key | undefined>>();
  /** Digests that were valid at their last query. */
  readonly #wasValid = new RecentMap<string, true>({ entries: MAX_ENTRIES });
  /** Counts clears. A query that began before a clear must not store its result. */
  #generation = 0;
  /** The last query failed or is late: calls with a key that was valid a moment ago do not wait for the next one. */
  #isDatabaseAway = false;

  /** The admin token is never a valid API key, even if a key with the same value exists. */
  constructor(db: Db, pepper: Buffer, clock: Clock, adminToken?: string) {
    this.#adminHash = adminToken === undefined ? undefined : digestOf(adminToken);
    this.#db = db;
    this.#pepper = pepper;
    this.#clock = clock;
  }

  /**
   * A promise when a query is needed. `isSuspect`: the address failed often, so few queries for unknown keys run at a
   * time; other keys count as unknown.
   */
  find(token: string, isSuspect = false): Key | undefined | Promise<Key | undefined> {
    if (!isKeyFormat(token)) return undefined;
    const digest = digestOf(token);
    if (digest === this.#adminHash) return undefined;
    const now = this.#clock.now();
    const entry = this.#entries.get(digest);
    if (!entry) return this.#lookUpUnlessSuspect(digest, token, isSuspect);
    const age = this.#clock.elapsed() - entry.readAt;
    const known = isLive(entry.key, now) ? entry.key : undefined;
    if (age < ENTRY_MS) return known;
    const query = this.#lookUpUnlessSuspect(digest, token, isSuspect);
    return known && query && age < OUTAGE_MS ? this.#newerThan(known, query) : query;
  }

  clear(): void {
    this.#generation += 1;
    this.#entries.clear();
    this.#pending.clear();
  }

  #newerThan(known: Key, query: Promise<Key | undefined>): Key | Promise<Key | undefined> {
    const result = query.catch(() => known);
    if (this.#isDatabaseAway) return known;
    return within<Key | undefined>(result, {
      clock: this.#clock,
      ms: SLOW_MS,
      late: () => {
        this.#isDatabaseAway = true;
        return known;
      },
    });
  }

  #lookUpUnlessSuspect(digest: string, token: string, isSuspect: boolean): Promise<Key | undefined> | undefined {
    // A query that runs already costs nothing more.
    const isUnknown = isSuspect && !this.#wasValid.get(digest) && !this.#pending.has(digest);
    return isUnknown && this.#pending.size >= MAX_SUSPECT_QUERIES ? undefined : this.#lookUp(digest, token);
  }

  #lookUp(digest: string, token: string): Promise<Key | undefined> {
    const pending = this.#pending.get(digest);
    if (pending) return pending;
    const generation = this.#generation;
    const query = findKey(this.#db, token, this.#pepper, this.#clock.now())
      .then(
        (key) => {
          this.#isDatabaseAway = false;
          if (generation === this.#generation) this.#store(digest, key);
          return key;
        },
        (error: unknown) => {
          this.#isDatabaseAway = true;
          throw error;
        },
      )
      .finally(() => {
        if (this.#pending.get(digest) === query) this.#pending.delete(digest);
      });
    this.#pending.set(digest, query);
    return query;
  }

  #store(digest: string, key: Key | undefined): void {
    this.#entries.set(digest, { key, readAt: this.#clock.elapsed() });
    if (key) this.#wasValid.set(digest, true);
    else this.#wasValid.delete(digest);
  }
}

const digestOf = (token: string): string => hash('sha256', token, 'base64');

const isLive = (key: Key | undefined, now: number): boolean =>
  key !== undefined && (key.expiresAt === null || key.expiresAt > now);

/**
 * What the stored responses of keys and users take, against their limits.
 * Known from the last write of this process and what it has stored since, so that no request waits for the database;
 * only a refusal asks it first, because others may have deleted responses.
 */
import { sql } from 'kysely';
import { RecentMap } from '../../core/index.ts';
import type { Db, Row } from '../../platform/db/index.ts';
import { STORED } from '../../rules/index.ts';

export interface StoringKey {
  readonly userId: string;
  readonly keyId: string;
}

/** Users whose sums are kept; a forgotten one is read again at the next write. */
const MAX_USERS = 10_000;

export class StoredRoom {
  readonly #db: Db;
  /** Bytes by key, of each user. */
  readonly #known = new RecentMap<string, Map<string, number>>({ entries: MAX_USERS });

  constructor(db: Db) {
    this.#db = db;
  }

  /** Which limit is reached; undefined while there is room. */
  async limitOf(key: StoringKey): Promise<string | undefined> {
    if (!this.reached(key)) return undefined;
    await this.learn([key.userId]).catch(() => undefined);
    return this.reached(key);
  }

  reached({ userId, keyId }: StoringKey): string | undefined {
    const byKey = this.#known.get(userId);
    if (!byKey) return undefined;
    if ((byKey.get(keyId) ?? 0) >= STORED.keyBytes) return `this API key fill ${STORED.keyBytes / 2 ** 20} MiB`;
    const sum = byKey.values().reduce((total, bytes) => total + bytes, 0);
    return sum >= STORED.userBytes ? `this user fill ${STORED.userBytes / 2 ** 20} MiB` : undefined;
  }

  add({ userId, keyId }: StoringKey, bytes: number): void {
    const byKey = this.#known.get(userId) ?? new Map<string, number>();
    byKey.set(keyId, (byKey.get(keyId) ?? 0) + bytes);
    this.#known.set(userId, byKey);
  }

  /** Reads the sums of the users. */
  async learn(userIds: readonly string[]): Promise<void> {
    const { rows } = await sql<Row<'stored_bytes'>>`
      select * from stored_bytes where user_id = any(${[...new Set(userIds)]}::text[])`.execute(this.#db);
    for (const userId of userIds) this.#known.delete(userId);
    for (const { user_id: userId, key_id: keyId, bytes } of rows) this.add({ userId, keyId }, Number(bytes));
  }
}

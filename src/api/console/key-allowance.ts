/** What the operator lets the people of a user do with keys. */
import { sql } from 'kysely';
import { fail, failAt } from '../../core/index.ts';
import { type Db, firstRow, type Row } from '../../platform/db/index.ts';

export interface KeyAllowance {
  readonly max_keys: number;
  /** Null: every group. */
  readonly key_groups: readonly string[] | null;
  readonly limits: unknown;
}

export const readAllowance = (db: Db, userId: string): Promise<KeyAllowance> =>
  db
    .selectFrom('users')
    .select(['max_keys', 'key_groups', 'limits'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow();

/** Valid keys that were made in the console. */
export async function countOwnKeys(db: Db, userId: string, now: number): Promise<number> {
  const own = await firstRow(db)<{ count: number }>`
    select count(*)::int as count from keys where user_id = ${userId} and is_own and revoked_at is null
      and (expires_at is null or expires_at > ${new Date(now)})`;
  return own?.count ?? 0;
}

/** Provider groups in which the user may make keys. */
export async function openGroups(db: Db, { key_groups }: KeyAllowance) {
  const { rows } = await sql<Pick<Row<'groups'>, 'id' | 'name' | 'style'>>`
    select id, name, style from groups where style <> 'video' order by position, id`.execute(db);
  return rows.filter(({ id }) => key_groups === null || key_groups.includes(id));
}

/** The video groups of a key that the user makes; undefined for every group. */
export async function openVideoGroups(db: Db, { key_groups }: KeyAllowance): Promise<string[] | undefined> {
  if (key_groups === null) return undefined;
  const groups = await db.selectFrom('groups').select('id').where('style', '=', 'video').orderBy('position').execute();
  return groups.map(({ id }) => id).filter((id) => key_groups.includes(id));
}

export const expectGroups = ({ key_groups }: KeyAllowance, groups: readonly string[]): void => {
  const closed = key_groups && groups.find((group) => !key_groups.includes(group));
  if (typeof closed === 'string')
    throw failAt('not_permitted', 'group', `your operator does not let you make keys in "${closed.slice(0, 80)}".`);
};

/**
 * The user is locked, so that two requests cannot both make the last key. `spare`: room for keys that are being
 * replaced.
 */
export async function expectRoom(tx: Db, userId: string, now: number, spare = 0): Promise<void> {
  const { max_keys } = await readAllowance(tx, userId);
  if ((await countOwnKeys(tx, userId, now)) >= max_keys + spare)
    throw fail(
      'not_permitted',
      max_keys === 0
        ? 'Your operator does not let you make keys; ask for one.'
        : `You may have ${max_keys} keys; revoke one first, or ask your operator for more.`,
    );
}

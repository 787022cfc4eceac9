/** The keys of the schema allow wallets and their records to be distributed by user, but for the exceptions in distribution.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { openDatabase } from '../../src/platform/db/index.ts';
import { testDatabase } from '../support/database.ts';
import { DISTRIBUTION, type Distribution } from './distribution.ts';

interface Key {
  readonly table: keyof typeof DISTRIBUTION;
  readonly columns: readonly string[];
  /** The table that a foreign key refers to. */
  readonly target: keyof typeof DISTRIBUTION | null;
}

test('every table that calls write to has its user in each key, except those that are listed with a reason', async () => {
  const database = await testDatabase();
  const { db, close } = openDatabase(database.url, 2);
  try {
    const { rows } = await sql<Key>`
      select i.indrelid::regclass::text as table, null as target,
        array(select attname::text from unnest(i.indkey) with ordinality k (n, place)
          join pg_attribute on attrelid = i.indrelid and attnum = k.n order by place) as columns
      from pg_index i join pg_class c on c.oid = i.indrelid
      where i.indisunique and c.relnamespace = 'public'::regnamespace and c.relname not like 'kysely%'
      union all
      select conrelid::regclass::text, confrelid::regclass::text,
        array(select attname::text from unnest(conkey) with ordinality k (n, place)
          join pg_attribute on attrelid = conrelid and attnum = k.n order by place)
      from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace`.execute(db);
    const found = rows.filter(isWithoutUser).map(({ table, ...key }) => `${table}: ${nameOf(key)}`);
    const listed = Object.entries<Distribution>(DISTRIBUTION).flatMap(([table, { except = {} }]) =>
      Object.keys(except).map((key) => `${table}: ${key}`),
    );
    assert.deepEqual(found.sort(), listed.sort());
  } finally {
    await close();
    await database.drop();
  }
});

/** A foreign key to a reference table needs no user, because every server has a copy. */
function isWithoutUser({ table, columns, target }: Key): boolean {
  const { by, column = 'user_id' } = DISTRIBUTION[table];
  const isFree = by !== 'user' || (target !== null && DISTRIBUTION[target].by === 'reference');
  return !isFree && !columns.includes(column);
}

const nameOf = ({ columns, target }: Omit<Key, 'table'>): string =>
  target === null ? columns.join(',') : `${columns.join(',')} -> ${target}`;

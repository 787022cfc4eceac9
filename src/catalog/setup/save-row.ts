/** Saves one configured object as a row, and reports whether it was created or changed. */
import { type Insertable, sql } from 'kysely';
import type { Rows, Tx } from '../../platform/db/index.ts';
import type { AppliedConfig } from '../../schemas/index.ts';

export type Change = AppliedConfig['changes'][number];

/** An undefined `what` records nothing. */
export type RecordChange = (what: Change['what'] | undefined, object: string) => void;

type Table = 'groups' | 'accounts' | 'models' | 'users' | 'characters';

export interface RowInput<T extends Table> {
  readonly table: T;
  /** Columns that identify the row. */
  readonly identity: Readonly<Record<string, string>>;
  /** An undefined column keeps its stored value. */
  readonly columns: Readonly<Record<string, unknown>>;
  /** Values of a new row for undefined columns. */
  readonly defaults?: Readonly<Record<string, unknown>>;
}

/**
 * Inserts the row, or updates it when a column differs. Reads before it writes: an update, even of no row, would raise the revision
 * and make every replica reload.
 */
export async function saveRow<T extends Table>(tx: Tx, row: RowInput<T>): Promise<'created' | 'changed' | undefined> {
  const { table, identity, columns } = row;
  const entries = Object.entries(withoutUndefined(columns));
  const where = sql.join(
    Object.entries(identity).map(([name, value]) => sql`${sql.ref(name)} = ${value}`),
    sql` and `,
  );
  const differs = sql.join(
    [sql`false`, ...entries.map(([name, value]) => sql`${sql.ref(name)} is distinct from ${value}`)],
    sql` or `,
  );
  const { rows } = await sql<{ differs: boolean }>`
    select ${differs} as differs from ${sql.table(table)} where ${where}`.execute(tx);
  const [stored] = rows;
  // Another transaction may have created it since.
  if (!stored) return (await insertRow(tx, row)) ? 'created' : saveRow(tx, row);
  if (!stored.differs) return undefined;
  const assignments = sql.join(entries.map(([name, value]) => sql`${sql.ref(name)} = ${value}`));
  await sql`update ${sql.table(table)} set ${assignments} where ${where}`.execute(tx);
  return 'changed';
}

/** False when there is such a row. */
export async function insertRow<T extends Table>(
  tx: Tx,
  { table, identity, columns, defaults }: RowInput<T>,
): Promise<boolean> {
  const row = { ...identity, ...defaults, ...withoutUndefined(columns) } as Insertable<Rows[T]>;
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto(table)
    .values(row as never)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

export const withoutUndefined = <T extends object>(value: { [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;

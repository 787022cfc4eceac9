/** Saves one configured object as a row, and reports whether it was created or changed. */
import { type Insertable, sql } from 'kysely';
import { defined, newId, type StoredLimits } from '../../core/index.ts';
import { firstRow, type Rows, type Tx } from '../../platform/db/index.ts';
import { type AppliedConfig, columnsOf, type SetupFile, withoutLimits } from '../../schemas/index.ts';

export type Change = AppliedConfig['changes'][number];

/** An undefined `what` records nothing. */
export type RecordChange = (what: Change['what'] | undefined, object: string) => void;

type Table = 'groups' | 'accounts' | 'models' | 'users' | 'characters';

export interface RowInput<T extends Table> {
  readonly table: T;
  readonly identity: Readonly<Record<string, string>>;
  /** An undefined column keeps its stored value. */
  readonly columns: Readonly<Record<string, unknown>>;
  /** Values of a new row for undefined columns. */
  readonly defaults?: Readonly<Record<string, unknown>>;
}

/**
 * Inserts the row, or updates it when a column differs. Reads first, because even an update of no row makes every
 * replica reload.
 */
export async function saveRow<T extends Table>(tx: Tx, row: RowInput<T>): Promise<'created' | 'changed' | undefined> {
  const { table, identity, columns } = row;
  const entries = Object.entries(defined(columns));
  const where = sql.join(
    Object.entries(identity).map(([name, value]) => sql`${sql.ref(name)} = ${value}`),
    sql` and `,
  );
  const differs = sql.join(
    [sql`false`, ...entries.map(([name, value]) => sql`${sql.ref(name)} is distinct from ${value}`)],
    sql` or `,
  );
  const stored = await firstRow(tx)<{ differs: boolean }>`
    select ${differs} as differs from ${sql.table(table)} where ${where}`;
  // Another transaction may have created it since.
  if (!stored) return (await insertRow(tx, row)) ? 'created' : saveRow(tx, row);
  if (!stored.differs) return undefined;
  const assignments = sql.join(entries.map(([name, value]) => sql`${sql.ref(name)} = ${value}`));
  await sql`update ${sql.table(table)} set ${assignments} where ${where}`.execute(tx);
  return 'changed';
}

export async function insertRow<T extends Table>(
  tx: Tx,
  { table, identity, columns, defaults }: RowInput<T>,
): Promise<boolean> {
  const row = { ...identity, ...defaults, ...defined(columns) } as Insertable<Rows[T]>;
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto(table)
    .values(row as never)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

type Entry<L extends keyof SetupFile> = SetupFile[L][number];
/** Null removes what is stored; what is absent stays. */
type Changed<E, N extends keyof E> = { readonly [K in Exclude<keyof E, N>]?: E[K] | null | undefined } & Pick<E, N>;

export const groupRow = ({ id, variant, ...group }: Entry<'groups'>, position: number): RowInput<'groups'> => ({
  table: 'groups',
  identity: { id },
  columns: { ...columnsOf(group), variant: variant ?? null, position },
  defaults: { name: id },
});

/** Without its prices. The order of the models of a group decides about their positions. */
export const modelRow = (
  { id, groups: _, prices: __, cost: ___, valid_from: ____, ...model }: Entry<'models'>,
  group: string,
  position: number,
): RowInput<'models'> => ({
  table: 'models',
  identity: { group_id: group, pattern: id },
  columns: columnsOf(model),
  defaults: { position },
});

/** Without its money. `limits` replace all stored ones. */
export function userRow(user: Changed<Entry<'users'>, 'id'>, limits: StoredLimits | undefined): RowInput<'users'> {
  const { id, balance: _, ...members } = withoutLimits(user);
  return { table: 'users', identity: { id }, columns: columnsOf({ ...members, limits }) };
}

export const characterRow = (
  { id, ...character }: Changed<Entry<'characters'>, 'id'>,
  position?: number,
): RowInput<'characters'> => ({
  table: 'characters',
  identity: { id },
  columns: { ...columnsOf(character), position },
  defaults: { public_id: newId('char') },
});

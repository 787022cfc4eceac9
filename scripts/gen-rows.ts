/** Generates migrations/rows.ts from the schema of a migrated database. */
import type pg from 'pg';

const SCALARS: Record<string, string> = {
  text: 'string',
  int2: 'number',
  int4: 'number',
  int8: 'bigint',
  bool: 'boolean',
  bytea: 'Buffer',
  jsonb: 'Json',
  timestamptz: 'Timestamp',
  date: 'string',
  _text: 'string[]',
  _int4: 'number[]',
  float4: 'number',
  float8: 'number',
  numeric: 'string',
  uuid: 'string',
};

interface Column {
  table_name: string;
  column_name: string;
  udt_name: string;
  is_nullable: 'YES' | 'NO';
  has_default: boolean;
  is_computed: boolean;
}

export async function renderRows(client: pg.Client): Promise<string> {
  const { rows } = await client.query<Column>(`
    select table_name, column_name, udt_name, is_nullable, (column_default is not null or is_identity = 'YES') as has_default,
      is_generated = 'ALWAYS' as is_computed
    from information_schema.columns
    where table_schema = 'public' and table_name not like 'kysely_%'
    order by table_name, ordinal_position`);
  const tables = Map.groupBy(rows, (row) => row.table_name);
  const parts = [
    '/** Row types, generated from the migrated schema by `npm run gen`. Do not edit. */',
    "import type { ColumnType, Generated, GeneratedAlways } from 'kysely';",
    '',
    'export type Json = ColumnType<unknown, string, string>;',
    'type Timestamp = ColumnType<Date, Date | string, Date | string>;',
  ];
  for (const [table, columns] of tables) {
    parts.push(
      '',
      `export interface ${pascal(table)}Row {`,
      ...columns.map((column) => `  ${column.column_name}: ${typeOf(column)};`),
      '}',
    );
  }
  parts.push(
    '',
    'export interface Rows {',
    ...[...tables.keys()].map((table) => `  ${table}: ${pascal(table)}Row;`),
    '}',
    '',
  );
  return parts.join('\n');
}

function typeOf(column: Column): string {
  const scalar = SCALARS[column.udt_name];
  if (!scalar) throw new Error(`${column.table_name}.${column.column_name}: no type for ${column.udt_name}`);
  const nullable = column.is_nullable === 'YES' ? `${scalar} | null` : scalar;
  if (column.is_computed) return `GeneratedAlways<${nullable}>`;
  if (!column.has_default) return nullable;
  if (scalar === 'Timestamp') return 'ColumnType<Date, Date | string | undefined, Date | string>';
  if (scalar === 'Json') return 'ColumnType<unknown, string | undefined, string>';
  return `Generated<${nullable}>`;
}

const pascal = (name: string): string => name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

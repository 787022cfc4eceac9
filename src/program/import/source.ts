/**
 * The database of another gateway: a SQLite file or a PostgreSQL address. It is only ever read. Every value is text,
 * whatever the database calls its type, so that the readers are the same for both and no number passes through a float.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { connect } from '../../platform/db/index.ts';
import type { ForeignGateway } from '../../rules/index.ts';

export interface SourceInput {
  readonly source: ForeignGateway;
  /** A SQLite file or a PostgreSQL address. Undefined for LiteLLM without a database. */
  readonly address: string | undefined;
  /** The text of the YAML file of LiteLLM. */
  readonly config?: string | undefined;
  /** What the option API of new-api or one-api has responded. */
  readonly options?: string | undefined;
  readonly saltKey?: string | undefined;
  readonly variable: (name: string) => string | undefined;
  readonly label: string;
  readonly balance?: string | undefined;
}

/** What keeps a source from being read; the message is for the operator. */
export class SourceError extends Error {}

export type SourceRow = Readonly<Record<string, string | undefined>>;

export interface SourceDb {
  /** In the order of the first of its columns that is an id. None when there is no such table. */
  rows(table: string): Promise<readonly SourceRow[]>;
  values(table: string, column: string): Promise<readonly string[]>;
  count(table: string): Promise<number>;
  close(): Promise<void>;
}

/** All rows are in memory at once. */
const MAX_ROWS = 500_000;

interface Reader {
  /** SQL that gives the column as text. None when there is no such table. */
  columns(table: string): Promise<readonly { readonly name: string; readonly asText: string }[]>;
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

export async function openSource(address: string): Promise<SourceDb> {
  if (/^mysql|^mariadb|@tcp\(/.test(address))
    throw new SourceError(
      'MySQL is not read directly; copy its tables into a SQLite file first, as docs/switching/README.md shows',
    );
  const reader = /^postgres(?:ql)?:\/\//.test(address) ? await readPostgres(address) : readSqlite(address);
  return {
    rows: async (table) => {
      const columns = await reader.columns(table);
      if (columns.length === 0) return [];
      const key = columns.find(({ name }) => /^(?:id|key|token|\w+_id)$/.test(name)) ?? columns[0];
      const rows = await reader.query(
        `select ${columns.map(({ name, asText }) => `${asText} as ${quote(name)}`).join(', ')} from ${quote(table)} order by ${quote(key?.name ?? '')} limit ${MAX_ROWS + 1}`,
      );
      if (rows.length > MAX_ROWS) throw new SourceError(`the table ${table} has more than ${MAX_ROWS} rows`);
      return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value)])));
    },
    values: async (table, column) => {
      if (!(await reader.columns(table)).some(({ name }) => name === column)) return [];
      const rows = await reader.query(
        `select distinct ${quote(column)} as value from ${quote(table)} order by 1 limit ${MAX_ROWS}`,
      );
      return rows.flatMap(({ value }) => textOf(value) ?? []);
    },
    count: async (table) => {
      if ((await reader.columns(table)).length === 0) return 0;
      const [row] = await reader.query(`select count(*) as n from ${quote(table)}`);
      return Number(row?.n ?? 0);
    },
    close: () => reader.close(),
  };
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** JSON that GORM writes to SQLite is a blob. */
const textOf = (value: unknown): string | undefined =>
  value === null || value === undefined
    ? undefined
    : value instanceof Uint8Array
      ? Buffer.from(value).toString('utf8')
      : String(value);

function readSqlite(path: string): Reader {
  if (!existsSync(path)) throw new SourceError(`there is no file ${path}`);
  const database = new DatabaseSync(path, { readOnly: true });
  const query = (sql: string) => {
    const statement = database.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all();
  };
  try {
    // All tables as of one moment, while the other gateway may be running.
    database.exec('begin');
    query('select name from sqlite_master limit 1');
  } catch (cause) {
    throw new SourceError(`${path} is not a SQLite database`, { cause });
  }
  return {
    columns: async (table) =>
      query(`select name from pragma_table_info('${table.replaceAll("'", "''")}')`).map(({ name }) => ({
        name: String(name),
        asText: quote(String(name)),
      })),
    query: async (sql) => query(sql),
    close: async () => database.close(),
  };
}

/** One snapshot of the whole database, in which nothing can be written. */
async function readPostgres(url: string): Promise<Reader> {
  const client = await connect(url);
  await client.query('begin transaction isolation level repeatable read read only').catch(async (error: unknown) => {
    await client.end();
    throw error;
  });
  return {
    columns: async (table) => {
      const { rows } = await client.query(
        'select column_name as name, data_type as type from information_schema.columns where table_schema = current_schema() and table_name = $1 order by ordinal_position',
        [table],
      );
      return rows.map(({ name, type }: { name: string; type: string }) => ({
        name,
        asText: asText(quote(name), type),
      }));
    },
    query: async (sql) => (await client.query(sql)).rows,
    close: () => client.end(),
  };
}

/** Times without a zone are those of UTC, as ORMs write them. */
function asText(column: string, type: string): string {
  if (type === 'ARRAY') return `to_json(${column})::text`;
  if (!type.startsWith('timestamp')) return `${column}::text`;
  const utc = type === 'timestamp with time zone' ? `${column} at time zone 'UTC'` : column;
  return `to_char(${utc}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/**
 * Export of one database: all tables as of one moment, while servers keep working, unchanged (docs/adr/0018-export.md).
 */
import { PEPPER_LOCATION } from '../../access/keys/index.ts';
import { connectForCopy, copyOut, type Database, readMigrationState } from '../../platform/db/index.ts';
import { version } from '../../platform/version.ts';
import { BackupError, FORMAT, FrameWriter, type Header } from './frames.ts';
import { type ExportedTable, OPTIONAL_TABLES, quoted, readPartitions, readSequences, readTables } from './tables.ts';

type Client = Awaited<ReturnType<typeof connectForCopy>>;

/** Text of values must not depend on the settings of a server or a role. */
export const SESSION_SETTINGS = `set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres';
  set bytea_output = 'hex'; set extra_float_digits = 1; set statement_timeout = 0; set idle_in_transaction_session_timeout = 0`;

/** A change of the schema that runs just now, such as the removal of an old month, takes less. */
const LOCK_MS = 30_000;

export interface ExportTotals {
  tables: number;
  rows: number;
}

/** Yields the frames of the export. Memory does not depend on the size of the database. */
export async function* exportFrames(
  database: Database,
  totals: ExportTotals,
  { hasCaptures }: { readonly hasCaptures: boolean } = { hasCaptures: false },
): AsyncGenerator<Buffer> {
  const { done: migrations } = await readMigrationState(database.db);
  if (migrations.length === 0) throw new BackupError('the database is empty, so there is nothing to export');
  const client = await connectForCopy(database.url);
  try {
    const tables = (await readTables(client)).filter(({ name }) => hasCaptures || !OPTIONAL_TABLES.includes(name));
    yield* framesOf(client, tables, migrations, totals);
  } finally {
    await client.end();
  }
}

async function* framesOf(
  client: Client,
  tables: readonly ExportedTable[],
  migrations: readonly string[],
  totals: ExportTotals,
): AsyncGenerator<Buffer> {
  await client.query(SESSION_SETTINGS);
  await openSnapshot(client, tables);
  const writer = new FrameWriter();
  yield writer.json('header', await readHeader(client, migrations));
  for (const table of tables) {
    yield writer.json('table', { table: table.name, columns: table.columns });
    let rows = 0;
    for await (const batch of copyOut(client, statementFor(table))) {
      rows += countRows(batch);
      yield writer.bytes('rows', batch);
    }
    yield writer.json('tableEnd', { rows });
    totals.tables += 1;
    totals.rows += rows;
  }
  yield writer.json('sequences', await readSequences(client));
  yield writer.end(totals.rows);
  await client.query('commit');
}

/**
 * The locks come first: a month that is removed after the snapshot would be missing without an error. They block no
 * reader or writer.
 */
async function openSnapshot(client: Client, tables: readonly ExportedTable[]): Promise<void> {
  await client.query(`set lock_timeout = ${LOCK_MS}`);
  await client.query('begin isolation level repeatable read read only');
  await client.query(`lock table ${tables.map(({ name }) => quoted(name)).join(', ')} in access share mode`);
}

async function readHeader(client: Client, migrations: readonly string[]): Promise<Header> {
  const { rows } = await client.query<{ at: Date; pepper: string | null }>(
    'select now() as at, (select sealed from secrets where name = $1) as pepper',
    [PEPPER_LOCATION.split(':')[1]],
  );
  const [first] = rows;
  if (!first?.pepper) throw new BackupError('the database was never started, so there is nothing to export');
  return {
    format: FORMAT,
    format_version: 1,
    dragoman: version,
    exported_at: first.at.toISOString(),
    migrations: [...migrations],
    pepper: first.pepper,
    partitions: await readPartitions(client),
  };
}

/** A partitioned table can be copied only as a query. */
function statementFor({ name, isPartitioned, columns }: ExportedTable): string {
  const list = columns.map(quoted).join(', ');
  return isPartitioned
    ? `copy (select ${list} from ${quoted(name)}) to stdout`
    : `copy ${quoted(name)} (${list}) to stdout`;
}

/** Each row ends with a line feed; those inside values are escaped. */
function countRows(batch: Buffer): number {
  let count = 0;
  for (let at = batch.indexOf(10); at !== -1; at = batch.indexOf(10, at + 1)) count += 1;
  return count;
}

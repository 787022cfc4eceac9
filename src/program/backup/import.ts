/**
 * Import of an export into an empty database, in one transaction: a file that is damaged or does not fit leaves nothing
 * behind.
 */
import { z } from 'zod';
import { type AuditAction, PEPPER_LOCATION } from '../../access/keys/index.ts';
import { codeOf, createSealer, WrongMasterKey } from '../../core/index.ts';
import * as postgres from '../../platform/db/index.ts';
import { isEarlier, version } from '../../platform/version.ts';
import { SESSION_SETTINGS } from './export.ts';
import { BackupError, FrameReader, Header, parseContent, Sequences, TableStart } from './frames.ts';
import { type ExportedTable, OPTIONAL_TABLES, PARTITION_FUNCTIONS, quoted, readTables } from './tables.ts';

type Client = Awaited<ReturnType<typeof postgres.connectForCopy>>;

/** Filled by the migrations, or by a start without configuration: the rows of the file replace these. */
const REPLACED = ['revisions', 'ledger_identity', 'usage_kept', 'secrets', 'person_links'] as const;

/**
 * A server on the database holds locks for milliseconds; one that does not end is a running import or a forgotten
 * session.
 */
const LOCK_MS = 10_000;
const LOCK_NOT_AVAILABLE = '55P03';

export interface Imported {
  readonly header: Header;
  readonly tables: number;
  readonly rows: number;
}

export interface ImportSource {
  /** The decompressed file. */
  readonly chunks: AsyncIterable<Buffer>;
  /** As `loadMasterKeys` returns them. */
  readonly masterKeys: readonly (readonly [string, string])[];
}

export async function importFrames(database: postgres.Database, { chunks, masterKeys }: ImportSource) {
  const reader = new FrameReader(chunks);
  try {
    const header = await reader.json('header', Header);
    checkMasterKey(header, masterKeys);
    await prepareSchema(database, header);
    const imported = await loadAll(database, reader, header);
    // The file may be from an earlier version.
    await postgres.migrate(database.url);
    return imported;
  } finally {
    await reader.close();
  }
}

/** Without the commit at the end, the closed connection rolls everything back. */
async function loadAll(database: postgres.Database, reader: FrameReader, header: Header): Promise<Imported> {
  const client = await postgres.connectForCopy(database.url);
  try {
    await client.query(SESSION_SETTINGS);
    await client.query('begin');
    const imported = await load(client, reader, header);
    if (await postgres.commitSession(client, database.db)) return imported;
    throw new BackupError('the database connection was lost. Run it again');
  } catch (error) {
    if (!isAboutData(error)) throw error;
    throw new BackupError(`the file is damaged: PostgreSQL says "${error.message}"`, { cause: error });
  } finally {
    await client.end();
  }
}

/**
 * SQLSTATE: data that is invalid (22), or that breaks a constraint (23). A file is loaded before its checksum can be
 * verified.
 */
const isAboutData = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && /^2[23]/.test(String(error.code));

function checkMasterKey({ pepper }: Header, masterKeys: ImportSource['masterKeys']): void {
  try {
    createSealer(masterKeys).open(pepper, PEPPER_LOCATION);
  } catch (cause) {
    if (!(cause instanceof WrongMasterKey)) throw cause;
    throw new BackupError(
      'its secrets are sealed with another master key. Set MASTER_KEY, or the file master.key in DATA_DIR, to the key of the exported installation',
      { cause },
    );
  }
}

/**
 * Brings the database to the schema of the file. A file of an earlier version needs a database without a later schema.
 */
async function prepareSchema(database: postgres.Database, header: Header): Promise<void> {
  const { done, missing } = await postgres.readMigrationState(database.db);
  const known = new Set([...done, ...missing]);
  const newest = header.migrations.at(-1) ?? '';
  if (header.migrations.some((name) => !known.has(name))) {
    // A version may run on a schema that is newer than itself.
    const other = isEarlier(version, header.dragoman)
      ? `Dragoman ${header.dragoman} or later`
      : 'the version that made the migration';
    throw new BackupError(
      `Dragoman ${header.dragoman} wrote it, with the migration ${newest}, which this version ${version} lacks. Import it with ${other}`,
    );
  }
  const later = done.filter((name) => !header.migrations.includes(name));
  if (later.length > 0)
    throw new BackupError(
      `it has the schema ${newest}, and the database already has ${later.at(-1)}. Import it into a new, empty database; it is migrated afterwards`,
    );
  await postgres.migrateTo(database.url, newest);
}

async function load(client: Client, reader: FrameReader, header: Header): Promise<Imported> {
  const tables = await readTables(client);
  await lockEmpty(client, tables);
  const names = tables.map(({ name }) => quoted(name));
  // The file has what triggers would add, such as wallets, and keeps what they would refuse, such as keys of groups
  // that are gone.
  for (const name of names) await client.query(`alter table ${name} disable trigger user`);
  for (const name of REPLACED) await client.query(`delete from ${quoted(name)}`);
  await createPartitions(client, header);
  const left = new Map(tables.map((table) => [table.name, table]));
  let rows = 0;
  for (;;) {
    const frame = await reader.next();
    if (frame.name === 'sequences') {
      await setSequences(client, parseContent(frame, Sequences));
      break;
    }
    if (frame.name !== 'table') throw new BackupError('the file is damaged');
    const { table, columns } = parseContent(frame, TableStart);
    const known = left.get(table);
    left.delete(table);
    if (!known || columns.toSorted().join() !== known.columns.toSorted().join())
      throw new BackupError(`its table ${table} differs from the schema of its migrations`);
    rows += await loadTable(client, reader, { ...known, columns });
  }
  const missing = [...left.keys()].filter((name) => !OPTIONAL_TABLES.includes(name));
  if (missing.length > 0) throw new BackupError(`the tables ${missing.join(', ')} are missing in it`);
  await takeOver(client);
  await writeLine(client, header, rows);
  for (const name of names) await client.query(`alter table ${name} enable trigger user`);
  await reader.verifyEnd(await reader.next(), rows);
  return { header, tables: tables.length, rows };
}

/** Locks all tables, so that no server starts to use them meanwhile. */
async function lockEmpty(client: Client, tables: readonly ExportedTable[]): Promise<void> {
  await client.query(`set local lock_timeout = ${LOCK_MS}`);
  try {
    await client.query(`lock table ${tables.map(({ name }) => quoted(name)).join(', ')} in access exclusive mode`);
  } catch (error) {
    if (codeOf(error) !== LOCK_NOT_AVAILABLE) throw error;
    throw new BackupError('another process uses the database. Stop it first');
  }
  const checked = tables.filter(({ name }) => !REPLACED.some((replaced) => replaced === name));
  const { rows } = await client.query<{ name: string }>(
    checked
      .map(({ name }) => `select '${name}' as name where exists (select from ${quoted(name)})`)
      .join(' union all '),
  );
  if (rows.length > 0)
    throw new BackupError(
      `the database is not empty: ${rows.map(({ name }) => name).join(', ')} have rows. Import into a new database, or with a new DATA_DIR`,
    );
}

async function createPartitions(client: Client, { partitions }: Header): Promise<void> {
  for (const { table, day } of partitions) {
    const create = PARTITION_FUNCTIONS[table];
    if (create === undefined) throw new BackupError(`this version does not know the partitions of ${table}`);
    await client.query(`select ${create}($1::date)`, [day]);
  }
}

const TableEnd = z.strictObject({ rows: z.int() });

async function loadTable(client: Client, reader: FrameReader, { name, columns }: ExportedTable): Promise<number> {
  let expected = -1;
  async function* rowsOf(): AsyncGenerator<Buffer> {
    for (;;) {
      const frame = await reader.next();
      if (frame.name === 'rows') yield frame.content;
      else if (frame.name === 'tableEnd') {
        expected = parseContent(frame, TableEnd).rows;
        return;
      } else throw new BackupError('the file is damaged');
    }
  }
  const statement = `copy ${quoted(name)} (${columns.map(quoted).join(', ')}) from stdin`;
  const rows = await postgres.copyIn(client, statement, rowsOf());
  if (rows !== expected) throw new BackupError(`${name} has ${rows} rows, expected ${expected}: the file is damaged`);
  return rows;
}

async function setSequences(client: Client, sequences: Sequences): Promise<void> {
  for (const { table, column, next } of sequences)
    await client.query('select setval(pg_get_serial_sequence($1, $2), $3::bigint, false)', [
      quoted(table),
      column,
      next,
    ]);
}

/**
 * What belonged to the servers of the old database. Their wallet leases are returned; journals that they left on this
 * disk are still read and charged. A task that was about to be sent may have been sent after the export: it counts as
 * sent, and is looked up, never sent again.
 */
async function takeOver(client: Client): Promise<void> {
  await client.query(
    `update wallets w set held = w.held - l.nanos
     from (select user_id, sum(nanos)::bigint as nanos from leases group by user_id) l where l.user_id = w.user_id`,
  );
  await client.query('delete from leases');
  await client.query('delete from replicas');
  await client.query(`update video_tasks set submission = 'sending' where submission = 'pending'`);
}

/** The audit line is part of the import. It is written here, because `writeAudit` needs a query builder. */
async function writeLine(client: Client, { exported_at, dragoman }: Header, rows: number): Promise<void> {
  await client.query(`insert into audit (actor, action, subject, after) values ('cli', $1, 'database', $2)`, [
    'database.imported' satisfies AuditAction,
    { exported_at, dragoman, rows },
  ]);
}

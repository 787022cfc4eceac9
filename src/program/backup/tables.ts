/**
 * The tables of an export, as the catalog of PostgreSQL describes them: columns, order of loading, partitions and
 * sequences.
 */
import { BackupError } from './frames.ts';

/** The part of a connection that catalog queries need. */
export interface Queries {
  query<T extends object>(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly T[] }>;
}

/**
 * Not exported. The migrations are recreated. Alarms and loads are written anew by every process. The rest is derived
 * from the entries, and its checkpoint counts transactions of the old server.
 */
const LEFT_OUT = [
  'kysely_migration',
  'kysely_migration_lock',
  'schema_versions',
  'alarms',
  'account_loads',
  'ledger_checkpoint',
  'ledger_segments',
  'ledger_sums',
  'ledger_balances',
  'ledger_suspects',
] as const;

/** Exported by choice only, because they hold what callers wrote; a file may lack them. */
export const OPTIONAL_TABLES: readonly string[] = ['captures'];

/** The function that creates the partition of a day, for each partitioned table. */
export const PARTITION_FUNCTIONS: Readonly<Record<string, string>> = {
  usage_records: 'usage_month',
  requests: 'request_day',
  request_faults: 'request_day',
};

export interface ExportedTable {
  readonly name: string;
  readonly isPartitioned: boolean;
  /** Without columns that PostgreSQL computes. */
  readonly columns: readonly string[];
}

/** Every table comes after those that it references. */
export async function readTables(client: Queries): Promise<ExportedTable[]> {
  const { rows } = await client.query<ExportedTable & { references: readonly string[] }>(
    `select c.relname as name, c.relkind = 'p' as "isPartitioned",
       array(select a.attname::text from pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
       array(select distinct r.relname::text from pg_constraint f join pg_class r on r.oid = f.confrelid
         where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid) as references
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = current_schema() and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> all($1)
     order by c.relname`,
    [LEFT_OUT],
  );
  const unknown = rows.find(({ name, isPartitioned }) => isPartitioned && !Object.hasOwn(PARTITION_FUNCTIONS, name));
  if (unknown) throw new BackupError(`this version does not know the partitions of ${unknown.name}`);
  const ordered: ExportedTable[] = [];
  const isPlaced = (name: string): boolean => ordered.some((table) => table.name === name);
  for (let waiting = rows; waiting.length > 0; waiting = waiting.filter(({ name }) => !isPlaced(name))) {
    const ready = waiting.filter(({ references }) => references.every(isPlaced));
    if (ready.length === 0)
      throw new Error(`Tables reference each other: ${waiting.map(({ name }) => name).join(', ')}`);
    for (const { name, isPartitioned, columns } of ready) ordered.push({ name, isPartitioned, columns });
  }
  return ordered;
}

/** The first day of each partition. Partitions that are being removed have no visible rows. */
export async function readPartitions(client: Queries): Promise<{ table: string; day: string }[]> {
  const { rows } = await client.query<{ table: string; bound: string }>(
    `select p.relname as table, pg_get_expr(c.relpartbound, c.oid) as bound
     from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
     join pg_namespace n on n.oid = p.relnamespace
     where n.nspname = current_schema() and p.relkind = 'p' and c.relkind = 'r' and not i.inhdetachpending
     order by c.relname`,
  );
  return rows.map(({ table, bound }) => {
    const [, day] = /FROM \('(\d{4}-\d\d-\d\d) 00:00:00\+00'\)/.exec(bound) ?? [];
    if (day === undefined) throw new Error(`A partition of ${table} has unexpected bounds: ${bound}`);
    return { table, day };
  });
}

/** Sequences do not belong to a snapshot: read after the rows, they are beyond every id of them. */
export async function readSequences(client: Queries): Promise<{ table: string; column: string; next: string }[]> {
  const { rows } = await client.query<{ table: string; column: string; sequence: string }>(
    `select c.relname as table, a.attname as column, s.oid::regclass::text as sequence
     from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
     join pg_class c on c.oid = d.refobjid join pg_namespace n on n.oid = c.relnamespace
     join pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid
     where d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i') and n.nspname = current_schema() order by 1, 2`,
  );
  const sequences: { table: string; column: string; next: string }[] = [];
  for (const { table, column, sequence } of rows) {
    const { rows: values } = await client.query<{ next: string }>(
      `select (last_value + is_called::int)::text as next from ${sequence}`,
    );
    sequences.push({ table, column, next: values[0]?.next ?? '1' });
  }
  return sequences;
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

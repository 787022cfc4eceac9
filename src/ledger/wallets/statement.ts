/** Account statements: the entries of a wallet with the balance after each. */
import { sql } from 'kysely';
import type { Nanos } from '../../core/index.ts';
import { allRows, type Db } from '../../platform/db/index.ts';
import { readWallet } from './wallets.ts';

export type EntryKind = 'credit' | 'charge' | 'settle' | 'excess' | 'usage' | 'overdraft';

export interface StatementLine {
  readonly id: bigint;
  readonly at: Date;
  readonly kind: EntryKind;
  readonly nanos: Nanos;
  /** Balance after this entry. Holds are not subtracted. */
  readonly balance: Nanos;
  readonly reference: string;
  readonly reason: string;
  readonly priceId: bigint | null;
}

export interface StatementQuery {
  readonly before?: bigint | undefined;
  readonly start?: Date | undefined;
  readonly end?: Date | undefined;
  readonly limit?: number | undefined;
}

export async function readStatement(
  db: Db,
  userId: string,
  query: StatementQuery = {},
): Promise<readonly StatementLine[]> {
  for await (const page of readStatementPages(db, userId, query)) return page;
  return [];
}

/**
 * Reads all pages, newest entry first, in a snapshot.
 * Entries outside of the period are read only within the segments at its ends.
 */
export async function* readStatementPages(
  db: Db,
  userId: string,
  { limit = 100, ...query }: StatementQuery,
): AsyncGenerator<readonly StatementLine[]> {
  const hasPeriod = query.start !== undefined || query.end !== undefined;
  const range = await idRange(db, query);
  let balance: Nanos | undefined;
  let { before } = query;
  for (;;) {
    const lines = await readLines(db, userId, { ...query, ...range, before, limit });
    const [first, last] = [lines[0], lines.at(-1)];
    if (!first || !last) return;
    if (balance === undefined) balance = await balanceAfter(db, userId, first.id);
    // Entries outside of the period change the balance too.
    else if (hasPeriod) balance -= await sumBetween(db, userId, first.id, before);
    const linesById = new Map(lines.map((line) => [line.id, line]));
    const page: StatementLine[] = [];
    for (const { id, nanos } of hasPeriod ? await movesBetween(db, userId, last.id, first.id) : lines) {
      const line = linesById.get(id);
      if (line) page.push({ ...line, balance });
      balance -= nanos;
    }
    yield page;
    if (lines.length < limit) return;
    before = last.id;
  }
}

interface IdRange {
  readonly from: bigint | undefined;
  readonly to: bigint | undefined;
}

/**
 * The entries that can be in the period, by whole segments:
 * ids follow the time only roughly. Open-ended behind the newest segment.
 */
async function idRange(db: Db, { start, end }: StatementQuery): Promise<IdRange> {
  const { rows } = await sql<{ from: bigint | null; to: bigint | null }>`
    select
      coalesce((select min(first_id) from ledger_segments where last_at >= ${start ?? null}), max(last_id) + 1) as from,
      case when count(*) > 0 then nullif(
        coalesce((select max(last_id) from ledger_segments where first_at < ${end ?? null}), 0),
        max(last_id)) end as to
    from ledger_segments`.execute(db);
  return {
    from: start === undefined ? undefined : (rows[0]?.from ?? undefined),
    to: end === undefined ? undefined : (rows[0]?.to ?? undefined),
  };
}

/** The balance after an entry: from the balance before its segment, or for a new entry from that of the wallet. */
async function balanceAfter(db: Db, userId: string, id: bigint): Promise<Nanos> {
  const { rows } = await sql<{ last: bigint; nanos: Nanos }>`
    select s.first_id - 1 as last, coalesce((
      select b.nanos from ledger_balances b
      where b.account = ${userId} and b.last_id < s.first_id order by b.last_id desc limit 1), 0) as nanos
    from ledger_segments s where s.last_id >= ${id} order by s.last_id limit 1`.execute(db);
  const [segment] = rows;
  if (segment) return segment.nanos + (await sumBetween(db, userId, segment.last, id + 1n));
  const { credits, debits } = await readWallet(db, userId);
  return credits - debits - (await sumBetween(db, userId, id, undefined));
}

/** Two ordered index scans: one filter over both columns would sort the whole history. */
async function readLines(
  db: Db,
  userId: string,
  { before, start, end, from, to, limit }: StatementQuery & IdRange & { limit: number },
) {
  const filters = sql.join(
    [
      sql``,
      ...(before === undefined ? [] : [sql`id < ${before}`]),
      ...(from === undefined ? [] : [sql`id >= ${from}`]),
      ...(to === undefined ? [] : [sql`id <= ${to}`]),
      ...(start === undefined ? [] : [sql`created_at >= ${start}`]),
      ...(end === undefined ? [] : [sql`created_at < ${end}`]),
    ],
    sql` and `,
  );
  const entriesBy = (column: string) =>
    sql`(select * from entries where ${sql.ref(column)} = ${userId} ${filters} order by id desc limit ${limit})`;
  return allRows(db)<Omit<StatementLine, 'balance'>>`
    select id, created_at as at, kind, case when credit = ${userId} then nanos else -nanos end as nanos,
      reference, reason, price_id as "priceId"
    from (${entriesBy('debit')} union all ${entriesBy('credit')}) own order by id desc limit ${limit}`;
}

async function movesBetween(db: Db, userId: string, from: bigint, to: bigint) {
  const { rows } = await sql<{ id: bigint; nanos: Nanos }>`
    select id, nanos from entries where credit = ${userId} and id between ${from} and ${to}
    union all select id, -nanos from entries where debit = ${userId} and id between ${from} and ${to}
    order by id desc`.execute(db);
  return rows;
}

async function sumBetween(db: Db, userId: string, after: bigint, before: bigint | undefined): Promise<Nanos> {
  const range = before === undefined ? sql`id > ${after}` : sql`id > ${after} and id < ${before}`;
  const { rows } = await sql<{ nanos: Nanos }>`
    select (coalesce((select sum(nanos) from entries where credit = ${userId} and ${range}), 0)
      - coalesce((select sum(nanos) from entries where debit = ${userId} and ${range}), 0))::bigint as nanos`.execute(
    db,
  );
  return rows[0]?.nanos ?? 0n;
}

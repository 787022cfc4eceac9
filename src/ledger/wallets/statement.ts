/** Account statements: the entries of a wallet with the balance after each. */
import { sql } from 'kysely';
import type { Nanos } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';
import { readWallet } from './wallets.ts';

export type EntryKind = 'credit' | 'charge' | 'settle' | 'excess' | 'usage' | 'overdraft';

/** A line of a statement; `nanos` is negative for a charge. */
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
  /** The id of the last line of the previous page. */
  readonly before?: bigint | undefined;
  /** Only entries from `start` on and before `end`. */
  readonly start?: Date | undefined;
  readonly end?: Date | undefined;
  readonly limit?: number | undefined;
}

/** Reads one page. */
export async function readStatement(
  db: Db,
  userId: string,
  query: StatementQuery = {},
): Promise<readonly StatementLine[]> {
  for await (const page of readStatementPages(db, userId, query)) return page;
  return [];
}

/**
 * Reads all pages, newest entry first. Call it in a snapshot: the balance after a line is the wallet's balance less all later entries.
 * Reads each entry that is newer than the page once, and no older ones.
 */
export async function* readStatementPages(
  db: Db,
  userId: string,
  { limit = 100, ...query }: StatementQuery,
): AsyncGenerator<readonly StatementLine[]> {
  const { credits, debits } = await readWallet(db, userId);
  let balance = credits - debits;
  let above: bigint | undefined;
  let { before } = query;
  for (;;) {
    const lines = await readLines(db, userId, { ...query, before, limit });
    const [first, last] = [lines[0], lines.at(-1)];
    if (!first || !last) return;
    balance -= await sumBetween(db, userId, first.id, above);
    const linesById = new Map(lines.map((line) => [line.id, line]));
    const page: StatementLine[] = [];
    // Entries outside of the period change the balance too.
    for (const { id, nanos } of await movesBetween(db, userId, last.id, first.id)) {
      const line = linesById.get(id);
      if (line) page.push({ ...line, balance });
      balance -= nanos;
    }
    yield page;
    if (lines.length < limit) return;
    above = last.id;
    before = last.id;
  }
}

/** Two ordered index scans: one filter over both columns would sort the whole history. */
async function readLines(db: Db, userId: string, { before, start, end, limit }: StatementQuery & { limit: number }) {
  const filters = sql.join(
    [
      sql``,
      ...(before === undefined ? [] : [sql`id < ${before}`]),
      ...(start === undefined ? [] : [sql`created_at >= ${start}`]),
      ...(end === undefined ? [] : [sql`created_at < ${end}`]),
    ],
    sql` and `,
  );
  const entriesBy = (column: string) =>
    sql`(select * from entries where ${sql.ref(column)} = ${userId} ${filters} order by id desc limit ${limit})`;
  const { rows } = await sql<Omit<StatementLine, 'balance'>>`
    select id, created_at as at, kind, case when credit = ${userId} then nanos else -nanos end as nanos, reference, reason,
      price_id as "priceId"
    from (${entriesBy('debit')} union all ${entriesBy('credit')}) own order by id desc limit ${limit}`.execute(db);
  return rows;
}

async function movesBetween(db: Db, userId: string, from: bigint, to: bigint) {
  const { rows } = await sql<{ id: bigint; nanos: Nanos }>`
    select id, nanos from entries where credit = ${userId} and id between ${from} and ${to}
    union all select id, -nanos from entries where debit = ${userId} and id between ${from} and ${to}
    order by id desc`.execute(db);
  return rows;
}

/** Sums the entries between two ids, both exclusive; without `before`, up to the newest. */
async function sumBetween(db: Db, userId: string, after: bigint, before: bigint | undefined): Promise<Nanos> {
  const range = before === undefined ? sql`id > ${after}` : sql`id > ${after} and id < ${before}`;
  const { rows } = await sql<{ nanos: Nanos }>`
    select (coalesce((select sum(nanos) from entries where credit = ${userId} and ${range}), 0)
      - coalesce((select sum(nanos) from entries where debit = ${userId} and ${range}), 0))::bigint as nanos`.execute(
    db,
  );
  return rows[0]?.nanos ?? 0n;
}

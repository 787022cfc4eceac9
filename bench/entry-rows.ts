/** Generates ledger entries of many users over days, and balances that equal their sum. */
import type { Client } from 'pg';

export interface EntryHistory {
  readonly rows: number;
  readonly days: number;
  readonly lastDay: string;
  /** The user with a fifth of all entries. The users `u1` to `u1000` have the others. */
  readonly heavy: string;
}

export async function fillEntries(client: Client, { rows, days, lastDay, heavy }: EntryHistory): Promise<void> {
  await client.query(
    `insert into entries (debit, credit, nanos, kind, reference, reason, created_at)
     select case when n % 5 = 0 then $1 else 'u' || (1 + n % 1000) end, '@revenue', 1000 + n % 5000, 'usage', 'bench:' || n, '1 calls',
       $2::date - ($3::int - 1) + n * ($3::float8 / $4::float8) * interval '1 day'
     from generate_series(1, $4::int) n`,
    [heavy, lastDay, days, rows],
  );
  await client.query(
    `update wallets w set credits = coalesce(c.nanos, 0), debits = coalesce(d.nanos, 0)
     from users u left join (select credit, sum(nanos)::bigint as nanos from entries group by credit) c on c.credit = u.id
       left join (select debit, sum(nanos)::bigint as nanos from entries group by debit) d on d.debit = u.id
     where w.user_id = u.id`,
  );
  await client.query('vacuum (analyze) entries');
}

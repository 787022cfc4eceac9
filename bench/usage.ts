/**
 * `npm run bench -- usage`: GET /v1/usage over ten million recorded calls: blocks read and time of its statements, from EXPLAIN.
 * `--rows 1000000` for fewer. Takes several minutes and about 5 GB of disk in the temporary folder.
 */
import { parseArgs } from 'node:util';
import { balanceReport, limitsReport, periodOf, usageReport } from '../src/ledger/index.ts';
import { connect } from '../src/platform/db/index.ts';
import { explain, statementsOf } from '../test/support/plan.ts';
import { fillUsage } from '../test/support/usage-rows.ts';
import { openBenchFixture } from './fixture.ts';
import { describeMachine } from './machine.ts';
import { median } from './quantile.ts';

const { values } = parseArgs({ options: { rows: { type: 'string', default: '10000000' } } });
const ROWS = Number(values.rows);
const USER = 'u77';

const { context, caller, close } = await openBenchFixture();
const { db, url } = context.database;
const client = await connect(url);
try {
  const now = context.clock.now();
  const lastDay = new Date(now).toISOString().slice(0, 10);
  const begun = performance.now();
  await fillUsage(client, { rows: ROWS, users: 1_000, days: 365, lastDay });
  console.log(`Machine: ${describeMachine()}. ${ROWS} calls in ${Math.round((performance.now() - begun) / 1000)} s.`);
  const start = new Date(now - 91 * 86_400_000).toISOString().slice(0, 10);
  const key = { ...caller.key, userId: USER, limits: { spendDay: 10n ** 12n, spendMonth: 10n ** 13n } };
  const runReport = async (): Promise<void> => {
    await balanceReport(db, USER);
    await limitsReport(db, key, now);
    await usageReport(db, USER, periodOf({ start_date: start }, now));
  };
  const sent = await statementsOf(runReport);
  const costs = [];
  for (const statement of sent) costs.push(await explain(client, statement));
  const tables = [...new Set(costs.flatMap((cost) => [...cost.tables]))].sort().join(', ');
  const times: number[] = [];
  for (let n = 0; n < 50; n += 1) {
    const at = performance.now();
    await runReport();
    times.push(performance.now() - at);
  }
  const { rows } = await client.query(
    `select (select count(*) from usage_daily) as daily, pg_size_pretty(sum(pg_total_relation_size(inhrelid))) as size
     from pg_inherits where inhparent = 'usage_records'::regclass`,
  );
  console.log(
    `${rows[0].daily} roll-ups beside ${rows[0].size} of records. A report of 92 days reads ${tables}: ${costs.reduce((sum, { blocks }) => sum + blocks, 0)} blocks of 8 KB, ${costs.reduce((sum, { ms }) => sum + ms, 0).toFixed(1)} ms in the database, ${median(times).toFixed(1)} ms in all.`,
  );
} finally {
  await client.end();
  await close();
}

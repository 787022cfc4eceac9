/**
 * `npm run bench -- reports`: pages, reports and exports of the admin API over five million records and as many ledger
 * entries, in a temporary database. `--rows 1000000` for fewer. Takes several minutes and about 6 GB of disk in the
 * temporary folder.
 */
import { parseArgs } from 'node:util';
import { silentLog } from '../src/core/index.ts';
import { checkAlarms, sumOldDays, sumOldMonths } from '../src/ledger/index.ts';
import { connect } from '../src/platform/db/index.ts';
import { serve } from '../src/program/server/serve.ts';
import { fillUsage } from '../test/support/usage-rows.ts';
import { fillEntries } from './entry-rows.ts';
import { openBenchFixture } from './fixture.ts';
import { describeMachine } from './machine.ts';
import { median } from './quantile.ts';

const { values } = parseArgs({ options: { rows: { type: 'string', default: '5000000' } } });
const ROWS = Number(values.rows);
const DAYS = 365;
const REPEATS = 7;
const ADMIN_TOKEN = `bench-${'token-'.repeat(8)}`;
/** Has a fifth of all entries. */
const HEAVY = 'u1';

const { context, close } = await openBenchFixture({ ADMIN_TOKEN, HOST: '127.0.0.1', PORT: '0' });
const { db, url } = context.database;
const client = await connect(url);
const server = await serve(context, { worker: false });
try {
  const now = context.clock.now();
  const dayOf = (daysAgo: number): string => new Date(now - daysAgo * 86_400_000).toISOString().slice(0, 10);
  await fill(dayOf(0));
  const year = `start_date=${dayOf(DAYS - 1)}&end_date=${dayOf(0)}`;
  await page('GET /users/u77/balance', '/users/u77/balance');
  await page('balances', '/balances');
  await page('records', '/records');
  await page('records of a user, a year', `/records?user=u77&start=${dayOf(DAYS - 1)}`);
  await page('records of a key, a year', `/records?key=key_rare&start=${dayOf(DAYS - 1)}`);
  await page('records of an unused model, a year', `/records?model=model-none&start=${dayOf(DAYS - 1)}`);
  await page('statement', `/users/${HEAVY}/statement`);
  await page('statement, one old day', `/users/${HEAVY}/statement?start=${dayOf(300)}&end=${dayOf(299)}`);
  await page('usage by day, 30 days', '/usage');
  await page('usage by day, a year', `/usage?${year}`);
  await page('usage by day, user, model, 30 days', '/usage?by=day,user,model');
  await page('usage by day, user, model, a year', `/usage?by=day,user,model&${year}`);
  await page('usage by user, a year', `/usage?by=user&${year}`);
  await page('usage by model, a year', `/usage?by=model&${year}`);
  await page('usage by model, user, a year', `/usage?by=model,user&${year}`);
  await page('usage by key, user, a year', `/usage?by=key,user&${year}`);
  await page('usage by account, user, model, a year', `/usage?by=account,user,model&${year}`);
  await page('usage by model, user, day, a year', `/usage?by=model,user,day&${year}`);
  await page('usage by model, day, user, a year', `/usage?by=model,day,user&${year}`);
  await exportCsv('statement', `/users/${HEAVY}/statement?format=csv`);
  await exportCsv('usage by day, user, model, a year', `/usage?by=day,user,model&${year}&format=csv`);
} finally {
  await client.end();
  await server.stop();
  await close();
}

async function fill(lastDay: string): Promise<void> {
  const begun = performance.now();
  await client.query('set synchronous_commit = off');
  await fillUsage(client, { rows: ROWS, users: 1_000, days: DAYS, lastDay });
  await fillEntries(client, { rows: ROWS, days: DAYS, lastDay, heavy: HEAVY });
  console.log(`Machine: ${describeMachine()}. ${ROWS} records and entries in ${seconds(begun)} s.`);
  await measure('sums of old days, first time', async () => {
    while ((await sumOldDays(db)) > 0);
  });
  await measure('sums of old months, first time', async () => {
    while ((await sumOldMonths(context.database)) > 0);
  });
  for (const about of ['the first pass', 'all entries', 'what is new']) {
    await client.query("update ledger_checkpoint set marked_at = now() - interval '1 minute'");
    await measure(`check of the ledger, ${about}`, () => checkAlarms(db, silentLog));
  }
  const { rows } = await client.query(
    'select (select count(*) from usage_daily) as daily, (select count(*) from ledger_segments) as segments',
  );
  console.log(`${rows[0].daily} daily sums, ${rows[0].segments} segments.`);
}

async function measure(about: string, task: () => Promise<unknown>): Promise<void> {
  const begun = performance.now();
  await task();
  console.log(`${about}: ${seconds(begun)} s`);
}

async function page(about: string, path: string): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n < REPEATS; n += 1) {
    const begun = performance.now();
    const response = await get(path);
    await response.arrayBuffer();
    times.push(performance.now() - begun);
  }
  console.log(`${about}: ${median(times).toFixed(0)} ms (at most ${Math.max(...times).toFixed(0)})`);
}

async function exportCsv(about: string, path: string): Promise<void> {
  const begun = performance.now();
  let lines = 0;
  for await (const chunk of (await get(path)).body ?? [])
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
  const ms = performance.now() - begun;
  console.log(
    `CSV of ${about}: ${lines} lines in ${(ms / 1000).toFixed(1)} s, ${Math.round((lines / ms) * 1000)} per second`,
  );
}

async function get(path: string): Promise<Response> {
  const response = await fetch(`${server.url}/admin/v1${path}`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

function seconds(begun: number): string {
  return ((performance.now() - begun) / 1000).toFixed(1);
}

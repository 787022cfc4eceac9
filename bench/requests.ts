/**
 * `npm run bench -- requests`: the request log with ten million calls of 14 days: time of its pages by every filter, size of a row, cost of
 * a write, and the roll-up of an hour. `--rows 1000000` for fewer. Takes minutes and about 10 GB of disk in the temporary folder.
 */
import { parseArgs } from 'node:util';
import { connect } from '../src/db/index.ts';
import {
  findRequest,
  listRequests,
  REQUEST_SORTS,
  type RequestFilters,
  RequestRollUp,
  readRequestStats,
} from '../src/requests/index.ts';
import { explain, statementsOf } from '../test/support/plan.ts';
import { fillRequests } from '../test/support/request-rows.ts';
import { openBenchFixture } from './fixture.ts';
import { describeMachine } from './machine.ts';
import { median } from './quantile.ts';

const { values } = parseArgs({ options: { rows: { type: 'string', default: '10000000' } } });
const ROWS = Number(values.rows);
const DAYS = 14;
const REPEATS = 9;
const PAGE = 101;

const FILTERS: readonly Partial<RequestFilters>[] = [
  {},
  { owner: 'u77' },
  { owner: 'rare' },
  { key: 'key_77' },
  { key: 'rare' },
  { group: 'group-1' },
  { group: 'rare' },
  { model: 'model-7' },
  { model: 'rare' },
  { account: 'account-7' },
  { account: 'rare' },
  { operation: 'chat.create' },
  { operation: 'rare' },
  { status: [200, 200] },
  { status: [502, 502] },
  { status: [418, 418] },
  { error: 'provider' },
  { error: 'ours' },
  { owner: 'u77', status: [502, 502] },
  { status: [500, 599] },
  { status: [300, 399] },
  { model: '*el-7*' },
  { user: '*rare*' },
  { code: 'upstream_*' },
];

const { context, close } = await openBenchFixture();
const { db, url } = context.database;
const client = await connect(url);
try {
  const now = context.clock.now();
  const begun = performance.now();
  await fillRequests(client, { rows: ROWS, days: DAYS, lastDay: new Date(now).toISOString().slice(0, 10) });
  const seconds = (performance.now() - begun) / 1000;
  console.log(
    `Machine: ${describeMachine()}. ${ROWS} calls in ${Math.round(seconds)} s, ${((seconds * 1e6) / ROWS).toFixed(0)} us each.`,
  );
  const { rows } = await client.query(
    `select sum(pg_relation_size(inhrelid)) / $1 as heap, sum(pg_indexes_size(inhrelid)) / $1 as indexes
     from pg_inherits where inhparent = 'requests'::regclass`,
    [ROWS],
  );
  console.log(
    `A call takes ${Number(rows[0].heap).toFixed(0)} bytes and ${Number(rows[0].indexes).toFixed(0)} bytes of indexes.`,
  );
  for (const filters of FILTERS)
    await report(JSON.stringify(filters), () => listRequests(db, { owner: undefined, ...filters, limit: PAGE }));
  const middle = new Date(now - 7 * 86_400_000).toISOString();
  await report('a page in the middle', () =>
    listRequests(db, { owner: undefined, limit: PAGE, after: [middle, 'req_'] }),
  );
  for (const sort of REQUEST_SORTS)
    await report(`sorted by ${sort}`, () => listRequests(db, { owner: undefined, sort, limit: PAGE }));
  await report('by id', () => findRequest(db, 'req_8f14e45fceea167a5a36dedd', undefined));
  await client.query(
    `insert into request_hours_due select h from generate_series(date_trunc('hour', now()) - $1 * interval '1 day', now(), interval '1 hour') h`,
    [DAYS],
  );
  const rolling = performance.now();
  const rollUp = new RequestRollUp(context.database, context.clock);
  for (let run = 0; run < 8; run += 1) await rollUp.run();
  const hours = DAYS * 24;
  console.log(`Roll-up: ${((performance.now() - rolling) / hours).toFixed(0)} ms for each of ${hours} hours.`);
  const period = { start: new Date(now - DAYS * 86_400_000), end: new Date(now) };
  for (const bucket of ['hour', 'day'] as const)
    for (const by of [undefined, 'group', 'account', 'model'] as const)
      await report(`stats of ${DAYS} days by ${bucket}${by === undefined ? '' : ` and ${by}`}`, () =>
        db.transaction().execute((tx) => readRequestStats(tx, { ...period, bucket, by })),
      );
} finally {
  await client.end();
  await close();
}

async function report(name: string, task: () => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  const sent = await statementsOf(task);
  for (let n = 0; n < REPEATS; n += 1) {
    const at = performance.now();
    await task();
    times.push(performance.now() - at);
  }
  let blocks = 0;
  for (const statement of sent)
    if (/^\s*(?:select|with)/i.test(statement.text)) blocks += (await explain(client, statement)).blocks;
  console.log(
    `${name.padEnd(40)} ${median(times).toFixed(1).padStart(8)} ms median, ${Math.max(...times).toFixed(1)} ms at most, ${blocks} blocks`,
  );
}

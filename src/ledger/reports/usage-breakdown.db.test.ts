// set: sweeps; random reports of random records
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import { type LedgerFixture, openLedgerFixture } from '../../../test/support/ledger.ts';
import { makeUser, usageRecord } from '../../../test/support/ledger-process.ts';
import { runs } from '../../../test/support/properties.ts';
import { silentLog } from '../../core/index.ts';
import { connect, type Db } from '../../platform/db/index.ts';
import { DIMENSIONS, type Dimension } from '../../schemas/index.ts';
import { recordResolved } from '../records/resolved-record.ts';
import { recordUsage, UsageWriter } from '../records/usage-writer.ts';
import type { UsageRecord } from '../usage-record.ts';
import {
  type BreakdownQuery,
  type BreakdownRow,
  readBreakdown,
  SORTED_MEASURES,
  type SortedMeasure,
} from './usage-breakdown.ts';
import { sumOldDays, sumOldMonths } from './usage-months.ts';
import { DIMENSION_COLUMNS } from './usage-sums.ts';

const DAY_MS = 86_400_000;
const DAYS = 200;
const USERS = ['ann', 'bob', 'cy'];

let fixture: LedgerFixture;
let db: Db;
const now = Date.now();
const dayOf = (daysAgo: number): string => new Date(now - daysAgo * DAY_MS).toISOString().slice(0, 10);

before(async () => {
  fixture = await openLedgerFixture();
  ({ db } = fixture);
  for (const user of USERS) await makeUser(db, user, 10n ** 12n);
});
after(() => fixture.close());

const records = fc
  .record({
    userId: fc.constantFrom(...USERS),
    at: fc.integer({ min: 0, max: DAYS * DAY_MS }).map((age) => now - age),
    keyId: fc.constantFrom('key_1', 'key_2'),
    groupId: fc.constantFrom('openai', 'other'),
    accountId: fc.constantFrom('oa1', 'oa2'),
    model: fc.constantFrom('gpt-5', 'o9', 'video'),
    operation: fc.constantFrom('chat.create', 'images.create'),
    usage: fc
      .record({ input: fc.nat(999), output: fc.nat(99), cacheRead: fc.nat(9), cacheWrite: fc.nat(9) })
      .map((usage) => ({ ...usage, inputAudio: 0, outputImage: usage.output % 3, searches: usage.input % 2 })),
    images: fc.nat(3),
    nanos: fc.bigInt(1n, 9_999n),
    estimated: fc.boolean(),
    fault: fc.constantFrom(...Array<undefined>(5), 'truncated'),
  })
  .map(({ userId, nanos, ...fields }) => usageRecord(userId, fields.fault === undefined ? nanos : 0n, fields));

const breakdowns: fc.Arbitrary<BreakdownQuery & { limit: number }> = fc
  .record({
    days: fc.tuple(fc.integer({ min: 0, max: DAYS + 30 }), fc.integer({ min: 0, max: DAYS + 30 })),
    by: fc.oneof(
      fc.shuffledSubarray([...DIMENSIONS], { maxLength: 4 }),
      fc.shuffledSubarray<Dimension>(['model', 'user', 'key', 'day'], { minLength: 3 }),
    ),
    only: fc.oneof(
      fc.constant({}),
      fc.record(
        { user: fc.constantFrom(...USERS), key: fc.constant('key_2'), model: fc.constantFrom('gpt-5', 'none') },
        { requiredKeys: [] },
      ),
    ),
    limit: fc.constantFrom(1, 2, 30),
  })
  .map(({ days, ...query }) => ({ ...query, start: dayOf(Math.max(...days)), end: dayOf(Math.min(...days)) }));

/** What happens to the records between two reports. */
const events = {
  written: (late: readonly UsageRecord[]) => new UsageWriter({ db, log: silentLog }).write('rep_x', late),
  recorded: (late: readonly UsageRecord[]) =>
    db.transaction().execute((tx) => recordUsage(tx, late, new Map(late.map((record) => [record, 70n])))),
  resolved: ([late]: readonly UsageRecord[]) =>
    db.transaction().execute(async (tx) => {
      if (late) await recordResolved(tx, { id: late.id, userId: late.userId, raw: { ...late }, nanos: 5n, now });
    }),
  summed: async () => {
    while ((await sumOldDays(db)) > 0);
    while ((await sumOldMonths(fixture.database)) > 0);
  },
  monthsSummed: () => sumOldMonths(fixture.database),
  nothing: async () => {},
} as const;

test('a report equals the sums of its records for any period, dimensions, filters and pages', async () => {
  await events.written(fc.sample(records, { numRuns: 1_500, seed: 1 }));
  await events.summed();
  const steps = fc.record({
    event: fc.constantFrom(...(Object.keys(events) as (keyof typeof events)[])),
    late: fc.array(records, { minLength: 1, maxLength: 3 }),
    queries: fc.array(breakdowns, { minLength: 3, maxLength: 3 }),
    /** Where a page begins, as a share of all rows. */
    positions: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 5, maxLength: 5 }),
  });
  const property = fc.asyncProperty(steps, async ({ event, late, queries, positions }) => {
    await events[event](late);
    for (const query of queries) {
      const expected = await sumRecords(query);
      assert.deepEqual(await readBreakdown(db, { ...query, limit: undefined }), expected);
      if (query.by.length === 0) continue;
      assert.deepEqual(await readBreakdown(db, query), expected.slice(0, query.limit));
      await expectSorted(query, expected);
      const [first] = query.by;
      const groupEnds = expected.flatMap((row, n) => (first && row[first] !== expected[n + 1]?.[first] ? [n] : []));
      for (const n of [...positions.map((share) => Math.floor(share * expected.length)), ...groupEnds.slice(0, 3)]) {
        const last = expected[n];
        const after = last && query.by.map((name) => last[name] ?? '');
        if (after)
          assert.deepEqual(await readBreakdown(db, { ...query, after }), expected.slice(n + 1, n + 1 + query.limit));
      }
    }
  });
  // Each run makes three reports and up to 24 pages of them.
  await fc.assert(property, { numRuns: Math.ceil(runs(120) / 3), endOnFailure: true });
  const { rows } = await sql<{
    months: bigint;
  }>`select count(*) as months from usage_monthly_months where is_complete`.execute(db);
  assert.ok((rows[0]?.months ?? 0n) > 0n);
});

const NAMES = Object.keys(SORTED_MEASURES) as SortedMeasure[];

/** Pages of an order hold every row once, by size, and say how many there are. */
async function expectSorted(query: BreakdownQuery & { readonly limit: number }, all: readonly BreakdownRow[]) {
  const by = NAMES[all.length % NAMES.length] ?? 'revenue';
  const isAscending = all.length % 2 === 0;
  const found: BreakdownRow[] = [];
  for (let after: readonly string[] | undefined; found.length < Math.min(all.length, 3 * query.limit); ) {
    const page = await readBreakdown(db, { ...query, order: { by, isAscending }, after });
    assert.equal(page.length, Math.min(query.limit, all.length - found.length));
    assert.ok(page.every(({ lines }) => lines === BigInt(all.length)));
    found.push(...page);
    const last = page.at(-1);
    after = [last?.sorted_by ?? '', ...query.by.map((name) => last?.[name] ?? '')];
  }
  const keyOf = (row: BreakdownRow): string => JSON.stringify(query.by.map((name) => row[name]));
  const placed = all.map((row) => ({ key: keyOf(row), value: measured(row, by) }));
  const sign = isAscending ? 1 : -1;
  const order = placed.toSorted((a, b) => sign * Number(a.value - b.value));
  assert.deepEqual(
    found.map((row) => BigInt(row.sorted_by ?? '')),
    order.slice(0, found.length).map(({ value }) => value),
  );
  assert.equal(new Set(found.map(keyOf)).size, found.length);
}

const VALUES: Readonly<Partial<Record<SortedMeasure, (row: BreakdownRow) => bigint>>> = {
  requests: ({ requests }) => requests,
  input_tokens: ({ input_tokens }) => input_tokens,
  output_tokens: ({ output_tokens }) => output_tokens,
  cost: ({ cost_nanos }) => cost_nanos,
  margin: ({ nanos, cost_nanos }) => nanos - cost_nanos,
};
const measured = (row: BreakdownRow, by: SortedMeasure): bigint => VALUES[by]?.(row) ?? row.nanos;

async function sumRecords({ start, end, by, only }: BreakdownQuery): Promise<readonly BreakdownRow[]> {
  const columnOf = (name: Dimension) =>
    name === 'day' ? sql`(at at time zone 'UTC')::date` : sql.ref(DIMENSION_COLUMNS[name]);
  const columns = by.map(columnOf);
  const shown = by.map((name) => sql`${columnOf(name)}${name === 'day' ? sql`::text` : sql``} as ${sql.ref(name)},`);
  const filters = Object.entries(only).map(([name, value]) => sql`and ${columnOf(name as Dimension)} = ${value}`);
  const { rows } = await sql<BreakdownRow>`
    select ${sql.join(shown, sql` `)} count(*) filter (where fault is null) as requests, ${total('input_tokens')}, ${total('cached_input_tokens')},
      ${total('cache_write_tokens')}, ${total('output_tokens')}, ${total('reasoning_tokens')},
      coalesce(sum((usage ->> 'inputAudio')::bigint) filter (where fault is null), 0)::bigint as audio_tokens,
      coalesce(sum((usage ->> 'outputImage')::bigint) filter (where fault is null), 0)::bigint as image_tokens,
      coalesce(sum((usage ->> 'searches')::bigint) filter (where fault is null), 0)::bigint as searches,
      ${total('images')}, ${total('nanos')}, count(*) filter (where estimated and fault is null) as estimated,
      coalesce(sum(cost_nanos), 0)::bigint as cost_nanos, count(*) filter (where cost_nanos is null) as cost_unknown,
      coalesce(sum(cost_nanos) filter (where fault is not null), 0)::bigint as failed_cost_nanos
    from usage_records where (at at time zone 'UTC')::date between ${start}::date and ${end}::date ${sql.join(filters, sql` `)}
    ${columns.length > 0 ? sql`group by ${sql.join(columns)} order by ${sql.join(columns)}` : sql``}`.execute(db);
  return rows;
}

/** What failed attempts have used counts in their cost alone. */
const total = (name: string) =>
  sql`coalesce(sum(${sql.ref(name)}) filter (where fault is null), 0)::bigint as ${sql.ref(name)}`;

test('a month is not summed while its records are on their way, and is summed again after them', async () => {
  await events.written([usageRecord('ann', 1n, { at: now - 100 * DAY_MS })]);
  await events.summed();
  const month = `${dayOf(100).slice(0, 8)}01`;
  const isComplete = async (): Promise<boolean | undefined> => {
    const { rows } = await sql<{
      is_complete: boolean;
    }>`select is_complete from usage_monthly_months where month = ${month}::date`.execute(db);
    return rows[0]?.is_complete;
  };
  const other = await connect(fixture.database.url);
  try {
    await other.query('begin');
    await other.query('select reopen_usage_days($1::date[])', [[dayOf(100)]]);
    const { rows } = await sql<{ done: boolean }>`select begin_usage_month(${month}::date) as done`.execute(db);
    assert.deepEqual(rows, [{ done: false }]);
    await other.query('commit');
  } finally {
    await other.end();
  }
  assert.equal(await isComplete(), undefined);
  await sql`select begin_usage_month(${month}::date)`.execute(db);
  await events.written([usageRecord('ann', 1n, { at: now - 100 * DAY_MS })]);
  const { rows } = await sql<{ done: boolean }>`select sum_usage_month(${month}::date) as done`.execute(db);
  assert.deepEqual(rows, [{ done: false }], 'a record arrived after the beginning');
  assert.equal(await isComplete(), undefined);
  assert.equal(await sumOldMonths(fixture.database), 1);
  assert.equal(await isComplete(), true);
});

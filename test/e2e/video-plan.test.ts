// set: sweeps; plans of queries over many rows
/**
 * Query plans of video tasks: every operation uses an index and reads a bounded number of blocks, whatever the number of tasks.
 * `npm run bench -- video-tasks` runs it with two million tasks.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Client } from 'pg';
import { connect } from '../../src/platform/db/index.ts';
import { type Cost, explain, explainWrites, statementsOf } from '../support/plan.ts';
import { callVideo, startVideo, TASKS, taskBody, type VideoFixture } from '../support/video.ts';
import { fillTasks } from '../support/video-rows.ts';
import { addUser } from '../support/video-tasks.ts';

const ROWS = Number(process.env.VIDEO_TASK_ROWS ?? 120_000);
const USERS = 1_000;
const DAYS = 60;
/** Lists show two fifths of these: half of a user's tasks are of variants that leave the lists after a week. */
const HEAVY_ROWS = 30_000;

let fixture: VideoFixture;
let client: Client;
const keys: Record<string, string> = {};

before(async () => {
  fixture = await startVideo();
  client = await connect(fixture.gateway.database.url);
  for (const user of ['heavy', 'u7']) keys[user] = await addUser(fixture.gateway, user);
  await fillTasks(client, { rows: ROWS, users: USERS, days: DAYS, heavy: { userId: 'heavy', rows: HEAVY_ROWS } });
});
after(async () => {
  await client?.end();
  await fixture?.close();
});

const idsOf = async (user: string, count: number, condition = 'true'): Promise<string[]> => {
  const { rows } = await client.query(
    `select id from video_tasks where user_id = $1 and ${condition} order by created_at desc limit $2`,
    [user, count],
  );
  return rows.map(({ id }) => id);
};

interface Expected {
  readonly blocks: number;
  /** Statements about tasks; any number when undefined. */
  readonly statements?: number;
}

async function assertPlans(
  t: { diagnostic(text: string): void },
  user: string,
  path: string,
  expected: Expected,
): Promise<Record<string, unknown>> {
  const responses: Awaited<ReturnType<typeof callVideo>>[] = [];
  const sent = await statementsOf(async () =>
    responses.push(await callVideo(fixture.gateway.url, path, { key: keys[user] })),
  );
  const [response] = responses;
  assert.equal(response?.status, 200, JSON.stringify(response?.body));
  const costs: Cost[] = [];
  for (const statement of sent)
    if (statement.text.includes('video_tasks')) costs.push(await explain(client, statement));
  assert.equal(costs.length, expected.statements ?? costs.length);
  assertCosts(t, costs, expected.blocks);
  return response.body;
}

function assertCosts(t: { diagnostic(text: string): void }, costs: readonly Cost[], maxBlocks: number): void {
  const scanned = costs.flatMap((cost) => [...cost.scanned]);
  const blocks = costs.reduce((sum, cost) => sum + cost.blocks, 0);
  const ms = costs.reduce((sum, cost) => sum + cost.ms, 0);
  t.diagnostic(`${blocks} blocks, ${ms.toFixed(1)} ms in the database`);
  assert.deepEqual(
    scanned.filter((table) => LARGE_TABLES.includes(table)),
    [],
    'no table is read from end to end',
  );
  assert.ok(blocks <= maxBlocks, `${blocks} blocks`);
}
const LARGE_TABLES = ['video_tasks', 'idempotency_records', 'holds', 'entries', 'wallets', 'users'];

/** Per row of a page: four levels of the primary key and one block of the table. */
const BLOCKS_PER_ROW = 5;
/** All entries of the heavy user in the index of lists, some 60 per block, and the visibility map. */
const INDEX_BLOCKS = 1_000;

test('V 4.3: reading a task takes one look-up in the primary key', async (t) => {
  const [id] = await idsOf('u7', 1);
  await assertPlans(t, 'u7', `${TASKS}/${id}`, { statements: 1, blocks: 10 });
  await assertPlans(t, 'u7', `/v1/videos/${id}`, { statements: 1, blocks: 10 });
});

const LISTS: readonly (readonly [about: string, query: string, rows: number])[] = [
  ['the first page', '', 20],
  ['page 500', '?page_num=500', 20],
  ['a deep page of 500 tasks', '?page_num=20&page_size=500', 500],
  ['a page behind the end', '?page_num=500&page_size=500', 0],
  ['one status', '?filter.status=running', 20],
  ['two statuses', '?filter.status=queued&filter.status=failed', 20],
  ['a model', '?filter.model=model-EP', 20],
  ['an unknown model', '?filter.model=unknown', 0],
  ['a service tier', '?filter.service_tier=default', 20],
  ['all filters', '?filter.status=failed&filter.model=model-A&filter.service_tier=default&page_num=2', 20],
];
for (const [about, query, rows] of LISTS)
  test(`V 4.4: the list of tasks with ${about} reads its index and the rows of the page`, async (t) => {
    // The second statement counts; a short first page needs none.
    const statements = query === '?filter.model=unknown' ? 1 : 2;
    const expected = { statements, blocks: 2 * INDEX_BLOCKS + BLOCKS_PER_ROW * rows };
    const body = (await assertPlans(t, 'heavy', `${TASKS}${query}`, expected)) as { items: object[]; total: number };
    assert.equal(body.items.length, rows);
    assert.ok(body.total > rows || body.total === 0);
  });

test('V 4.4: the list of 100 task ids reads only these', async (t) => {
  const ids = await idsOf('heavy', 100, "variant = 'A'");
  const query = ids.map((id) => `filter.task_ids=${id}`).join('&');
  await assertPlans(t, 'heavy', `${TASKS}?page_size=500&${query}`, { statements: 1, blocks: 2 * BLOCKS_PER_ROW * 100 });
});

for (const [about, query, rows] of LISTS)
  test(`V 4.4: the list of tasks with ${about} is cheap for a user with few tasks`, async (t) => {
    await assertPlans(t, 'u7', `${TASKS}${query}`, { blocks: 400 + BLOCKS_PER_ROW * rows });
  });

for (const order of ['asc', 'desc'] as const)
  test(`V 4.7: the list of videos in order ${order} reads one page of the index, wherever it begins`, async (t) => {
    const blocks = 300 + BLOCKS_PER_ROW * 100;
    await assertPlans(t, 'heavy', `/v1/videos?limit=100&order=${order}`, { statements: 1, blocks });
    const [after] = await idsOf('heavy', 1, "variant = 'A' and created_at < now() - interval '30 days'");
    const path = `/v1/videos?limit=100&order=${order}&after=${after}`;
    await assertPlans(t, 'heavy', path, { statements: 2, blocks });
  });

test('V 4.2: a create reads and writes a bounded number of blocks', async (t) => {
  let id = '';
  const sent = await statementsOf(async () => {
    const { status, body } = await callVideo(fixture.gateway.url, TASKS, {
      body: taskBody('A'),
      key: keys.u7,
      headers: { 'idempotency-key': 'plan' },
    });
    assert.equal(status, 200, JSON.stringify(body));
    id = String(body.id);
  });
  // The same statements for a task that does not exist yet.
  const again = sent.map(({ text, values }) => ({
    text,
    values: values.map((value) => (typeof value === 'string' ? value.replaceAll(id, 'task_another') : value)),
  }));
  assert.ok(again.some(({ text }) => /insert into "?video_tasks/.test(text)));
  assertCosts(t, await explainWrites(client, again), 400);
});

test('V 4.5: a deletion reads and writes a bounded number of blocks', async (t) => {
  const [id] = await idsOf('heavy', 1, "variant = 'A' and status = 'failed'");
  const sent = await statementsOf(() =>
    callVideo(fixture.gateway.url, `${TASKS}/${id}`, { method: 'DELETE', key: keys.heavy }),
  );
  assert.ok(sent.some(({ text }) => text.includes('deleted_at" = now()')));
  assertCosts(t, await explainWrites(client, sent), 100);
});

/** Hailuo of MiniMax through the same seam: errors inside of successes, results that are files, and prices by second or by piece. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { MINIMAX_FILE, MINIMAX_KEY, MinimaxSim } from '../../sim/minimax.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { callVideo, KEYS, TASKS, textItem } from '../support/video.ts';
import { openJobs, unrest, type VideoJobs } from '../support/video-jobs.ts';
import { until } from '../support/wait.ts';

const MODEL = 'MiniMax-Hailuo-2.3';
const PIECES = 'hailuo-by-piece';

let minimax: MinimaxSim;
let gateway: TestGateway;
let jobs: VideoJobs;

before(async () => {
  minimax = await new MinimaxSim().start();
  gateway = await startGateway({
    setup: {
      groups: [
        { id: 'openai', style: 'responses' },
        { id: 'hailuo', style: 'video', variant: 'A', name: 'Hailuo' },
      ],
      accounts: [
        { id: 'oa1', group: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-upstream' },
        { id: 'minimax-1', group: 'hailuo', adapter: 'minimax', base_url: minimax.url, api_key: MINIMAX_KEY },
      ],
      models: [
        { id: MODEL, groups: ['hailuo'], prices: { per_video_second: { '768p': '0.05', '1080p': '0.08' } } },
        {
          ...{ id: PIECES, upstream: MODEL, groups: ['hailuo'], prices: { per_video: '0.3' } },
          capabilities: { extends: 'hailuo', unit: 'videos', durations: [6] },
        },
      ],
      users: [{ id: 'ana', email: 'ana@example.test', balance: '1000' }],
      keys: [{ user: 'ana', group: 'openai', name: 'one', key: KEYS.ana }],
    },
  });
  jobs = await openJobs(gateway);
});
after(async () => {
  await jobs.close();
  await gateway.stop();
  minimax.close();
});

const create = (more: object = {}) =>
  callVideo(gateway.url, TASKS, { body: { model: MODEL, content: [textItem('A lighthouse')], ...more } });
const read = async (id: unknown) => (await callVideo(gateway.url, `${TASKS}/${id}?include=charge`)).body;
const db = () => gateway.context.database.db;

async function finished(id: unknown): Promise<Record<string, unknown> & { charge: Record<string, unknown> }> {
  await until('the end of the task', async () => {
    await jobs.run('tasks.follow');
    return ['succeeded', 'failed'].includes(String((await read(id)).status));
  });
  return (await read(id)) as Awaited<ReturnType<typeof finished>>;
}

test('a task succeeds once its file has an address, which is read without the credential', async () => {
  const frame = { type: 'image_url', image_url: { url: 'https://media.example.com/a.png' }, role: 'first_frame' };
  const { status, body } = await create({ content: [textItem('A lighthouse'), frame], duration: 10, watermark: false });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(minimax.creates.at(-1), {
    ...{ model: MODEL, duration: 10, resolution: '768P', aigc_watermark: false, prompt: 'A lighthouse' },
    first_frame_image: 'https://media.example.com/a.png',
  });
  minimax.hidesFile = true;
  for (let n = 0; n < 4; n += 1) {
    await jobs.run('tasks.follow');
    assert.ok(['queued', 'running'].includes(String((await read(body.id)).status)), 'not without a result');
  }
  minimax.hidesFile = false;
  const { charge, ...task } = await finished(body.id);
  assert.equal(task.status, 'succeeded');
  assert.deepEqual([charge.charged, charge.unit, charge.count], ['0.5', 'seconds', 10]);
  const headers = { authorization: `Bearer ${KEYS.ana}` };
  const file = await fetch(`${gateway.url}/v1/videos/${body.id}/content`, { headers });
  assert.deepEqual(Buffer.from(await file.arrayBuffer()), MINIMAX_FILE);
});

test('a model that is sold by piece is held and charged for one video', async () => {
  const { body } = await create({ model: PIECES });
  const { charge } = await finished(body.id);
  assert.deepEqual([charge.held, charge.charged, charge.unit, charge.count], ['0.3', '0.3', 'videos', 1]);
});

test('numbers of errors have the meaning of the contract, at once and later', async () => {
  for (const [number, code] of [
    [1026, 'input_content_rejected'],
    [1027, 'output_content_rejected'],
    [1033, 'upstream_error'],
  ] as const) {
    const { body } = await create({ content: [textItem(`Order [[${number}]]`)] });
    const { charge, error } = await finished(body.id);
    assert.deepEqual([(error as { code: string }).code, charge.state], [code, 'released'], String(number));
  }
  minimax.next = 2013;
  assert.equal((await create()).body.error?.code, 'unsupported_video_parameter');
  assert.equal((await create({ resolution: '1080p', duration: 10 })).status, 400, 'by the sheet');
});

test('a number for too many reads counts like the status: the account is left alone for a time', async () => {
  const { body } = await create();
  const worker = await openJobs(gateway);
  minimax.limitsReads = true;
  minimax.reads = 0;
  await worker.run('tasks.follow');
  await until('the rejected read', () => minimax.reads > 0);
  const { reads } = minimax;
  await worker.run('tasks.follow');
  await worker.close();
  assert.equal(minimax.reads, reads);
  minimax.limitsReads = false;
  assert.equal((await finished(body.id)).status, 'succeeded');
});

test('an answer that is lost or unclear is never sent again, and is given up after a day', async () => {
  const before = minimax.creates.length;
  const ids: unknown[] = [];
  for (const fault of ['lost', 1000] as const) {
    minimax.next = fault;
    const { status, body } = await create();
    assert.equal(status, 202, String(fault));
    ids.push(body.id);
  }
  await jobs.run('tasks.reconcile');
  await sql`update video_tasks set created_at = now() - interval '25 hours' where submission = 'unknown'`.execute(db());
  await jobs.run('tasks.reconcile');
  for (const id of ids) assert.equal(((await read(id)).error as { code: string }).code, 'submission_failed');
  assert.equal(minimax.creates.length - before, 2);
  minimax.next = 1002;
  assert.equal((await create()).status, 429);
  assert.deepEqual(await unrest(db()), []);
  await checkLedger(db());
});

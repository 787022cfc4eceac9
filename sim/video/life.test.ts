import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { type Sim, startSim, type VideoSettings } from '../index.ts';
import { TestClient, textBody } from './fixtures.ts';

const DAY_MS = 24 * 3_600_000;
const START = Date.UTC(2026, 5, 1);

let sim: Sim;
let client: TestClient;

beforeEach(async () => {
  sim = await startSim({ video: { clock: 'manual', startAt: START, rateLimits: false, seed: 'life' } });
  client = new TestClient(sim.video.url);
});

afterEach(() => sim.close());

const advance = (ms: number) => sim.video.clock.advance(ms);
const set = (settings: Partial<VideoSettings>) => Object.assign(sim.video.settings, settings);

describe('a task', () => {
  test('is queued, runs and succeeds as time passes', async () => {
    const { status, body } = await client.create(textBody('A cat', { safety_identifier: 'user-1' }));
    assert.equal(status, 200);
    assert.match(body.id, /^cgt-20260601080000-[a-z0-9]{5}$/);
    assert.deepEqual(body, { id: body.id, safety_identifier: 'user-1' });
    const queued = (await client.get(body.id)).body;
    assert.equal(queued.status, 'queued');
    assert.deepEqual(
      ['content', 'usage', 'error', 'duration'].filter((name) => name in queued),
      [],
    );
    await advance(3000);
    assert.equal(await client.statusOf(body.id), 'running');
    await advance(8999);
    assert.equal(await client.statusOf(body.id), 'running');
    await advance(1);
    const done = (await client.get(body.id)).body;
    assert.equal(done.status, 'succeeded');
    assert.equal(done.created_at, START / 1000);
    assert.equal(done.updated_at, START / 1000 + 12);
    assert.equal(done.framespersecond, 24);
    assert.equal(done.safety_identifier, 'user-1');
    assert.equal(done.execution_expires_after, 172_800);
  });

  test('reports one frame more than 24 per second as usage', async () => {
    const id = await client.order('A cat', { resolution: '720p', ratio: '16:9', duration: 5, seed: 7 });
    await advance(12_000);
    const { usage, seed, resolution, ratio, duration } = (await client.get(id)).body;
    assert.deepEqual(usage, { completion_tokens: 108_900, total_tokens: 108_900 });
    assert.deepEqual([seed, resolution, ratio, duration], [7, '720p', '16:9', 5]);
  });

  test('adds the seconds of input videos to the usage, at least four', async () => {
    const video = { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' }, role: 'reference_video' };
    const prices = async (seconds: number) => {
      const content = [{ type: 'text', text: `edit [sim:input_seconds=${seconds}]` }, video];
      const id = await client.order('', { content, ratio: '16:9', duration: 5 });
      await advance(12_000);
      return (await client.get(id)).body.usage?.total_tokens;
    };
    assert.equal(await prices(10), Math.floor((1280 * 720 * (24 * 15 + 1)) / 1024));
    assert.equal(await prices(1), Math.floor((1280 * 720 * (24 * 9 + 1)) / 1024));
  });

  test('gets a length and a ratio when the request leaves them open', async () => {
    const ids = [];
    for (let count = 0; count < 8; count++) ids.push(await client.order(`A cat ${count}`, { duration: -1 }));
    await advance(12_000);
    const results = await Promise.all(ids.map(async (id) => (await client.get(id)).body));
    assert.ok(results.every(({ duration }) => Number(duration) >= 4 && Number(duration) <= 15));
    assert.ok(new Set(results.map(({ duration }) => duration)).size > 1);
    assert.ok(new Set(results.map(({ ratio }) => ratio)).size > 1);
  });

  test('has the same id and result whenever the seed is the same', async () => {
    const run = async (seed: string) => {
      const other = await startSim({ video: { clock: 'manual', startAt: START, seed } });
      const id = await new TestClient(other.video.url).order('A cat', { duration: -1 });
      const outcome = other.video.tasks.get(id)?.outcome;
      await other.close();
      return { id, outcome };
    };
    assert.deepEqual(await run('a'), await run('a'));
    assert.notDeepEqual(await run('a'), await run('b'));
  });

  test('counts frames instead of seconds for a family that takes them', async () => {
    const id = await client.order('A cat', { model: 'video-1-0-pro', frames: 29, ratio: '1:1', resolution: '480p' });
    await advance(12_000);
    const { body } = await client.get(id);
    assert.deepEqual([body.frames, 'duration' in body], [29, false]);
    assert.equal(body.usage?.total_tokens, (640 * 640 * 29) / 1024);
  });

  test('expires when it does not finish in time', async () => {
    const id = await client.order('[sim:stuck=running]', { execution_expires_after: 3600 });
    await advance(3_599_999);
    assert.equal(await client.statusOf(id), 'running');
    await advance(1);
    const { body } = await client.get(id);
    assert.equal(body.status, 'expired');
    assert.equal('content' in body, false);
  });

  test('is forgotten after seven days', async () => {
    const id = await client.order('A cat');
    await advance(7 * DAY_MS - 1);
    assert.equal((await client.get(id)).status, 200);
    await advance(1);
    assert.equal((await client.get(id)).status, 404);
    assert.equal((await client.list()).body.total, 0);
  });
});

describe('limits', () => {
  test('let three tasks of a family run and keep the others waiting', async () => {
    set({ concurrency: 3 });
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) ids.push(await client.order('A cat'));
    await advance(3000);
    const statuses = () => Promise.all(ids.map((id) => client.statusOf(id)));
    assert.deepEqual(await statuses(), ['running', 'running', 'running', 'queued', 'queued']);
    await advance(9000);
    assert.deepEqual(await statuses(), ['succeeded', 'succeeded', 'succeeded', 'running', 'running']);
  });

  test('prefer the higher priority when a slot becomes free', async () => {
    set({ concurrency: 1 });
    const [, low, high] = [
      await client.order('first'),
      await client.order('low'),
      await client.order('high', { priority: 9 }),
    ];
    await advance(12_000);
    assert.deepEqual([await client.statusOf(low), await client.statusOf(high)], ['queued', 'running']);
  });

  test('reject a task over the length of the queue, per account', async () => {
    set({ queueLimit: 2 });
    await client.order('one');
    await client.order('two');
    const { status, body } = await client.create(textBody('three'));
    assert.deepEqual([status, body.error?.code, body.error?.type], [429, 'QuotaExceeded', 'TooManyRequests']);
    await new TestClient(sim.video.url, 'sk-simulated-b').order('other account');
  });

  test('allow one list and twenty gets per second', async () => {
    set({ rateLimits: true });
    const id = await client.order('A cat');
    const lists = await Promise.all([client.list(), client.list()]);
    assert.deepEqual(lists.map(({ status }) => status).sort(), [200, 429]);
    const gets = await Promise.all(Array.from({ length: 21 }, () => client.get(id)));
    assert.equal(gets.filter(({ status }) => status === 429).length, 1);
    assert.equal(gets.find(({ status }) => status === 429)?.body.error?.code, 'AccountRateLimitExceeded');
  });
});

describe('the list', () => {
  let ids: string[];

  beforeEach(async () => {
    ids = [await client.order('one'), await client.order('two [sim:fail=InternalServiceError]')];
    ids.push(await client.order('three', { model: 'up-video-2-0-fast' }));
    await client.remove(ids[2] ?? '');
    await advance(12_000);
  });

  const listed = async (query: string) => (await client.list(query)).body.items.map(({ id }) => id);

  test('shows the newest tasks first, in pages', async () => {
    assert.deepEqual(await listed(''), ids.toReversed());
    const { body } = await client.list('?page_num=2&page_size=2');
    assert.deepEqual([body.items.map(({ id }) => id), body.total], [[ids[0]], 3]);
  });

  test('filters by status, ids and model', async () => {
    assert.deepEqual(await listed('?filter.status=cancelled'), [ids[2]]);
    assert.deepEqual(await listed(`?filter.task_ids=${ids[0]}&filter.task_ids=${ids[1]}`), [ids[1], ids[0]]);
    assert.deepEqual(await listed('?filter.model=up-video-2-0-fast'), [ids[2]]);
    assert.deepEqual(await listed('?filter.service_tier=flex'), []);
    for (const query of ['?page_size=501', '?page_num=0', '?filter.status=paused']) {
      assert.equal((await client.list(query)).status, 400);
    }
  });

  test('names the error as the documentation or as the SDK does', async () => {
    const failed = async () => (await client.list('?filter.status=failed')).body.items[0];
    assert.equal((await failed())?.error?.code, 'InternalServiceError');
    set({ listError: 'failure_reason' });
    const item = await failed();
    assert.deepEqual([item && 'error' in item, item && 'failure_reason' in item], [false, true]);
  });

  test('does not show the tasks of another account, nor does a get', async () => {
    const other = new TestClient(sim.video.url, 'sk-simulated-b');
    assert.equal((await other.list()).body.total, 0);
    assert.equal((await other.get(ids[0] ?? '')).status, 404);
  });
});

describe('the real clock', () => {
  let live: Sim;

  before(async () => {
    live = await startSim({ video: { queuedMs: 20, runningMs: 20, rateLimits: false } });
  });

  after(() => live.close());

  test('jumps ahead when it is advanced over HTTP', async () => {
    const user = new TestClient(live.video.url);
    const id = await user.order('[sim:running=600000]');
    const send = (body: object) =>
      fetch(`${live.url}/_sim/clock`, { method: 'POST', body: JSON.stringify(body) }).then(({ status }) => status);
    assert.equal(await send({ advance: 700_000 }), 200);
    assert.equal(await user.statusOf(id), 'succeeded');
    assert.equal(await send({ advance: -1 }), 400);
  });
});

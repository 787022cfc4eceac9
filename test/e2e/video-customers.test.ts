/** What callers have beyond document 2: labels, sums and expiry of tasks, a default callback, and names of their own users. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { callVideo, KEYS, startVideo, TASKS, taskBody, type VideoFixture } from '../support/video.ts';
import { openJobs, type VideoJobs } from '../support/video-jobs.ts';
import { addUser, rowOf } from '../support/video-tasks.ts';
import { until } from '../support/wait.ts';

let fixture: VideoFixture;
let jobs: VideoJobs;
before(async () => {
  fixture = await startVideo({
    video: { clock: 'manual', callbacks: ['dropped'] },
    env: { EGRESS_ALLOW: 'https://hooks.example' },
  });
  jobs = await openJobs(fixture.gateway);
});
after(async () => {
  await jobs.close();
  await fixture.close();
});

const call = (path: string, more: Parameters<typeof callVideo>[2] = {}) => callVideo(fixture.gateway.url, path, more);
const create = async (more: Parameters<typeof callVideo>[2] = {}): Promise<string> => {
  const { status, body } = await call(TASKS, { body: taskBody('EP'), ...more });
  assert.equal(status, 200, JSON.stringify(body));
  return String(body.id);
};
async function succeed(id: string) {
  await fixture.sim.video.clock.advance(30_000);
  await until(`the end of ${id}`, async () => {
    await jobs.run('tasks.follow');
    return (await call(`${TASKS}/${id}`)).body.status === 'succeeded';
  });
}

test('a label finds its tasks in both lists, for their owner only', async () => {
  const id = await create({ headers: { 'x-gateway-label': 'order-17' } });
  await create();
  const listed = async (key?: string) => {
    const tasks = (await call(`${TASKS}?filter.label=order-17`, { key })).body.items as { id: string; label: string }[];
    const videos = (await call('/v1/videos?label=order-17', { key })).body.data as { id: string; label: string }[];
    return [...tasks, ...videos].map((one) => [one.id, one.label]);
  };
  assert.deepEqual(await listed(), [
    [id, 'order-17'],
    [id, 'order-17'],
  ]);
  assert.deepEqual(await listed(KEYS.bob), []);
  const { status } = await call(TASKS, { body: taskBody('EP'), headers: { 'x-gateway-label': 'two words' } });
  assert.equal(status, 400);
});

test('lists and reads of both forms include parameters and charge; a success says when its result expires', async () => {
  const id = await create({ body: taskBody('A') });
  await succeed(id);
  const query = 'include=charge&include=parameters&include=expiry';
  const task = (await call(`${TASKS}/${id}?${query}`)).body;
  assert.equal(task.result_expires_at, (await call(`/v1/videos/${id}`)).body.expires_at);
  const charge = task.charge as { state: string; charged: string };
  assert.equal(charge.state, 'settled');
  assert.equal((task.parameters as { service_tier: string }).service_tier, 'default');
  for (const [path, member] of [
    [`${TASKS}?filter.task_ids=${id}&${query}`, 'items'],
    [`/v1/videos?${query}`, 'data'],
  ] as const) {
    const items = (await call(path)).body[member] as Record<string, unknown>[];
    const shown = items.find((one) => one.id === id);
    assert.equal((shown?.charge as { charged: string } | undefined)?.charged, charge.charged, path);
    assert.deepEqual(shown?.parameters, task.parameters, path);
  }
  assert.equal((await call(`/v1/videos/${id}?include=parameters`)).status, 200);
});

test('a default callback gets the chosen events of tasks without a URL of their own', async () => {
  const path = '/v1/video-callbacks/default';
  assert.equal((await call(path)).status, 404);
  for (const body of [{ url: 'http://10.0.0.1/' }, { url: 'https://hooks.example/', events: ['queued'] }, { uri: '' }])
    assert.equal((await call(path, { body })).status, 400, JSON.stringify(body));
  const wanted = { url: 'https://hooks.example/all', events: ['succeeded'] };
  assert.partialDeepStrictEqual((await call(path, { body: wanted })).body, { object: 'callback_default', ...wanted });
  const [id, own] = [
    await create(),
    await create({ body: taskBody('EP', { callback_url: 'https://hooks.example/own' }) }),
  ];
  await fixture.sim.video.clock.advance(4_000);
  await jobs.run('tasks.follow');
  await until('both run', async () => {
    await jobs.run('tasks.follow');
    return (
      (await rowOf(fixture.gateway, id)).status === 'running' &&
      (await rowOf(fixture.gateway, own)).status === 'running'
    );
  });
  await succeed(id);
  await succeed(own);
  const urls = async (task: string) =>
    ((await call(`/v1/video-callbacks?task_id=${task}`)).body.data as { url: string }[]).map(({ url }) => url);
  assert.deepEqual(await urls(id), ['https://hooks.example/all']);
  assert.deepEqual(await urls(own), ['https://hooks.example/own', 'https://hooks.example/own']);
  assert.equal((await call(path, { method: 'DELETE' })).status, 204);
  assert.equal((await rowOf(fixture.gateway, await create())).callback_url, null);
});

test('a safety identifier is combined with ours, and never sent or stored as it is', async () => {
  const identifierOf = async (more: object, key?: string): Promise<string> => {
    await create({ body: taskBody('EP', more), key });
    return fixture.sim.video.tasks.all[0]?.request.safetyIdentifier ?? '';
  };
  const [none, one, again, other] = [
    await identifierOf({}),
    await identifierOf({ safety_identifier: 'customer-1' }),
    await identifierOf({ safety_identifier: 'customer-1' }),
    await identifierOf({ safety_identifier: 'customer-1' }, KEYS.bob),
  ];
  assert.equal(one, again);
  assert.equal(new Set([none, one, other, 'customer-1']).size, 4);
  const { status } = await call(TASKS, { body: taskBody('EP', { safety_identifier: 'x'.repeat(65) }) });
  assert.equal(status, 400);
});

test('limits of creates are of the user, and of each end user only where the operator trusts the user to name them', async () => {
  const key = await addUser(fixture.gateway, 'chained');
  const send = async (endUser: string) =>
    (await call(`${TASKS}/estimate`, { body: taskBody('EP'), key, headers: { 'x-gateway-end-user': endUser } })).status;
  await fixture.gateway.apply({ users: [{ id: 'chained', video_creates: 1 }] });
  assert.deepEqual([await send('one'), await send('two')], [200, 429]);
  await fixture.gateway.apply({ users: [{ id: 'chained', video_creates: 1, end_users: true }] });
  assert.deepEqual([await send('one'), await send('one'), await send('two')], [200, 429, 200]);
});

test('paths of other video APIs are unknown, whatever the method', async () => {
  for (const word of ['edits', 'extensions', 'characters', 'generations'])
    assert.equal((await call(`/v1/videos/${word}`, { body: {} })).status, 404, word);
  assert.equal((await call('/v1beta/models/veo:predictLongRunning', { body: {} })).status, 404);
});

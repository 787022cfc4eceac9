/** Creation and submission of video tasks over HTTP, against the simulated provider. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { jsonResponse, startCanned } from '../support/canned.ts';
import { someOf } from '../support/long-test.ts';
import {
  callVideo,
  KEYS,
  startVideo,
  TASKS,
  TEST_VARIANTS,
  taskBody,
  textItem,
  VIDEO_PRICES,
  type VideoFixture,
} from '../support/video.ts';
import { until } from '../support/wait.ts';

let fixture: VideoFixture;
before(async () => {
  fixture = await startVideo();
});
after(() => fixture.close());

/** A failed attempt puts its account into cooldown; tests that cause one get a gateway and a provider of their own. */
async function withOwnFixture(task: () => Promise<void>): Promise<void> {
  const shared = fixture;
  fixture = await startVideo();
  try {
    await task();
  } finally {
    await fixture.close();
    fixture = shared;
  }
}

const create = (body: unknown, more: { key?: string; idempotencyKey?: string; path?: string } = {}) =>
  callVideo(fixture.gateway.url, more.path ?? TASKS, {
    body,
    key: more.key,
    headers: more.idempotencyKey === undefined ? {} : { 'idempotency-key': more.idempotencyKey },
  });

const get = (id: unknown, key?: string) => callVideo(fixture.gateway.url, `${TASKS}/${String(id)}`, { key });

async function holds(userId = 'ana'): Promise<bigint> {
  const rows = await fixture.gateway.context.database.db
    .selectFrom('holds')
    .select('nanos')
    .where('user_id', '=', userId)
    .where('state', 'in', ['held', 'review'])
    .execute();
  return rows.reduce((sum, { nanos }) => sum + nanos, 0n);
}

const creates = () => fixture.sim.video.journal.requests.filter(({ operation }) => operation === 'create');

for (const variant of TEST_VARIANTS) {
  test(`V 4.2 r3: a valid create of variant ${variant} returns 200 with the task id and submits once`, async () => {
    const before = creates().length;
    const { status, body } = await create(taskBody(variant, { generate_audio: false }));
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(Object.keys(body), ['id']);
    assert.match(String(body.id), /^task_[A-Za-z0-9]+$/);
    assert.equal(creates().length, before + 1);
    const sent = creates().at(-1)?.body as Record<string, unknown>;
    assert.equal(sent.generate_audio, false, 'V 4.2 r1: an explicit false reaches the provider');
    const task = await get(body.id);
    assert.equal(task.status, 200);
    assert.equal(task.body.status, 'queued');
    assert.equal(task.body.generate_audio, false);
    assert.equal(task.body.error, null);
    assert.ok(!JSON.stringify(task.body).includes('lighthouse'), 'V 2: the prompt is never returned');
  });
}

test('metrics count creates under the line of their model, whatever the group of the key', async () => {
  const { model } = taskBody('A');
  await create(taskBody('A'));
  const line = new RegExp(`^dragoman_account_requests_total\\{.*,model="${model}"\\} [1-9]`, 'm');
  await until('the metric', async () => line.test(await (await fetch(`${fixture.gateway.url}/metrics`)).text()));
});

test('V 8: a create holds the maximum cost of the task', async () => {
  const before = await holds();
  const { status } = await create(taskBody('EP', { resolution: '720p', ratio: '16:9', duration: 5 }));
  assert.equal(status, 200);
  // 1280 x 720 pixels, 5 s at 24 frames and one frame more, 1024 pixels per token, 7 dollars per million tokens.
  const tokens = Math.ceil((1280 * 720 * (24 * 5 + 1)) / 1024);
  assert.equal((await holds()) - before, BigInt(tokens) * 7_000n);
});

test('V 4.2 r2: duration -1 holds the amount of 15 seconds', async () => {
  const before = await holds();
  const { status } = await create(taskBody('A', { duration: -1, resolution: '480p', ratio: '1:1' }));
  assert.equal(status, 200);
  const tokens = Math.ceil((640 * 640 * (24 * 15 + 1)) / 1024);
  assert.equal((await holds()) - before, BigInt(tokens) * 7_000n);
});

for (const [prompt, seconds, [width, height]] of [
  ['a lamp --rs 1080p --dur 15', 15, [1920, 1080]],
  ['a lamp --resolution 720p', 4, [1280, 720]],
  ['a lamp --dur 9 --rt 9:16', 9, [864, 496]],
  ['a lamp --unheard-of 7', 15, [3326, 2494]],
  ['a lamp--old and dusty', 4, [864, 496]],
] as const)
  test(`a create with 480p and 4 seconds and the prompt «${prompt}» holds what the prompt can buy`, async () => {
    const before = await holds();
    const body = taskBody('EP', { content: [textItem(prompt)], resolution: '480p', ratio: '16:9', duration: 4 });
    const estimate = await create(body, { path: `${TASKS}/estimate` });
    assert.equal((await create(body)).status, 200);
    const tokens = Math.ceil((width * height * (24 * seconds + 1)) / 1024);
    assert.equal((await holds()) - before, BigInt(tokens) * 7_000n);
    assert.equal(estimate.body.tokens, tokens);
  });

test('a balance below the hold gives 402 and leaves no task, no hold and no upstream call', async () => {
  const before = creates().length;
  const { status, headers, body } = await create(taskBody('EP'), { key: KEYS.poor });
  assert.equal(status, 402);
  assert.equal(body.error?.code, 'insufficient_balance');
  assert.equal(headers.get('x-should-retry'), 'false');
  assert.equal(creates().length, before);
  assert.equal(await holds('poor'), 0n);
});

test('money that idles in the lease of a server covers the hold of a task', async () => {
  const { gateway, sim } = fixture;
  const tokens = Math.ceil((1280 * 720 * (24 * 5 + 1)) / 1024);
  const needed = BigInt(tokens) * 7_000n;
  const keys = await gateway.apply({
    groups: [{ id: 'text', style: 'responses' }],
    accounts: [{ id: 'text1', group: 'text', base_url: `${sim.url}/v1`, api_key: 'sk-text' }],
    models: [{ id: 'demo-responses', groups: ['text'], prices: { input: '1', output: '10' } }],
    users: [{ id: 'lender', balance: `0.${String(needed + 5_000_000n).padStart(9, '0')}` }],
    keys: [{ user: 'lender', group: 'text' }],
  });
  const text = await callVideo(gateway.url, '/v1/responses', {
    key: keys.text,
    body: { model: 'demo-responses', input: 'hi', max_output_tokens: 100 },
  });
  assert.equal(text.status, 200);
  const leased = () =>
    gateway.context.database.db.selectFrom('leases').select('nanos').where('user_id', '=', 'lender').executeTakeFirst();
  assert.ok(((await leased())?.nanos ?? 0n) > 5_000_000n, 'the lease leaves too little for the hold');
  const { status, body } = await create(taskBody('A', { duration: 5, resolution: '720p', ratio: '16:9' }), {
    key: keys.text ?? '',
  });
  assert.equal(status, 200, JSON.stringify(body));
});

const fault = (words: string, variant: (typeof TEST_VARIANTS)[number] = 'EP') =>
  taskBody(variant, { content: [textItem(`[sim:${words}]`)] });

const AMBIGUOUS: Readonly<Record<string, string>> = {
  'a 500 after the task was created': 'status=500;created',
  'a 503': 'status=503',
  'a reset after the request was sent': 'reset;created',
  'a truncated body': 'truncated',
  'a body that ends in the middle': 'eof_mid',
  'an HTML page': 'html',
  'a 409': 'status=409',
};
for (const [about, words] of Object.entries(AMBIGUOUS))
  for (const variant of someOf(['A', 'EP'] as const, 1))
    test(`V 4.2 r3: ${about} gives 202 with a queued task that is never sent again (${variant})`, () =>
      withOwnFixture(async () => {
        const before = creates().length;
        const held = await holds();
        const { status, headers, body } = await create(fault(words, variant));
        assert.equal(status, 202, JSON.stringify(body));
        assert.equal(headers.get('x-should-retry'), 'false');
        assert.equal(creates().length, before + 1);
        assert.equal((await get(body.id)).body.status, 'queued');
        assert.ok((await holds()) > held, 'the hold is kept');
      }));

const REJECTED: readonly (readonly [string, string, number, string])[] = [
  ['an invalid parameter', 'sync_400=InvalidParameter.Foo', 400, 'invalid_request'],
  ['an unsupported parameter', 'sync_400=InvalidParameter.UnsupportedParameter', 400, 'unsupported_video_parameter'],
  ['a rate limit', 'error=QuotaExceeded;status=429', 429, 'rate_limit_exceeded'],
  ['an account error', 'error=AccountOverdueError;status=403', 503, 'server_is_overloaded'],
];
for (const [about, words, status, code] of REJECTED)
  test(`V 4.2 r4: ${about} of the provider gives ${status} ${code} and leaves no task and no hold`, () =>
    withOwnFixture(async () => {
      const held = await holds();
      const listed = (await callVideo(fixture.gateway.url, TASKS)).body.total;
      const response = await create(fault(words, 'HC'));
      assert.equal(response.status, status, JSON.stringify(response.body));
      assert.equal(response.body.error?.code, code);
      assert.ok(!/Request id|cgt-/.test(response.body.error?.message ?? ''), 'no id of the provider');
      if (status === 429) assert.ok(Number(response.headers.get('retry-after')) >= 1);
      assert.equal(await holds(), held);
      assert.equal((await callVideo(fixture.gateway.url, TASKS)).body.total, listed);
    }));

test('V 4.10 r5: content that the provider rejects at once gives 200 and a task that failed', async () => {
  const held = await holds();
  const { status, body } = await create(fault('sync_400=InputImageSensitiveContentDetected.PrivacyInformation;item=0'));
  assert.equal(status, 200, JSON.stringify(body));
  const task = (await get(body.id)).body as { status: string; error: { code: string; message: string } };
  assert.equal(task.status, 'failed');
  assert.equal(task.error.code, 'input_content_rejected');
  assert.match(task.error.message, /content\[0\].*asset:\/\//);
  assert.equal(await holds(), held, 'the hold is released');
});

test('V 0: unknown models give 404, models of unreachable groups and without a price give 403', async () => {
  const unknown = await create({ ...taskBody('EP'), model: 'demo-video-9' });
  assert.deepEqual([unknown.status, unknown.body.error?.code], [404, 'model_not_found']);
  const foreign = await create(taskBody('HC'), { key: KEYS.onlyEp });
  assert.deepEqual([foreign.status, foreign.body.error?.code], [403, 'model_not_allowed']);
  const unpriced = await create({ ...taskBody('EP'), model: 'demo-video-unpriced' });
  assert.deepEqual([unpriced.status, unpriced.body.error?.code], [403, 'model_not_allowed']);
});

test('V 4.2 resolution: a fast model is known by its name and offers no more than 720p', async () => {
  const model = 'demo-video-2-0-fast-ep';
  assert.equal((await create({ ...taskBody('EP'), model, resolution: '720p' })).status, 200);
  const { status, body } = await create({ ...taskBody('EP'), model, resolution: '1080p' });
  assert.deepEqual([status, body.error?.code], [400, 'unsupported_video_parameter']);
});

test('V 4.7, V 9 r1: POST /v1/videos creates a task that both entries can read', async () => {
  const { status, body } = await create(
    { model: 'demo-video-2-0-ep', prompt: 'A lighthouse', seconds: '4', size: '1280x720' },
    { path: '/v1/videos' },
  );
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(
    { object: body.object, status: body.status, seconds: body.seconds, size: body.size, prompt: body.prompt },
    { object: 'video', status: 'queued', seconds: '4', size: '1280x720', prompt: null },
  );
  assert.equal((await get(body.id)).body.duration, 4);
});

test('V 1 r7, V 4.2 r5, V 8: the same Idempotency-Key and request return the same task with one upstream create', async () => {
  const before = creates().length;
  const first = await create(taskBody('EP'), { idempotencyKey: 'order-1' });
  const again = await create(taskBody('EP'), { idempotencyKey: 'order-1' });
  const twin = await create(taskBody('EP'), { idempotencyKey: 'order-1', key: KEYS.ana2 });
  assert.deepEqual([again.status, again.body.id], [200, first.body.id]);
  assert.equal(twin.body.id, first.body.id, 'the scope is the user, not the key');
  assert.equal(creates().length, before + 1);
  const other = await create(taskBody('EP'), { idempotencyKey: 'order-1', key: KEYS.bob });
  assert.notEqual(other.body.id, first.body.id, 'another user has its own keys');
});

test('V 8: the same Idempotency-Key with another request gives 409 idempotency_conflict', async () => {
  await create(taskBody('EP'), { idempotencyKey: 'order-2' });
  const { status, headers, body } = await create(taskBody('EP', { duration: 6 }), { idempotencyKey: 'order-2' });
  assert.deepEqual([status, body.error?.code], [409, 'idempotency_conflict']);
  assert.equal(headers.get('x-should-retry'), 'false');
});

test('V 8: a replay comes before the checks of model and rights', async () => {
  const { body } = await create(taskBody('A'), { idempotencyKey: 'order-3' });
  const replayed = await create(taskBody('A'), { idempotencyKey: 'order-3', key: KEYS.onlyEp });
  assert.deepEqual([replayed.status, replayed.body.id], [200, body.id]);
});

test('V 8: a definitive rejection of the provider is replayed without asking it again', async () => {
  const before = creates().length;
  const stable = fault('sync_400=InvalidParameter.Foo');
  const first = await create(stable, { idempotencyKey: 'order-4' });
  const again = await create(stable, { idempotencyKey: 'order-4' });
  assert.deepEqual([again.status, again.body], [first.status, first.body]);
  assert.equal(creates().length, before + 1, 'the provider is not asked again');
});

test('a rejection of another Dragoman whose cause passes frees the Idempotency-Key', async () => {
  const canned = await startCanned();
  try {
    canned.respondWith(jsonResponse('{"error":{"code":"asset_not_ready","message":"wait"}}', 409));
    await fixture.gateway.apply({
      groups: [{ id: 'next', style: 'video', variant: 'EP' }],
      accounts: [{ id: 'next', group: 'next', base_url: canned.url, api_key: 'sk-next', adapter: 'dragoman' }],
      models: [{ id: 'demo-video-next', groups: ['next'], prices: VIDEO_PRICES }],
    });
    const body = taskBody('EP', { model: 'demo-video-next' });
    for (const asked of [1, 2]) {
      const { status, body: error } = await create(body, { idempotencyKey: 'order-4b' });
      assert.deepEqual([status, error.error?.code], [409, 'asset_binding_unavailable']);
      assert.equal(canned.requests.length, asked);
    }
  } finally {
    await canned.close();
  }
});

test('V 8: an Idempotency-Key must be 1 to 64 bytes of UTF-8 and stand once', async () => {
  for (const key of ['', 'x'.repeat(65)]) {
    const { status, body } = await create(taskBody('EP'), { idempotencyKey: key });
    assert.deepEqual([status, body.error?.code], [400, 'invalid_request'], JSON.stringify(key));
  }
  assert.equal((await create(taskBody('EP'), { idempotencyKey: 'x'.repeat(64) })).status, 200);
});

test('V 8: a rate limit of the provider frees the Idempotency-Key', () =>
  withOwnFixture(async () => {
    const limited = await create(fault('error=QuotaExceeded;status=429', 'A'), { idempotencyKey: 'order-5' });
    assert.deepEqual([limited.status, limited.body.error?.code], [429, 'rate_limit_exceeded']);
    // The account is cooling down, so the next request is rejected before it is sent; the key is neither taken nor in conflict.
    const other = await create(taskBody('A'), { idempotencyKey: 'order-5' });
    assert.deepEqual([other.status, other.body.error?.code], [429, 'rate_limit_exceeded']);
  }));

test('a provider that cannot be reached gives 503, and leaves no task, no hold and a free key', () =>
  withOwnFixture(async () => {
    await fixture.sim.close();
    const held = await holds();
    const response = await create(taskBody('HC'), { idempotencyKey: 'order-6' });
    assert.equal(response.status, 503, JSON.stringify(response.body));
    assert.equal(await holds(), held);
    const { db } = fixture.gateway.context.database;
    assert.deepEqual(await db.selectFrom('idempotency_records').selectAll().execute(), []);
    assert.deepEqual(await db.selectFrom('video_tasks').selectAll().execute(), []);
  }));

test('V 8: a replay after the task was deleted returns the same id and creates nothing', async () => {
  const body = taskBody('A', { content: [textItem('[sim:stuck=queued]')] });
  const first = await create(body, { idempotencyKey: 'order-7' });
  const path = `${TASKS}/${String(first.body.id)}`;
  assert.equal((await callVideo(fixture.gateway.url, path, { method: 'DELETE' })).status, 204, 'cancelled');
  assert.equal((await callVideo(fixture.gateway.url, path, { method: 'DELETE' })).status, 204, 'deleted');
  const before = creates().length;
  const again = await create(body, { idempotencyKey: 'order-7' });
  assert.deepEqual([again.status, again.body.id], [200, first.body.id]);
  assert.equal(creates().length, before);
});

/** Two gateways in a row: the account of the outer one is a key of the inner one, whose accounts are at the simulated provider. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { someOf } from '../support/long-test.ts';
import { Relay } from '../support/relay.ts';
import {
  callVideo,
  KEYS,
  startVideo,
  TASKS,
  type TestVariant,
  taskBody,
  textItem,
  VIDEO_MODELS,
  type VideoFixture,
  videoSetup,
} from '../support/video.ts';
import { openJobs } from '../support/video-jobs.ts';
import { until } from '../support/wait.ts';

interface Chain {
  readonly inner: VideoFixture;
  /** Between the gateways. */
  readonly relay: Relay;
  readonly outer: TestGateway;
  close(): Promise<void>;
}

/** The configuration of the outer gateway: the same groups and models, with accounts at the inner one. */
function outerSetup(innerUrl: string): object {
  const setup = videoSetup(innerUrl) as { accounts: { id: string; assets?: object }[] };
  const accounts = setup.accounts.map(({ assets, ...account }) =>
    assets ? { ...account, adapter: 'dragoman', api_key: KEYS.ana } : account,
  );
  return { ...setup, accounts };
}

async function startChain({ worker = true, env = {} } = {}): Promise<Chain> {
  const inner = await startVideo({ worker, video: { queuedMs: 50, runningMs: 50 } });
  const relay = new Relay(inner.gateway.url);
  await relay.start();
  const outer = await startGateway({ worker, env, setup: outerSetup(relay.url) });
  return {
    inner,
    relay,
    outer,
    async close() {
      const closed = await Promise.allSettled([outer.stop(), relay.close(), inner.close()]);
      for (const one of closed) if (one.status === 'rejected') throw one.reason;
    },
  };
}

async function withOwnChain(
  task: (chain: Chain) => Promise<void>,
  options?: Parameters<typeof startChain>[0],
): Promise<void> {
  const own = await startChain(options);
  await task(own).finally(() => own.close());
}

let chain: Chain;
before(async () => {
  chain = await startChain();
});
after(() => chain.close());

const trigger = (variant: TestVariant, words: string, more: object = {}) =>
  taskBody(variant, { content: [textItem(`[sim:${words}]`)], ...more });

const create = (body: object, { outer }: Pick<Chain, 'outer'> = chain) => callVideo(outer.url, TASKS, { body });
const read = async (id: unknown, { outer }: Pick<Chain, 'outer'> = chain) =>
  (await callVideo(outer.url, `${TASKS}/${String(id)}`)).body;
const rowOf = ({ context }: TestGateway, id: unknown) =>
  context.database.db.selectFrom('video_tasks').selectAll().where('id', '=', String(id)).executeTakeFirstOrThrow();
const holdOf = ({ context }: TestGateway, id: unknown) =>
  context.database.db
    .selectFrom('holds')
    .selectAll()
    .where('reference', '=', `task:${String(id)}`)
    .executeTakeFirstOrThrow();

/** Looks at every task at once instead of in some seconds. */
const hurry = ({ context }: TestGateway) =>
  context.database.db
    .updateTable('video_tasks')
    .set({ next_check_at: new Date(0) })
    .where('next_check_at', 'is not', null)
    .execute();

async function created(body: object): Promise<{ readonly id: string; readonly innerId: string }> {
  const response = await create(body);
  assert.equal(response.status, 200, JSON.stringify(response.body));
  const id = String(response.body.id);
  return { id, innerId: (await rowOf(chain.outer, id)).upstream_id ?? '' };
}

const end = (id: string, { inner, outer } = chain) =>
  until(`the end of ${id}`, async () => {
    await hurry(inner.gateway);
    await hurry(outer);
    const task = await read(id, { outer });
    return ['queued', 'running'].includes(String(task.status)) ? undefined : task;
  });

for (const variant of ['A', 'EP', 'HC'] as const)
  test(`a chained task of variant ${variant} succeeds and is charged once in both ledgers`, async () => {
    const { id, innerId } = await created(taskBody(variant));
    assert.match(innerId, /^task_/);
    const task = (await end(id)) as Record<string, unknown> & { readonly usage?: { readonly total_tokens: number } };
    assert.equal(task.status, 'succeeded', JSON.stringify(task));
    const nanos = BigInt(task.usage?.total_tokens ?? 0) * 7_000n;
    assert.ok(nanos > 0n);
    for (const hold of [await holdOf(chain.outer, id), await holdOf(chain.inner.gateway, innerId)])
      assert.deepEqual([hold.state, hold.settled_nanos], ['settled', nanos]);
  });

test('a chained create sends our task id as Idempotency-Key and label, and the user, without a safety identifier', async () => {
  const { id } = await created(taskBody('A'));
  const sent = chain.relay.requests.findLast(({ method, path }) => method === 'POST' && path === TASKS);
  assert.equal(sent?.headers['idempotency-key'], id);
  assert.equal(sent?.headers['x-gateway-label'], id);
  assert.equal(sent?.headers['x-gateway-end-user'], (await rowOf(chain.outer, id)).safety_identifier);
  assert.ok(!('safety_identifier' in JSON.parse(sent?.body ?? '{}')));
});

test('V 4.6: a chained result has the bytes of the provider, whole and in part', async () => {
  const { id, innerId } = await created(taskBody('A', { return_last_frame: true }));
  await end(id);
  const get = async (url: string, path: string, range?: string) => {
    const response = await fetch(`${url}/v1/videos/${path}`, {
      headers: { authorization: `Bearer ${KEYS.ana}`, ...(range !== undefined && { range }) },
    });
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  for (const result of ['content', 'last-frame']) {
    const original = await get(chain.inner.gateway.url, `${innerId}/${result}`);
    assert.equal(original.status, 200, original.bytes.toString());
    assert.deepEqual(await get(chain.outer.url, `${id}/${result}`), original);
    const part = await get(chain.outer.url, `${id}/${result}`, 'bytes=2-9');
    assert.deepEqual([part.status, part.bytes], [206, original.bytes.subarray(2, 10)]);
  }
  const stored = await rowOf(chain.outer, id);
  assert.equal(stored.result_url, `${chain.relay.url}/v1/videos/${innerId}/content`, 'on the origin of the account');
});

test('V 2: a chained task that fails has the neutral error of the inner gateway and costs nothing', async () => {
  const expected = {
    'fail=OutputVideoSensitiveContentDetected.PolicyViolation': 'output_content_rejected',
    'sync_400=InputImageSensitiveContentDetected.PrivacyInformation;item=0': 'input_content_rejected',
    'fail=InternalServiceError': 'upstream_error',
  };
  for (const [words, code] of Object.entries(expected)) {
    const { id, innerId } = await created(trigger('EP', words));
    const task = await end(id);
    assert.deepEqual([task.status, task.error?.code], ['failed', code]);
    assert.equal(
      task.error?.message,
      (await callVideo(chain.inner.gateway.url, `${TASKS}/${innerId}`)).body.error?.message,
    );
    assert.equal((await holdOf(chain.outer, id)).state, 'released');
    assert.equal((await holdOf(chain.inner.gateway, innerId)).state, 'released');
  }
});

test('V 3: a chained task is cancelled once the inner gateway has confirmed it', async () => {
  const cancelled = await created(trigger('A', 'stuck=queued'));
  const path = (id: string) => `${TASKS}/${id}`;
  assert.equal((await callVideo(chain.outer.url, path(cancelled.id), { method: 'DELETE' })).status, 204);
  assert.equal((await read(cancelled.id)).status, 'cancelled');
  assert.equal((await rowOf(chain.inner.gateway, cancelled.innerId)).status, 'cancelled');
  const pending = await created(trigger('A', 'stuck=queued'));
  chain.inner.sim.video.next('on=delete; fault=500');
  assert.equal((await callVideo(chain.outer.url, path(pending.id), { method: 'DELETE' })).status, 204);
  assert.equal((await read(pending.id)).status, 'queued', 'the provider has not confirmed it yet');
  assert.equal((await end(pending.id)).status, 'cancelled');
  for (const hold of [await holdOf(chain.outer, pending.id), await holdOf(chain.inner.gateway, pending.innerId)])
    assert.equal(hold.state, 'released');
});

const REJECTED: readonly (readonly [string, string, number, string])[] = [
  ['an invalid parameter', 'sync_400=InvalidParameter.Foo', 400, 'invalid_request'],
  ['an unsupported parameter', 'sync_400=InvalidParameter.UnsupportedParameter', 400, 'unsupported_video_parameter'],
  ['a rate limit', 'error=QuotaExceeded;status=429', 429, 'rate_limit_exceeded'],
];
for (const [about, words, status, code] of someOf(REJECTED, 1))
  test(`V 4.2 r4: ${about} of the provider gives ${status} ${code} through both gateways and leaves nothing`, () =>
    withOwnChain(
      async (own) => {
        const response = await create(trigger('EP', words), own);
        assert.deepEqual([response.status, response.body.error?.code], [status, code], JSON.stringify(response.body));
        if (status === 429) assert.ok(Number(response.headers.get('retry-after')) >= 1);
        for (const { context } of [own.outer, own.inner.gateway]) {
          const { db } = context.database;
          assert.deepEqual(await db.selectFrom('video_tasks').select('id').execute(), []);
          assert.deepEqual(await db.selectFrom('holds').select('id').where('state', '=', 'held').execute(), []);
        }
      },
      { worker: false },
    ));

const RESPONSES: readonly (readonly [string, number, string, number, string | undefined])[] = [
  ['409 of an asset', 409, 'asset_binding_conflict', 409, 'asset_binding_conflict'],
  ['409 of an asset that is gone', 409, 'asset_invalid', 409, 'asset_invalid'],
  ['402', 402, 'insufficient_balance', 503, 'server_is_overloaded'],
  ['503 with nothing sent', 503, 'server_is_overloaded', 429, 'rate_limit_exceeded'],
  ['409 of a request that is in progress', 409, 'idempotency_in_progress', 202, undefined],
  ['500', 500, 'internal_error', 202, undefined],
];
for (const [about, status, code, expected, expectedCode] of someOf(RESPONSES, 2))
  test(`a ${about} of the inner gateway gives ${expected}`, () =>
    withOwnChain(
      async (own) => {
        own.relay.next({ status, body: { error: { code, message: 'Scripted.', type: 'x' } } });
        const response = await create(taskBody('EP'), own);
        assert.deepEqual([response.status, response.body.error?.code], [expected, expectedCode]);
      },
      { worker: false },
    ));

test('V 4.2 r3: 202 of the inner gateway is a confirmed task', () =>
  withOwnChain(
    async (own) => {
      const response = await create(trigger('EP', 'reset; created; callbacks=dropped'), own);
      assert.equal(response.status, 200, JSON.stringify(response.body));
      const row = await rowOf(own.outer, response.body.id);
      assert.equal(row.submission, 'confirmed');
      assert.equal((await rowOf(own.inner.gateway, row.upstream_id)).submission, 'unknown');
    },
    { worker: false },
  ));

test('V 4.2 r3: a lost response of the inner gateway is reconciled by its list', () =>
  withOwnChain(
    async (own) => {
      own.relay.next('lose');
      const response = await create(taskBody('EP'), own);
      assert.equal(response.status, 202, JSON.stringify(response.body));
      const jobs = await openJobs(own.outer);
      await jobs.run('tasks.reconcile').finally(() => jobs.close());
      const row = await rowOf(own.outer, response.body.id);
      assert.equal(row.submission, 'confirmed');
      assert.ok(await rowOf(own.inner.gateway, row.upstream_id));
      const creates = own.relay.requests.filter(({ method }) => method === 'POST');
      assert.equal(creates.length, 1, 'sent once');
    },
    { worker: false },
  ));

test('V 4.2 r3: equal tasks of two users whose responses were lost are told apart by their labels in the list', () =>
  withOwnChain(
    async (own) => {
      const ids = [];
      for (const key of [KEYS.ana, KEYS.bob]) {
        own.relay.next('lose');
        const { body } = await callVideo(own.outer.url, TASKS, { body: taskBody('EP'), key });
        ids.push(body.id);
      }
      const jobs = await openJobs(own.outer);
      await jobs.run('tasks.reconcile').finally(() => jobs.close());
      for (const id of ids) {
        const { submission, upstream_id } = await rowOf(own.outer, id);
        assert.equal(submission, 'confirmed');
        assert.equal((await rowOf(own.inner.gateway, upstream_id)).label, id);
      }
    },
    { worker: false },
  ));

test('V 4.2 r3: the callback of the inner gateway confirms a task whose response was lost', () =>
  withOwnChain(
    async (own) => {
      // Its public address is not where it listens.
      const port = own.outer.log.find(({ msg }) => msg === 'server.ready')?.port;
      const outer = { ...own.outer, url: `http://127.0.0.1:${String(port)}` };
      own.relay.next('lose');
      const { body } = await create(taskBody('A'), { outer });
      const { db } = own.inner.gateway.context.database;
      const inner = await db.selectFrom('video_tasks').selectAll().executeTakeFirstOrThrow();
      const { pathname } = new URL(inner.callback_url ?? '');
      const report = { event_id: 'evt_1', type: 'running', data: { id: inner.id, status: 'running', version: 2 } };
      const { status } = await callVideo(outer.url, pathname, { body: report });
      assert.equal(status, 200);
      const row = await rowOf(outer, body.id);
      assert.deepEqual([row.submission, row.upstream_id], ['confirmed', inner.id]);
    },
    { worker: false, env: { PUBLIC_URL: 'https://outer.example.com' } },
  ));

for (const variant of ['A', 'EP', 'HC'] as const)
  test(`V 4.13: a chained asset of variant ${variant} is registered, activated and used in a task`, async () => {
    const call = (path: string, body?: object, method?: string) =>
      callVideo(chain.outer.url, path, { ...(body && { body }), ...(method !== undefined && { method }) });
    const model = VIDEO_MODELS[variant];
    const group = variant === 'HC' ? undefined : await call('/v1/asset-groups', { name: 'Campaign', model });
    if (group) assert.equal(group.status, 201, JSON.stringify(group.body));
    const target = group ? { group_id: group.body.id } : { model };
    const asset = await call('/v1/assets', { url: 'https://example.com/zebra.png', asset_type: 'Image', ...target });
    assert.equal(asset.status, 202, JSON.stringify(asset.body));
    const { db } = chain.outer.context.database;
    const { upstream_id: innerId } = await db
      .selectFrom('assets')
      .select('upstream_id')
      .where('id', '=', String(asset.body.id))
      .executeTakeFirstOrThrow();
    const stored = await chain.inner.gateway.context.database.db
      .selectFrom('assets')
      .selectAll()
      .where('id', '=', innerId ?? '')
      .executeTakeFirstOrThrow();
    assert.deepEqual([stored.variant, stored.name], [variant, asset.body.id], 'in the same space, with our id as name');
    chain.inner.sim.video.assets.activate(stored.upstream_id ?? '');
    await until('the activation', async () => {
      for (const { context } of [chain.outer, chain.inner.gateway])
        await context.database.db.updateTable('assets').set({ refreshed_at: null }).execute();
      const { body } = await call(`/v1/assets/${String(asset.body.id)}/refresh`, undefined, 'POST');
      return body.status === 'active';
    });
    const item = { type: 'image_url', image_url: { url: `asset://${String(asset.body.id)}` }, role: 'reference_image' };
    const { id } = await created(taskBody(variant, { content: [textItem(), item] }));
    assert.equal((await end(id)).status, 'succeeded');
    const sent = chain.relay.requests.findLast(({ method, path }) => method === 'POST' && path === TASKS);
    assert.ok(sent?.body.includes(`"asset://${innerId}"`));
  });

test('V 4.9 r6: a chained asset is deleted at the inner gateway too', async () => {
  const call = (path: string, more: object) => callVideo(chain.outer.url, path, more);
  const group = await call('/v1/asset-groups', { body: { name: 'Gone', model: VIDEO_MODELS.A } });
  const body = { url: 'https://example.com/zebra.png', asset_type: 'Image', group_id: group.body.id };
  const asset = await call('/v1/assets', { body });
  for (const path of [`/v1/assets/${String(asset.body.id)}`, `/v1/asset-groups/${String(group.body.id)}`]) {
    const deleted = await call(path, { method: 'DELETE' });
    assert.deepEqual([deleted.status, deleted.body.status], [202, 'deleted'], JSON.stringify(deleted.body));
  }
});

test('V 4.10: a chained authorization session ends with the group of the person', async () => {
  const path = '/v1/assets/real-person/authorization-sessions';
  const session = await callVideo(chain.outer.url, path, { body: { model: VIDEO_MODELS.A } });
  assert.equal(session.status, 201, JSON.stringify(session.body));
  const page = await fetch(String(session.body.authorization_url), {
    method: 'POST',
    body: new URLSearchParams({ result: 'pass' }),
    redirect: 'manual',
  });
  await fetch(page.headers.get('location') ?? '');
  const completed = await until('the completion', async () => {
    for (const { context } of [chain.inner.gateway, chain.outer])
      await context.database.db
        .updateTable('authorization_sessions')
        .set({ next_check_at: new Date(0) })
        .where('next_check_at', 'is not', null)
        .execute();
    const { body } = await callVideo(chain.outer.url, `${path}/${String(session.body.id)}`);
    return body.status === 'completed' ? body : undefined;
  });
  const group = await callVideo(chain.outer.url, `/v1/asset-groups/${String(completed.asset_group_id)}`);
  assert.deepEqual([group.status, group.body.group_type], [200, 'LivenessFace']);
  const body = { url: 'https://example.com/face.png', asset_type: 'Image', group_id: completed.asset_group_id };
  const asset = await callVideo(chain.outer.url, '/v1/assets', { body });
  assert.equal(asset.status, 202, JSON.stringify(asset.body));
});

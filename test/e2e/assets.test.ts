/** Private assets over HTTP, against the asset library of the simulated provider (V 4.9). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import type { Client } from 'pg';
import { connect } from '../../src/platform/db/index.ts';
import { ASSET_STATUSES } from '../../src/rules/index.ts';
import { ASSETS_PATH, AssetCaller, actions, rowOf, SOURCE_URL, setRow } from '../support/assets.ts';
import { longTest } from '../support/long-test.ts';
import { explain, statementsOf } from '../support/plan.ts';
import {
  GROUPS,
  KEYS,
  startVideo,
  TASKS,
  TEST_VARIANTS,
  taskBody,
  textItem,
  VIDEO_MODELS,
  type VideoFixture,
} from '../support/video.ts';
import { addUser, setStatus, storeTask } from '../support/video-tasks.ts';
import { until } from '../support/wait.ts';

let fixture: VideoFixture;
before(async () => {
  fixture = await startVideo({ video: { clock: 'manual' } });
});
after(() => fixture.close());

let users = 0;
interface TestUser extends AssetCaller {
  readonly userId: string;
}
/** A user of its own for each test: requests per minute are limited by user. */
const newCaller = async (): Promise<TestUser> => {
  users += 1;
  const userId = `owner${users}`;
  return Object.assign(new AssetCaller(fixture, await addUser(fixture.gateway, userId)), { userId });
};

const MISSING = 'asset_000000000000000000000';
const idsIn = (body: Record<string, unknown>) => (body.data as { id: string }[]).map(({ id }) => id);

for (const variant of TEST_VARIANTS)
  test(`V 4.9 r1: POST returns 202 with a processing asset of exactly the documented fields (${variant})`, async () => {
    const caller = await newCaller();
    const groupId = variant === 'HC' ? undefined : await caller.groupId(variant);
    const target = groupId === undefined ? { model: VIDEO_MODELS.HC } : { group_id: groupId };
    const { status, body } = await caller.createAsset({ ...target, name: 'Zebra' });
    assert.equal(status, 202, JSON.stringify(body));
    const { id, created_at, updated_at, ...rest } = body;
    assert.match(String(id), /^asset_[A-Za-z0-9]+$/);
    assert.ok(Number(updated_at) >= Number(created_at));
    assert.deepEqual(rest, {
      object: 'asset',
      name: 'Zebra',
      asset_type: 'Image',
      status: 'processing',
      ...(groupId !== undefined && { group_id: groupId }),
      route_group_id: GROUPS[variant],
      route_group_name: `Video ${variant}`,
    });
    const sent = actions(fixture, 'CreateAsset').at(-1);
    assert.deepEqual(
      [sent?.library?.name, sent?.library?.url, sent?.library?.assetType],
      [id, SOURCE_URL, 'Image'],
      'the provider knows the asset by our id',
    );
    const row = await rowOf(fixture, 'assets', id);
    assert.ok(!JSON.stringify(body).includes(String(row.upstream_id)), 'V 1: no id of the provider');
    assert.ok(!JSON.stringify(body).includes('zebra.png'), 'V 2: no address');
    assert.deepEqual((await caller.get(ASSETS_PATH, id)).body, body);
    await caller.activate(id);
    assert.equal((await caller.get(ASSETS_PATH, id)).body.status, 'active', 'V 1 r2');
  });

test('V 4.9 r1, V 4.12: every type passes, and the name is empty by default', async () => {
  const caller = await newCaller();
  const group_id = await caller.groupId();
  for (const asset_type of ['Image', 'Video', 'Audio']) {
    const { status, body } = await caller.createAsset({ group_id, asset_type });
    assert.deepEqual([status, body.asset_type, body.name], [202, asset_type, '']);
  }
});

const REJECTED: readonly (readonly [string, string, object, number, string])[] = [
  ['r1', 'without a url', { url: undefined }, 400, 'invalid_request'],
  ['r1', 'with an http url', { url: 'http://example.com/a.png' }, 400, 'invalid_request'],
  ['r1', 'with a private url', { url: 'https://127.0.0.1/a.png' }, 400, 'invalid_request'],
  ['r1', 'with a data URL', { url: 'data:image/png;base64,AAAA' }, 400, 'invalid_request'],
  ['r1', 'with bare Base64', { url: 'iVBORw0KGgoAAAANSUhEUg==' }, 400, 'invalid_request'],
  ['r1', 'with an asset reference', { url: 'asset://asset_1' }, 400, 'invalid_request'],
  ['r1', 'without a type', { asset_type: undefined }, 400, 'invalid_request'],
  ['r1', 'with a type in lower case', { asset_type: 'image' }, 400, 'invalid_request'],
  ['r1', 'with an unknown type', { asset_type: 'Text' }, 400, 'invalid_request'],
  ['r1', 'with a type that is a number', { asset_type: 1 }, 400, 'invalid_request'],
  ['r1', 'with a name of 65 characters', { name: 'n'.repeat(65) }, 400, 'invalid_request'],
  ['r1', 'with an unknown field', { prompt: 'x' }, 400, 'invalid_request'],
  ['r1', 'with an unknown model', { model: 'no-such-model' }, 404, 'model_not_found'],
  ['r2', 'with an EP model without group_id', { model: VIDEO_MODELS.EP }, 400, 'invalid_request'],
  ['r2', 'with an A model without group_id', { model: VIDEO_MODELS.A }, 400, 'invalid_request'],
  ['r2', 'with an unknown group', { group_id: 'assetgrp_unknown' }, 404, 'asset_group_not_found'],
  ['r2', 'with a group id of another form', { group_id: 'x/y' }, 404, 'asset_group_not_found'],
  ['r2', 'with a group id that is not a string', { group_id: 5 }, 400, 'invalid_request'],
];
for (const [rule, about, body, status, code] of REJECTED)
  test(`V 4.9 ${rule}: POST ${about} gives ${status} ${code} and sends nothing`, async () => {
    const caller = await newCaller();
    const before = actions(fixture).length;
    const response = await caller.createAsset(body);
    assert.deepEqual([response.status, response.body.error?.code], [status, code], JSON.stringify(response.body));
    assert.equal(actions(fixture).length, before);
    assert.deepEqual((await caller.call(ASSETS_PATH)).body.data, []);
  });

test('V 4.9 r1: multipart gives 400 invalid_request', async () => {
  const { status, body } = await (await newCaller()).call(ASSETS_PATH, {
    method: 'POST',
    body: '--x',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  });
  assert.deepEqual([status, body.error?.code], [400, 'invalid_request']);
});

test('V 1 r3, V 4.9 r2: an HC model with group_id gives 400; a model of another space 409 asset_channel_mismatch', async () => {
  const caller = await newCaller();
  const group_id = await caller.groupId('EP');
  const hc = await caller.createAsset({ group_id, model: VIDEO_MODELS.HC });
  assert.deepEqual([hc.status, hc.body.error?.code], [400, 'invalid_request']);
  const a = await caller.createAsset({ group_id, model: VIDEO_MODELS.A });
  assert.deepEqual(
    [a.status, a.body.error?.code, a.headers.get('x-should-retry')],
    [409, 'asset_channel_mismatch', 'false'],
  );
  const own = await caller.createAsset({ group_id, model: 'demo-video-2-0-fast-ep' });
  assert.deepEqual([own.status, own.body.route_group_id], [202, GROUPS.EP]);
});

test('V 1 r3, V 4.9 r2: without model and group_id the asset is of HC; a key without HC gets 400', async () => {
  const caller = await newCaller();
  const { status, body } = await caller.createAsset();
  assert.deepEqual([status, body.route_group_id, 'group_id' in body], [202, GROUPS.HC, false]);
  const onlyEp = await new AssetCaller(fixture, KEYS.onlyEp).createAsset();
  assert.deepEqual([onlyEp.status, onlyEp.body.error?.code], [400, 'invalid_request']);
});

test('V 4.9 r2: a key uses only groups of service groups that it reaches', async () => {
  const group_id = await new AssetCaller(fixture, KEYS.ana).groupId('A');
  const { status, body } = await new AssetCaller(fixture, KEYS.onlyEp).createAsset({ group_id });
  assert.deepEqual([status, body.error?.code], [409, 'asset_route_group_unavailable']);
});

test('V 5 r5: a key without a video group gets 409 on every operation but a read by id', async () => {
  const owner = await newCaller();
  const key = 'key-without-any-video-group-0';
  await fixture.gateway.apply({
    keys: [{ user: owner.userId, group: 'openai', name: 'none', key, video_groups: [] }],
  });
  const id = await owner.assetId('A');
  const without = new AssetCaller(fixture, key);
  for (const response of [
    await without.createAsset(),
    await without.call(ASSETS_PATH),
    await without.refresh(id),
    await without.delete(ASSETS_PATH, id),
  ])
    assert.deepEqual([response.status, response.body.error?.code], [409, 'asset_route_group_unavailable']);
  assert.equal((await without.get(ASSETS_PATH, id)).status, 200);
});

// ---------------------------------------------------------------- accounts and hidden groups

test('V 1: HC assets of a user share one hidden group at the provider, which callers never see', async () => {
  const caller = await newCaller();
  const before = actions(fixture, 'CreateAssetGroup').length;
  const responses = await Promise.all(Array.from({ length: 5 }, () => caller.createAsset({ model: VIDEO_MODELS.HC })));
  assert.deepEqual(
    responses.map(({ status }) => status),
    Array(5).fill(202),
  );
  assert.equal(actions(fixture, 'CreateAssetGroup').length, before + 1);
  assert.deepEqual((await caller.call('/v1/asset-groups')).body.data, []);
  const { asset_group_id } = await rowOf(fixture, 'assets', responses[0]?.body.id);
  for (const response of [
    await caller.get('/v1/asset-groups', asset_group_id),
    await caller.delete('/v1/asset-groups', asset_group_id),
    await caller.createAsset({ group_id: asset_group_id }),
  ])
    assert.deepEqual([response.status, response.body.error?.code], [404, 'asset_group_not_found']);
});

test('V 1: a user stays with one account of a service group, and nothing is moved when the account goes', async () => {
  const own = await startVideo();
  try {
    const account = (n: number) => ({
      id: `ep-${n}`,
      group: 'ep',
      base_url: own.sim.video.url,
      api_key: 'sk-simulated-ep',
      assets: {
        base_url: new URL(own.sim.video.url).origin,
        access_key: `AK-simulated-ep-${n}`,
        secret_key: 'SK-simulated',
        region: 'cn-beijing',
        project: 'default',
      },
    });
    await own.gateway.apply({ accounts: [1, 2, 3, 4].map(account) });
    const caller = new AssetCaller(own);
    for (let n = 0; n < 6; n += 1) await caller.groupId('EP');
    const used = new Set(actions(own, 'CreateAssetGroup').map((entry) => entry.account));
    assert.equal(used.size, 1);
    const group_id = await caller.groupId('EP');
    const { body: asset } = await caller.createAsset({ group_id });
    const { account_id } = await rowOf(own, 'assets', asset.id);
    await sql`delete from accounts where id = ${account_id}`.execute(own.gateway.context.database.db);
    await own.gateway.apply({ users: [{ id: 'ana', email: 'new@example.test' }] });
    await until(
      'the catalog',
      () =>
        !own.gateway
          .catalog()
          .accounts('ep')
          .some(({ id }) => id === account_id),
    );
    for (const response of [
      await caller.createGroup({ model: VIDEO_MODELS.EP }),
      await caller.createAsset({ group_id }),
      await caller.refresh(asset.id),
    ])
      assert.deepEqual([response.status, response.body.error?.code], [409, 'asset_route_group_misconfigured']);
    assert.equal((await caller.get(ASSETS_PATH, asset.id)).body.status, 'processing');
  } finally {
    await own.close();
  }
});

test('V 3: a group that the provider lost becomes invalid with the next asset; an HC user gets a new hidden group', async () => {
  const caller = await newCaller();
  const group_id = await caller.groupId();
  const { upstream_id } = await rowOf(fixture, 'asset_groups', group_id);
  fixture.sim.video.groups.vanish(String(upstream_id));
  const lost = await caller.createAsset({ group_id });
  assert.deepEqual([lost.status, lost.body.error?.code], [409, 'asset_binding_unavailable']);
  assert.equal((await caller.get('/v1/asset-groups', group_id)).body.status, 'invalid');
  const first = await caller.assetId('HC');
  const hidden = await rowOf(fixture, 'asset_groups', (await rowOf(fixture, 'assets', first)).asset_group_id);
  fixture.sim.video.groups.vanish(String(hidden.upstream_id));
  assert.equal((await caller.createAsset({ model: VIDEO_MODELS.HC })).status, 409);
  assert.equal((await caller.createAsset({ model: VIDEO_MODELS.HC })).status, 202);
});

// ---------------------------------------------------------------- lists and details

test('V 4.9 r3: pages follow each other without gap or overlap, and filters select', async () => {
  const caller = await newCaller();
  const [a, ep] = [await caller.groupId('A'), await caller.groupId('EP')];
  const made: { id: string; group: string | undefined; type: string }[] = [];
  for (const [n, group] of [a, ep, undefined, a, ep, undefined, a].entries()) {
    const type = ['Image', 'Video', 'Audio'][n % 3] ?? 'Image';
    const target = group === undefined ? { model: VIDEO_MODELS.HC } : { group_id: group };
    const { body } = await caller.createAsset({ ...target, asset_type: type });
    made.unshift({ id: String(body.id), group, type });
  }
  // Times with equal microseconds: the id decides.
  await sql`update assets set created_at = '2026-01-01T00:00:00.123456Z' where user_id = ${caller.userId}`.execute(
    fixture.gateway.context.database.db,
  );
  const expected = made.map(({ id }) => id).sort((one, other) => (one < other ? 1 : -1));
  const before = actions(fixture).length;
  const seen: string[] = [];
  let after: unknown = '';
  for (const hasMore of [true, true, false]) {
    const { body } = await caller.call(`${ASSETS_PATH}?limit=3${after === '' ? '' : `&after=${after}`}`);
    assert.equal(body.has_more, hasMore);
    seen.push(...idsIn(body));
    after = body.last_id;
  }
  assert.deepEqual(new Set(seen), new Set(expected));
  assert.equal(seen.length, expected.length);
  const matching = async (query: string) => idsIn((await caller.call(`${ASSETS_PATH}?${query}`)).body).sort();
  const those = (keep: (asset: (typeof made)[number]) => boolean) =>
    made
      .filter(keep)
      .map(({ id }) => id)
      .sort();
  assert.deepEqual(
    await matching(`group_id=${a}`),
    those(({ group }) => group === a),
  );
  assert.deepEqual(
    await matching(`route_group_id=${GROUPS.HC}`),
    those(({ group }) => group === undefined),
  );
  assert.deepEqual(
    await matching('asset_type=Video'),
    those(({ type }) => type === 'Video'),
  );
  assert.deepEqual(await matching(`asset_type=Image&group_id=${ep}`), []);
  assert.deepEqual(
    await matching('status=processing'),
    those(() => true),
  );
  for (const query of ['group_id=assetgrp_x', 'route_group_id=x', 'status=active', 'status=deleted'])
    assert.deepEqual(await matching(query), [], query);
  assert.equal(actions(fixture).length, before, 'V 4.9 r4: lists make no upstream call');
});

test('V 4.9 r3: limits, filters and cursors outside their range give 400 invalid_request', async () => {
  const caller = await newCaller();
  for (const query of [
    'limit=0',
    'limit=101',
    'limit=abc',
    'status=other',
    'asset_type=image',
    `after=${MISSING}`,
    'unknown=1',
  ]) {
    const { status, body } = await caller.call(`${ASSETS_PATH}?${query}`);
    assert.deepEqual([status, body.error?.code], [400, 'invalid_request'], query);
  }
  for (const status of ASSET_STATUSES) {
    const { body } = await caller.call(`${ASSETS_PATH}?status=${status}&limit=100`);
    assert.deepEqual(body, { object: 'list', data: [], first_id: null, last_id: null, has_more: false });
  }
});

test('V 4.9 r4: a detail is the saved state without an upstream call', async () => {
  const caller = await newCaller();
  const id = await caller.assetId();
  const { upstream_id } = await rowOf(fixture, 'assets', id);
  fixture.sim.video.assets.activate(String(upstream_id));
  const before = actions(fixture).length;
  assert.equal((await caller.get(ASSETS_PATH, id)).body.status, 'processing');
  assert.equal(actions(fixture).length, before);
});

longTest('V 4.9 r3: a page of 100,000 assets of one user is read from an index in under 20 ms', async (t) => {
  const caller = await newCaller();
  const [group_id, small] = [await caller.groupId(), await caller.groupId()];
  await caller.createAsset({ group_id: small });
  const client: Client = await connect(fixture.gateway.database.url);
  t.after(() => client.end());
  await client.query(
    `insert into assets (user_id, id, asset_group_id, group_id, variant, account_id, asset_type, status, source_url, upstream_id, created_at)
     select $1, 'asset_' || md5(n::text), $2, 'video-a', 'A', 'account-video-a', (array['Image', 'Video', 'Audio'])[1 + n % 3],
       case when n % 1000 = 0 then 'failed' else 'active' end, 'https://example.com/' || n, 'asset-' || n, now() - n * interval '1 second'
     from generate_series(1, 100000) n`,
    [caller.userId, group_id],
  );
  await until('the visibility map', async () => {
    await client.query('vacuum (analyze) assets');
    const { rows } = await client.query(
      "select relallvisible >= relpages * 0.9 as is_complete from pg_class where relname = 'assets'",
    );
    return rows[0].is_complete;
  });
  const { rows } = await client.query(
    'select id from assets where user_id = $1 order by created_at desc offset 90000 limit 1',
    [caller.userId],
  );
  for (const query of [
    '',
    '?limit=100',
    `?limit=100&after=${rows[0].id}`,
    '?status=failed&limit=100',
    '?status=invalid',
    '?asset_type=Video&limit=100',
    `?group_id=${small}`,
    `?group_id=${group_id}&limit=100`,
  ]) {
    const sent = await statementsOf(() => caller.call(ASSETS_PATH + query));
    const costs = [];
    for (const statement of sent)
      if (/ "?assets"? /.test(statement.text)) {
        await explain(client, statement);
        costs.push(await explain(client, statement));
      }
    const ms = costs.reduce((sum, cost) => sum + cost.ms, 0);
    t.diagnostic(
      `${query || 'first page'}: ${costs.reduce((sum, cost) => sum + cost.blocks, 0)} blocks, ${ms.toFixed(1)} ms`,
    );
    assert.ok(costs.length >= 1);
    assert.ok(
      costs.every(({ scanned }) => !scanned.has('assets')),
      `${query} reads the table from end to end`,
    );
    assert.ok(ms < 20, `${query}: ${ms} ms`);
  }
});

// ---------------------------------------------------------------- isolation

test('V 1: an asset of another user is like a missing one on every route', async () => {
  const owner = await newCaller();
  const other = await newCaller();
  for (const variant of TEST_VARIANTS) {
    const id = await owner.assetId(variant);
    for (const ask of [
      (name: string) => other.get(ASSETS_PATH, name),
      (name: string) => other.refreshSoon(name),
      (name: string) => other.delete(ASSETS_PATH, name),
    ]) {
      const [foreign, missing] = [await ask(id), await ask(MISSING)];
      assert.deepEqual([foreign.status, foreign.body], [missing.status, missing.body]);
      assert.deepEqual([foreign.status, foreign.body.error?.code], [404, 'asset_not_found']);
    }
    assert.equal((await other.call(`${ASSETS_PATH}?after=${id}`)).status, 400);
  }
  assert.deepEqual((await other.call(ASSETS_PATH)).body.data, []);
});

test('V 1: twin keys of one user share assets, also with a key for another service group', async () => {
  const [one, two, ep] = [KEYS.ana, KEYS.ana2, KEYS.onlyEp].map((key) => new AssetCaller(fixture, key));
  assert.ok(one && two && ep);
  const id = await one.assetId('A');
  assert.deepEqual((await two.call(ASSETS_PATH)).body, (await one.call(ASSETS_PATH)).body);
  assert.equal((await ep.refresh(id)).status, 200);
  assert.equal((await two.delete(ASSETS_PATH, id)).status, 202);
});

// ---------------------------------------------------------------- refresh

test('V 4.9 r5: a refresh reports processing, then active; within two seconds it returns the saved state', async () => {
  const caller = await newCaller();
  const id = await caller.assetId();
  const asked = () => actions(fixture, 'GetAsset').length;
  const before = asked();
  const first = await caller.refreshSoon(id);
  assert.deepEqual([first.status, first.body.status, asked()], [200, 'processing', before + 1]);
  const { upstream_id } = await rowOf(fixture, 'assets', id);
  fixture.sim.video.assets.activate(String(upstream_id));
  const second = await caller.refreshSoon(id);
  assert.deepEqual([second.status, second.body.status, asked()], [200, 'processing', before + 1]);
  await setRow(fixture, 'assets', id, { refreshed_at: new Date(Date.now() - 2_100) });
  const third = await caller.refreshSoon(id);
  assert.deepEqual([third.status, third.body.status, asked()], [200, 'active', before + 2]);
});

test('V 4.9 r5: concurrent refreshes ask the provider once', async () => {
  const caller = await newCaller();
  const id = await caller.assetId();
  const before = actions(fixture, 'GetAsset').length;
  const responses = await Promise.all(Array.from({ length: 10 }, () => caller.refreshSoon(id)));
  assert.ok(responses.every(({ status }) => status === 200));
  assert.equal(actions(fixture, 'GetAsset').length, before + 1);
});

test('V 4.9 r5: a refresh takes no body and no query; an Idempotency-Key is ignored', async () => {
  const caller = await newCaller();
  const path = `${ASSETS_PATH}/${await caller.assetId()}/refresh`;
  for (const request of [{ body: { url: 'x' } }, { body: '[]' }, { body: 'x' }]) {
    const { status, body } = await caller.call(path, request);
    assert.deepEqual([status, body.error?.code], [400, 'invalid_request'], JSON.stringify(request));
  }
  assert.equal((await caller.call(`${path}?force=1`, { method: 'POST' })).status, 400);
  for (const body of ['{}', ' { } ', ''])
    assert.equal((await caller.call(path, { body, headers: { 'idempotency-key': '' } })).status, 200);
});

test('V 3: a failed review makes the asset failed, and it stays so', async () => {
  const caller = await newCaller();
  const id = await caller.assetId('A', { url: `${SOURCE_URL}?sim=fail=FaceMismatch` });
  await fixture.sim.video.clock.advance(60_000);
  assert.equal((await caller.refresh(id)).body.status, 'failed');
  assert.match(String((await rowOf(fixture, 'assets', id)).failure), /^FaceMismatch/);
  const before = actions(fixture).length;
  const again = await caller.refresh(id);
  assert.deepEqual([again.status, again.body.status], [200, 'failed']);
  assert.equal(actions(fixture).length, before);
});

for (const [about, spoil] of [
  ['disappears', (id: string) => fixture.sim.video.assets.vanish(id)],
  ['fails later', (id: string) => fixture.sim.video.assets.fail(id, 'ContentRestricted')],
] as const)
  test(`V 3: an active asset that ${about} at the provider becomes invalid and never returns`, async () => {
    const caller = await newCaller();
    const id = await caller.assetId('HC');
    await caller.activate(id);
    const { upstream_id } = await rowOf(fixture, 'assets', id);
    const creations = actions(fixture, 'CreateAsset').length;
    spoil(String(upstream_id));
    const gone = await caller.refresh(id);
    assert.deepEqual([gone.status, gone.body.status], [200, 'invalid']);
    assert.equal((await caller.refresh(id)).body.status, 'invalid');
    assert.equal((await caller.get(ASSETS_PATH, id)).body.status, 'invalid');
    assert.equal(actions(fixture, 'CreateAsset').length, creations, 'nothing is uploaded again');
  });

test('V 3: an asset that the provider does not know yet stays processing, and fails if it never appears', async () => {
  const caller = await newCaller();
  const id = await caller.assetId();
  const { upstream_id } = await rowOf(fixture, 'assets', id);
  fixture.sim.video.assets.vanish(String(upstream_id));
  assert.equal((await caller.refresh(id)).body.status, 'processing');
  await setRow(fixture, 'assets', id, { created_at: new Date(Date.now() - 61_000) });
  assert.equal((await caller.refresh(id)).body.status, 'failed');
});

for (const [fault, status] of [
  ['status=500', 502],
  ['html', 502],
  ['truncated', 502],
  ['status=429', 503],
  ['reset', 503],
] as const)
  test(`V 7: a refresh while the provider responds with ${fault} gives ${status} and keeps the state`, async () => {
    const caller = await newCaller();
    const id = await caller.assetId();
    fixture.sim.video.next(`on=GetAsset; ${fault}`);
    const response = await caller.refresh(id);
    assert.deepEqual([response.status, response.body.error?.code], [status, 'asset_upstream_unavailable']);
    assert.equal((await caller.get(ASSETS_PATH, id)).body.status, 'processing');
    assert.equal((await caller.refresh(id)).status, 200);
  });

test('V 4.9 r5: a refresh returns 200 in every state', async () => {
  const caller = await newCaller();
  const id = await caller.assetId();
  for (const status of ASSET_STATUSES) {
    await setRow(fixture, 'assets', id, { status, deleted_at: status === 'deleted' ? new Date() : null });
    const response = await caller.refresh(id);
    assert.equal(response.status, 200, status);
  }
});

// ---------------------------------------------------------------- deletion

test('V 4.9 r6: DELETE of an A asset returns 202; it stays readable for 30 days and leaves the lists', async () => {
  const caller = await newCaller();
  const id = await caller.assetId('A');
  await caller.activate(id);
  const { upstream_id } = await rowOf(fixture, 'assets', id);
  const { status, body } = await caller.delete(ASSETS_PATH, id);
  assert.deepEqual([status, body.id, body.status], [202, id, 'deleted']);
  const again = await caller.delete(ASSETS_PATH, id);
  assert.deepEqual([again.status, again.body], [202, body]);
  const sent = actions(fixture, 'DeleteAsset').filter(({ library }) => library?.id === upstream_id);
  assert.equal(sent.length, 1);
  assert.equal((await caller.get(ASSETS_PATH, id)).body.status, 'deleted');
  assert.deepEqual((await caller.call(ASSETS_PATH)).body.data, []);
  await setRow(fixture, 'assets', id, { deleted_at: new Date(Date.now() - 31 * 86_400_000) });
  assert.equal((await caller.get(ASSETS_PATH, id)).status, 404);
});

for (const variant of ['EP', 'HC'] as const)
  test(`V 4.9 r6: DELETE of an ${variant} asset gives 400 asset_delete_not_supported and changes nothing`, async () => {
    const caller = await newCaller();
    const id = await caller.assetId(variant);
    const before = actions(fixture).length;
    const { status, body } = await caller.delete(ASSETS_PATH, id);
    assert.deepEqual([status, body.error?.code], [400, 'asset_delete_not_supported']);
    assert.equal((await caller.get(ASSETS_PATH, id)).body.status, 'processing');
    assert.equal(actions(fixture).length, before);
  });

test('V 3: DELETE of an asset of an unfinished task gives 409 asset_in_use; after the task ended, 202', async () => {
  const caller = await newCaller();
  const id = await caller.assetId('A');
  await caller.activate(id);
  const task = await storeTask(fixture.gateway, caller.userId, { status: 'queued' });
  await fixture.gateway.context.database.db
    .insertInto('video_task_assets')
    .values({ user_id: caller.userId, task_id: task, asset_id: id })
    .execute();
  for (const status of ['queued', 'running'] as const) {
    await setStatus(fixture.gateway, task, status);
    const { status: code, body, headers } = await caller.delete(ASSETS_PATH, id);
    assert.deepEqual([code, body.error?.code, headers.get('x-should-retry')], [409, 'asset_in_use', 'false']);
    assert.equal((await caller.get(ASSETS_PATH, id)).body.status, 'active');
  }
  await setStatus(fixture.gateway, task, 'succeeded');
  assert.equal((await caller.delete(ASSETS_PATH, id)).status, 202);
});

for (const variant of TEST_VARIANTS)
  test(`V 1, V 4.9 r6: an active asset is used by a task, and protected as long as the task runs (${variant})`, async () => {
    const caller = await newCaller();
    const id = await caller.assetId(variant);
    const content = [textItem(), { type: 'image_url', image_url: { url: `asset://${id}` }, role: 'reference_image' }];
    const createTask = () => caller.call(TASKS, { body: taskBody(variant, { content }) });
    const early = await createTask();
    assert.deepEqual([early.status, early.body.error?.code], [409, 'asset_not_ready'], 'V 2');
    await caller.activate(id);
    const { status, body } = await createTask();
    assert.equal(status, 200, JSON.stringify(body));
    const { upstream_id } = await rowOf(fixture, 'assets', id);
    const sent = fixture.sim.video.journal.requests.findLast(({ operation }) => operation === 'create');
    assert.equal(sent?.account, GROUPS[variant], 'the account that holds the asset runs the task');
    assert.ok(JSON.stringify(sent?.body).includes(`asset://${upstream_id}`));
    const refused = await caller.delete(ASSETS_PATH, id);
    const code = variant === 'A' ? 'asset_in_use' : 'asset_delete_not_supported';
    assert.deepEqual([refused.status, refused.body.error?.code], [variant === 'A' ? 409 : 400, code]);
    if (variant !== 'A') return;
    await setStatus(fixture.gateway, String(body.id), 'failed');
    assert.equal((await caller.delete(ASSETS_PATH, id)).status, 202);
    const late = await createTask();
    assert.ok(late.status >= 400, 'a deleted asset is of no use');
  });

test('V 3: DELETE works from every state', async () => {
  const caller = await newCaller();
  const group_id = await caller.groupId();
  for (const status of ASSET_STATUSES) {
    const { body } = await caller.createAsset({ group_id });
    await setRow(fixture, 'assets', body.id, { status, deleted_at: status === 'deleted' ? new Date() : null });
    const response = await caller.delete(ASSETS_PATH, body.id);
    assert.equal(response.status, 202, status);
    assert.ok(['deleting', 'deleted'].includes(String(response.body.status)), `${status}: ${response.body.status}`);
  }
});

test('V 3: a deletion that the provider does not confirm is repeated by the worker', async () => {
  const own = await startVideo({ worker: true });
  try {
    const caller = new AssetCaller(own);
    const [away, refused] = [await caller.assetId(), await caller.assetId()];
    own.sim.video.next('on=DeleteAsset; status=500');
    assert.equal((await caller.delete(ASSETS_PATH, away)).body.status, 'deleting');
    own.sim.video.next('on=DeleteAsset; sync_400=OperationNotAllowed');
    assert.equal((await caller.delete(ASSETS_PATH, refused)).body.status, 'delete_failed');
    for (const id of [away, refused]) {
      await setRow(own, 'assets', id, { next_check_at: new Date() });
      await until('the deletion', async () => (await caller.get(ASSETS_PATH, id)).body.status === 'deleted');
    }
  } finally {
    await own.close();
  }
});

// ---------------------------------------------------------------- unknown creations

for (const fault of ['status=500;created', 'reset;created', 'truncated', 'eof_mid'])
  test(`V 3: a creation with ${fault} gives 202 create_unknown, and is found by name and never repeated`, async () => {
    const caller = await newCaller();
    const group_id = await caller.groupId();
    fixture.sim.video.next(`on=CreateAsset; ${fault}`);
    const { status, body, headers } = await caller.createAsset({ group_id }, 'unknown');
    assert.deepEqual([status, body.status], [202, 'create_unknown'], JSON.stringify(body));
    assert.equal(headers.get('x-should-retry'), 'false');
    const replayed = await caller.createAsset({ group_id }, 'unknown');
    assert.deepEqual([replayed.status, replayed.body.id], [202, body.id]);
    const found = await caller.refresh(body.id);
    assert.deepEqual([found.status, found.body.status], [200, 'processing']);
    await caller.activate(body.id);
    const sent = actions(fixture, 'CreateAsset').filter(({ library }) => library?.name === body.id);
    assert.equal(sent.length, 1);
  });

test('V 3: the worker resolves unknown creations, fails those that never appear, and deletes what it finds', async () => {
  const own = await startVideo({ worker: true });
  try {
    const caller = new AssetCaller(own);
    const group_id = await caller.groupId();
    const create = async (fault: string) => {
      own.sim.video.next(`on=CreateAsset; ${fault}`);
      return String((await caller.createAsset({ group_id })).body.id);
    };
    const [found, never, deleted] = [
      await create('reset;created'),
      await create('reset'),
      await create('reset;created'),
    ];
    const statusOf = async (id: string) => (await caller.get(ASSETS_PATH, id)).body.status;
    const due = { next_check_at: new Date() };
    const old = { created_at: new Date(Date.now() - 3_700_000) };
    await setRow(own, 'assets', found, due);
    await setRow(own, 'assets', never, { ...due, ...old });
    await until('found', async () => (await statusOf(found)) === 'processing');
    await until('failed', async () => (await statusOf(never)) === 'failed');
    assert.equal((await caller.delete(ASSETS_PATH, deleted)).body.status, 'deleted', 'found by name and deleted');
    assert.equal((await caller.delete(ASSETS_PATH, never)).body.status, 'deleted');
    assert.equal((await caller.delete(ASSETS_PATH, found)).body.status, 'deleted');
    assert.equal((await caller.delete('/v1/asset-groups', group_id)).status, 202);
    assert.equal(own.sim.video.assets.all.length, 0, 'nothing is left at the provider');
  } finally {
    await own.close();
  }
});

test('V 3: an asset whose replica stopped is looked up by the worker', async () => {
  const own = await startVideo({ worker: true });
  try {
    const caller = new AssetCaller(own);
    const { body } = await caller.createAsset({ group_id: await caller.groupId() }, 'stopped');
    await setRow(own, 'assets', body.id, { status: 'creating', upstream_id: null, next_check_at: new Date() });
    await until('found', async () => (await caller.get(ASSETS_PATH, body.id)).body.status === 'processing');
    assert.equal(
      (await caller.createAsset({ group_id: (await rowOf(own, 'assets', body.id)).asset_group_id }, 'stopped')).body.id,
      body.id,
    );
    assert.equal(actions(own, 'CreateAsset').length, 1);
  } finally {
    await own.close();
  }
});

test('V 7: a throttled or unreachable provider gives 503, leaves no asset and frees the key', async () => {
  const own = await startVideo();
  try {
    const caller = new AssetCaller(own);
    const group_id = await caller.groupId();
    own.sim.video.next('on=CreateAsset; error=Throttling');
    const throttled = await caller.createAsset({ group_id }, 'again');
    assert.deepEqual([throttled.status, throttled.body.error?.code], [503, 'asset_upstream_unavailable']);
    assert.ok(Number(throttled.headers.get('retry-after')) > 0);
    assert.deepEqual((await caller.call(ASSETS_PATH)).body.data, []);
    assert.equal((await caller.createAsset({ group_id }, 'again')).status, 202);
    own.sim.video.next('on=CreateAssetGroup; status=500');
    const hidden = await caller.createAsset({ model: VIDEO_MODELS.HC });
    assert.deepEqual([hidden.status, hidden.body.error?.code], [503, 'asset_upstream_unavailable']);
    assert.equal(hidden.headers.get('x-should-retry'), null, 'nothing of the asset was sent');
    await own.sim.close();
    const away = await caller.createAsset({ group_id });
    assert.deepEqual([away.status, away.body.error?.code], [503, 'asset_upstream_unavailable']);
  } finally {
    await own.close();
  }
});

test('V 3: a hidden group without a clear response is found by name, or given up after a minute', async () => {
  const own = await startVideo();
  try {
    const caller = new AssetCaller(own);
    const create = () => caller.createAsset({ model: VIDEO_MODELS.HC });
    own.sim.video.next('on=CreateAssetGroup; status=500;created');
    assert.equal((await create()).status, 503);
    const found = await create();
    assert.equal((await create()).status, 202, JSON.stringify(found.body));
    assert.equal(actions(own, 'CreateAssetGroup').length, 1);
    const other = new AssetCaller(own, KEYS.bob);
    own.sim.video.next('on=CreateAssetGroup; reset');
    assert.equal((await other.createAsset({ model: VIDEO_MODELS.HC })).status, 503);
    assert.equal((await other.createAsset({ model: VIDEO_MODELS.HC })).status, 503, 'it may still appear');
    await sql`update asset_groups set created_at = now() - interval '2 minutes' where user_id = 'bob'`.execute(
      own.gateway.context.database.db,
    );
    assert.equal((await other.createAsset({ model: VIDEO_MODELS.HC })).status, 503, 'given up');
    assert.equal((await other.createAsset({ model: VIDEO_MODELS.HC })).status, 202);
  } finally {
    await own.close();
  }
});

// ---------------------------------------------------------------- idempotency and money

test('V 8: the same key and request return the same asset; other operations, users and requests are apart', async () => {
  const [one, two] = [new AssetCaller(fixture, KEYS.ana), new AssetCaller(fixture, KEYS.ana2)];
  const group_id = await one.groupId();
  const before = actions(fixture, 'CreateAsset').length;
  const first = await one.createAsset({ group_id }, 'asset-key');
  const same = await two.call(ASSETS_PATH, {
    body: `{"group_id":"${group_id}", "asset_type":"Image", "url":"${SOURCE_URL}"}`,
    headers: { 'idempotency-key': 'asset-key' },
  });
  assert.deepEqual([same.status, same.body], [202, first.body]);
  assert.equal(actions(fixture, 'CreateAsset').length, before + 1);
  const conflict = await one.createAsset({ group_id, name: 'other' }, 'asset-key');
  assert.deepEqual([conflict.status, conflict.body.error?.code], [409, 'idempotency_conflict']);
  assert.equal((await one.createGroup({}, 'asset-key')).status, 201);
  const bob = await new AssetCaller(fixture, KEYS.bob).createAsset({ model: VIDEO_MODELS.HC }, 'asset-key');
  assert.equal(bob.status, 202);
  await one.delete(ASSETS_PATH, first.body.id);
  const deleted = await one.createAsset({ group_id }, 'asset-key');
  assert.deepEqual([deleted.status, deleted.body.id, deleted.body.status], [202, first.body.id, 'deleted']);
  const [a, b] = [await one.createAsset({ group_id }), await one.createAsset({ group_id })];
  assert.notEqual(a.body.id, b.body.id);
});

test('V 8: a validation error and an unavailable group do not use a key up; a definitive rejection does', async () => {
  const caller = await newCaller();
  const group_id = await caller.groupId();
  assert.equal((await caller.createAsset({ group_id, name: 5 }, 'key')).status, 400);
  await setRow(fixture, 'asset_groups', group_id, { status: 'deleting' });
  const deleting = await caller.createAsset({ group_id }, 'key');
  assert.deepEqual([deleting.status, deleting.body.error?.code], [409, 'asset_binding_unavailable']);
  await setRow(fixture, 'asset_groups', group_id, { status: 'active' });
  assert.equal((await caller.createAsset({ group_id }, 'key')).status, 202);
  const before = actions(fixture, 'CreateAsset').length;
  fixture.sim.video.next('on=CreateAsset; sync_400=InvalidParameter.URL');
  const first = await caller.createAsset({ group_id }, 'stable');
  const second = await caller.createAsset({ group_id }, 'stable');
  assert.deepEqual([first.status, first.body.error?.code], [400, 'invalid_request']);
  assert.deepEqual([second.status, second.body], [first.status, first.body]);
  assert.equal(actions(fixture, 'CreateAsset').length, before + 1);
});

test('V 8: of ten concurrent creates under one key one asset is created', async () => {
  const caller = await newCaller();
  const group_id = await caller.groupId();
  const before = actions(fixture, 'CreateAsset').length;
  const responses = await Promise.all(Array.from({ length: 10 }, () => caller.createAsset({ group_id }, 'race')));
  assert.equal(new Set(responses.filter(({ status }) => status === 202).map(({ body }) => body.id)).size, 1);
  assert.equal(actions(fixture, 'CreateAsset').length, before + 1);
});

test('V 8: no operation on groups and assets moves money, and an empty balance does not stop them', async () => {
  const caller = new AssetCaller(fixture, KEYS.poor);
  const money = async () => {
    const { rows } = await sql`select (select sum(nanos) from holds where user_id = 'poor') as held,
      (select count(*) from entries) as entries`.execute(fixture.gateway.context.database.db);
    return rows[0];
  };
  const before = await money();
  const group_id = await caller.groupId();
  const { body } = await caller.createAsset({ group_id });
  await caller.refresh(body.id);
  await caller.call(ASSETS_PATH);
  await caller.createAsset({ group_id, url: 'http://x' });
  await caller.delete('/v1/asset-groups', group_id);
  await caller.delete(ASSETS_PATH, body.id);
  assert.deepEqual(await money(), before);
});

test('V 1: addresses, credentials and ids of the provider are in no response and no log line', async () => {
  const own = await startVideo();
  try {
    const seen: string[] = [];
    const caller = new AssetCaller(own);
    const record = async (response: Promise<{ status: number; headers: Headers; body: unknown }>) => {
      const { status, headers, body } = await response;
      seen.push(JSON.stringify([status, [...headers], body]));
      return body as Record<string, unknown>;
    };
    const group = await record(caller.createGroup({ name: 'Names are the caller’s' }));
    const asset = await record(caller.createAsset({ group_id: group.id }));
    own.sim.video.next('on=CreateAsset; sync_400=InvalidParameter');
    await record(caller.createAsset({ group_id: group.id }));
    own.sim.video.next('on=GetAsset; status=500');
    await record(caller.refresh(asset.id));
    await record(caller.refresh(asset.id));
    await record(caller.call(ASSETS_PATH));
    await record(caller.delete(ASSETS_PATH, asset.id));
    await record(caller.delete('/v1/asset-groups', group.id));
    await until('the log', () => own.gateway.log.some(({ op }) => op === 'assetGroups.delete'));
    const rows = await Promise.all([rowOf(own, 'assets', asset.id), rowOf(own, 'asset_groups', group.id)]);
    const secrets = [
      ...rows.map(({ upstream_id }) => String(upstream_id)),
      'zebra',
      'AK-simulated',
      'SK-simulated',
      new URL(own.sim.video.url).host,
    ];
    for (const text of [...seen, ...own.gateway.log.map((line) => JSON.stringify(line))])
      for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} in ${text.slice(0, 1_000)}`);
  } finally {
    await own.close();
  }
});

// ---------------------------------------------------------------- gone at use

test('V 7: an asset that the provider lost gives 410 asset_invalid at use, then 409 before anything is sent', async () => {
  const caller = await newCaller();
  const id = await caller.assetId();
  await caller.activate(id);
  const { upstream_id } = await rowOf(fixture, 'assets', id);
  fixture.sim.video.assets.vanish(String(upstream_id));
  await setRow(fixture, 'assets', id, { refreshed_at: null });
  const content = [textItem(), { type: 'image_url', image_url: { url: `asset://${id}` }, role: 'reference_image' }];
  const use = () =>
    caller.call(TASKS, { body: taskBody('A', { content }), headers: { 'idempotency-key': `use ${id}` } });
  const gone = await use();
  assert.deepEqual([gone.status, gone.body.error?.code], [410, 'asset_invalid']);
  assert.ok(!JSON.stringify(gone.body).includes(String(upstream_id)), 'no id of the provider');
  assert.equal((await caller.get(ASSETS_PATH, id)).body.status, 'invalid');
  assert.deepEqual((await caller.call(TASKS)).body.items, [], 'no task exists');
  const sent = fixture.sim.video.journal.creates.length;
  const again = await use();
  assert.deepEqual([again.status, again.body.error?.code], [409, 'asset_invalid']);
  assert.equal(fixture.sim.video.journal.creates.length, sent);
});

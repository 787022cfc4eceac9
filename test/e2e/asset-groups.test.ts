/** Asset groups over HTTP, against the asset library of the simulated provider (V 4.8). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ASSET_GROUP_STATUSES } from '../../src/rules/index.ts';
import { AssetCaller, actions, GROUPS_PATH, rowOf, setRow } from '../support/assets.ts';
import { assetSettings, GROUPS, KEYS, startVideo, VIDEO_MODELS, type VideoFixture } from '../support/video.ts';
import { addUser } from '../support/video-tasks.ts';
import { until } from '../support/wait.ts';

let fixture: VideoFixture;
before(async () => {
  fixture = await startVideo({ video: { clock: 'manual' } });
});
after(() => fixture.close());

let users = 0;
/** A user of its own for each test: requests per minute are limited by user. */
const newCaller = async (): Promise<AssetCaller> => {
  users += 1;
  return new AssetCaller(fixture, await addUser(fixture.gateway, `grouper${users}`));
};

const MISSING = 'assetgrp_000000000000000000000';

test('V 4.8 r1: POST with a name returns 201 with an active group of exactly the documented fields', async () => {
  const caller = await newCaller();
  const before = Math.floor(Date.now() / 1_000);
  const { status, body } = await caller.createGroup({ name: 'Spring', description: 'Stills' });
  assert.equal(status, 201, JSON.stringify(body));
  const { id, created_at, updated_at, ...rest } = body;
  assert.match(String(id), /^assetgrp_[A-Za-z0-9]+$/);
  assert.ok(Number(created_at) >= before && Number(updated_at) >= Number(created_at));
  assert.deepEqual(rest, {
    object: 'asset_group',
    name: 'Spring',
    description: 'Stills',
    group_type: 'AIGC',
    status: 'active',
    route_group_id: GROUPS.A,
    route_group_name: 'Video A',
  });
  const sent = actions(fixture, 'CreateAssetGroup').at(-1);
  assert.equal(sent?.library?.name, id, 'the provider knows the group by our id');
  assert.equal(sent?.library?.projectName, 'default');
  const detail = await caller.get(GROUPS_PATH, id);
  assert.deepEqual([detail.status, detail.body], [200, body]);
});

test('V 4.8, V 4.8 r1: the model selects the service group; without one it is the first that has groups', async () => {
  const caller = await newCaller();
  for (const [model, group] of [
    [VIDEO_MODELS.A, GROUPS.A],
    [VIDEO_MODELS.EP, GROUPS.EP],
    [undefined, GROUPS.A],
  ] as const) {
    const { status, body } = await caller.createGroup({ model });
    assert.deepEqual([status, body.route_group_id, body.description], [201, group, '']);
  }
  const onlyEp = await new AssetCaller(fixture, KEYS.onlyEp).createGroup({ model: undefined });
  assert.deepEqual([onlyEp.status, onlyEp.body.route_group_id], [201, GROUPS.EP]);
});

const REJECTED: readonly (readonly [string, object | string, number, string])[] = [
  ['without a name', { name: undefined }, 400, 'invalid_request'],
  ['with null as name', { name: null }, 400, 'invalid_request'],
  ['with an empty name', { name: '' }, 400, 'invalid_request'],
  ['with a name of 65 characters', { name: 'n'.repeat(65) }, 400, 'invalid_request'],
  ['with a name that is not a string', { name: 7 }, 400, 'invalid_request'],
  ['with a NUL character in the name', { name: 'a\0b' }, 400, 'invalid_request'],
  ['with a description of 301 characters', { description: 'd'.repeat(301) }, 400, 'invalid_request'],
  ['of type LivenessFace', { group_type: 'LivenessFace' }, 400, 'invalid_request'],
  ['of type LivenessFace on EP', { group_type: 'LivenessFace', model: VIDEO_MODELS.EP }, 400, 'invalid_request'],
  ['of an unknown type', { group_type: 'Other' }, 400, 'invalid_request'],
  ['with route_group_id', { route_group_id: 'ep' }, 400, 'invalid_request'],
  ['with route_group_name', { route_group_name: 'EP' }, 400, 'invalid_request'],
  ['with status', { status: 'active' }, 400, 'invalid_request'],
  ['with an unknown model', { model: 'no-such-model' }, 404, 'model_not_found'],
  ['with a model that is not a string', { model: 7 }, 400, 'invalid_request'],
  ['with an HC model', { model: VIDEO_MODELS.HC }, 400, 'asset_groups_not_supported'],
];
for (const [about, body, status, code] of REJECTED)
  test(`V 4.8 r1: POST ${about} gives ${status} ${code} and sends nothing`, async () => {
    const caller = await newCaller();
    const before = actions(fixture).length;
    const response = await caller.createGroup(body as object);
    assert.deepEqual([response.status, response.body.error?.code], [status, code]);
    assert.equal(actions(fixture).length, before);
    assert.deepEqual((await caller.call(GROUPS_PATH)).body.data, []);
  });

test('V 4 null: members of a group or an asset with null are absent, whatever their name', async () => {
  const caller = await newCaller();
  const group = await caller.createGroup({ description: null, group_type: null, model: null, extra: null });
  assert.equal(group.status, 201, JSON.stringify(group.body));
  const asset = await caller.createAsset({ group_id: group.body.id, name: null, model: null, extra: null });
  assert.equal(asset.status, 202, JSON.stringify(asset.body));
  const missing = await caller.createAsset({ group_id: group.body.id, url: null });
  assert.equal(missing.status, 400);
  assert.match(missing.body.error?.message ?? '', /^url: missing/);
});

test('V 4.8 r1, V 4.12: 64 characters are counted as code points', async () => {
  const { status } = await (await newCaller()).createGroup({ name: '\u{1F600}'.repeat(64) });
  assert.equal(status, 201);
});

test('V 4: a malformed body and multipart give 400 invalid_request', async () => {
  const caller = await newCaller();
  for (const request of [
    { body: '{' },
    { body: '[]' },
    { body: '' },
    { body: '{"name":"a","name":"b"}' },
    { body: '--x', headers: { 'content-type': 'multipart/form-data; boundary=x' } },
  ]) {
    const { status, body } = await caller.call(GROUPS_PATH, { method: 'POST', ...request });
    assert.deepEqual([status, body.error?.code], [400, 'invalid_request'], JSON.stringify(request));
  }
});

test('V 4.8 r1: a key that reaches HC only gets asset_groups_not_supported', async () => {
  const own = await startVideo();
  try {
    await own.gateway.apply({
      keys: [
        { user: 'bob', group: 'openai', name: 'hc', key: 'key-of-bob-for-hc-only-000000', video_groups: ['hc'] },
        { user: 'bob', group: 'openai', name: 'none', key: 'key-of-bob-without-video-000', video_groups: [] },
      ],
    });
    const onlyHc = await new AssetCaller(own, 'key-of-bob-for-hc-only-000000').createGroup({ model: undefined });
    assert.deepEqual([onlyHc.status, onlyHc.body.error?.code], [400, 'asset_groups_not_supported']);
    const foreign = await new AssetCaller(own, 'key-of-bob-for-hc-only-000000').createGroup();
    assert.deepEqual([foreign.status, foreign.body.error?.code], [403, 'model_not_allowed']);
    const id = await new AssetCaller(own, KEYS.bob).groupId();
    const without = new AssetCaller(own, 'key-of-bob-without-video-000');
    for (const response of [
      await without.createGroup(),
      await without.call(GROUPS_PATH),
      await without.delete(GROUPS_PATH, id),
    ])
      assert.deepEqual(
        [response.status, response.body.error?.code, response.headers.get('x-should-retry')],
        [409, 'asset_route_group_unavailable', 'false'],
      );
    assert.equal((await without.get(GROUPS_PATH, id)).status, 200, 'a read by id works');
  } finally {
    await own.close();
  }
});

test('V 7: a service group without asset settings gives 409 asset_route_group_misconfigured', async () => {
  const own = await startVideo();
  try {
    const providerUrl = own.sim.video.url;
    const account = { id: 'account-bare', group: 'bare', base_url: providerUrl, api_key: 'sk-simulated-bare' };
    await own.gateway.apply({
      groups: [{ id: 'bare', style: 'video', variant: 'EP', name: 'Bare' }],
      accounts: [account],
      models: [{ id: 'demo-video-bare', groups: ['bare'] }],
    });
    const caller = new AssetCaller(own);
    const bare = await caller.createGroup({ model: 'demo-video-bare' });
    assert.deepEqual([bare.status, bare.body.error?.code], [409, 'asset_route_group_misconfigured']);
    for (const access_key of ['AK-unknown', 'AK-forbidden', 'AK-unsubscribed']) {
      await own.gateway.apply({
        accounts: [{ ...account, assets: { ...assetSettings(providerUrl, 'bare'), access_key } }],
      });
      const { status, body } = await caller.createGroup({ model: 'demo-video-bare' }, 'same key');
      assert.deepEqual([status, body.error?.code], [409, 'asset_route_group_misconfigured'], access_key);
    }
    await own.gateway.apply({ accounts: [{ ...account, assets: assetSettings(providerUrl, 'bare') }] });
    const repaired = await caller.createGroup({ model: 'demo-video-bare' }, 'same key');
    assert.equal(repaired.status, 201, 'V 8: the error has not used the key up');
    assert.equal(((await caller.call(GROUPS_PATH)).body.data as object[]).length, 1);
  } finally {
    await own.close();
  }
});

// ---------------------------------------------------------------- lists

test('V 4.8 r2: pages follow each other without gap or overlap, newest first', async () => {
  const caller = await newCaller();
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.unshift(await caller.groupId(n % 2 === 0 ? 'A' : 'EP'));
  const seen: string[] = [];
  let after = '';
  for (const hasMore of [true, true, false]) {
    const { status, body } = await caller.call(`${GROUPS_PATH}?limit=2${after === '' ? '' : `&after=${after}`}`);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), ['object', 'data', 'first_id', 'last_id', 'has_more']);
    const page = (body.data as { id: string }[]).map(({ id }) => id);
    assert.deepEqual(
      [body.object, body.first_id, body.last_id, body.has_more],
      ['list', page[0], page.at(-1), hasMore],
    );
    seen.push(...page);
    after = String(body.last_id);
  }
  assert.deepEqual(seen, ids);
  const { body: ep } = await caller.call(`${GROUPS_PATH}?route_group_id=${GROUPS.EP}`);
  assert.deepEqual(
    (ep.data as { id: string }[]).map(({ id }) => id),
    ids.filter((_, n) => n % 2 === 1),
  );
});

test('V 4.8 r2: limits, filters and cursors outside their range give 400; an unknown service group an empty page', async () => {
  const caller = await newCaller();
  const id = await caller.groupId();
  for (const query of [
    'limit=0',
    'limit=101',
    'limit=abc',
    'limit=1&limit=2',
    'status=processing',
    'status=other',
    `after=${MISSING}`,
    'after=x',
    'unknown=1',
  ]) {
    const { status, body } = await caller.call(`${GROUPS_PATH}?${query}`);
    assert.deepEqual([status, body.error?.code], [400, 'invalid_request'], query);
  }
  for (const query of ['limit=1', 'limit=100', 'status=active', ''])
    assert.deepEqual((await caller.call(`${GROUPS_PATH}?${query}`)).body.first_id, id, query);
  for (const status of ASSET_GROUP_STATUSES.filter((word) => word !== 'active'))
    assert.deepEqual((await caller.call(`${GROUPS_PATH}?status=${status}`)).body.data, []);
  const { body } = await caller.call(`${GROUPS_PATH}?route_group_id=unknown`);
  assert.deepEqual(body, { object: 'list', data: [], first_id: null, last_id: null, has_more: false });
});

test('V 2: route_group_name follows a rename by the administrator', async () => {
  const own = await startVideo();
  try {
    const caller = new AssetCaller(own);
    const id = await caller.groupId('EP');
    await own.gateway.apply({ groups: [{ id: 'ep', style: 'video', variant: 'EP', name: 'Renamed' }] });
    assert.equal((await caller.get(GROUPS_PATH, id)).body.route_group_name, 'Renamed');
  } finally {
    await own.close();
  }
});

// ---------------------------------------------------------------- isolation

test('V 1: a group of another user is like a missing one on every route', async () => {
  const owner = await newCaller();
  const other = await newCaller();
  const id = await owner.groupId();
  for (const ask of [
    (name: string) => other.get(GROUPS_PATH, name),
    (name: string) => other.delete(GROUPS_PATH, name),
    (name: string) => other.createAsset({ group_id: name }),
  ]) {
    const [foreign, missing] = [await ask(id), await ask(MISSING)];
    assert.deepEqual([foreign.status, foreign.body], [missing.status, missing.body]);
    assert.deepEqual([foreign.status, foreign.body.error?.code], [404, 'asset_group_not_found']);
  }
  const cursor = await other.call(`${GROUPS_PATH}?after=${id}`);
  assert.equal(cursor.status, 400);
  assert.deepEqual((await other.call(GROUPS_PATH)).body.data, []);
});

test('V 1: a twin key of the same user sees and deletes the same groups', async () => {
  const [one, two] = [new AssetCaller(fixture, KEYS.ana), new AssetCaller(fixture, KEYS.ana2)];
  const id = await one.groupId();
  assert.deepEqual((await two.get(GROUPS_PATH, id)).body, (await one.get(GROUPS_PATH, id)).body);
  assert.deepEqual((await two.call(GROUPS_PATH)).body, (await one.call(GROUPS_PATH)).body);
  assert.equal((await two.delete(GROUPS_PATH, id)).status, 202);
});

// ---------------------------------------------------------------- deletion

test('V 3: DELETE of an empty A group returns 202; the group stays readable for 30 days and leaves the lists', async () => {
  const caller = await newCaller();
  const id = await caller.groupId();
  const { upstream_id } = await rowOf(fixture, 'asset_groups', id);
  const { status, body } = await caller.delete(GROUPS_PATH, id);
  assert.deepEqual([status, body.id, body.status], [202, id, 'deleted']);
  const deletions = () => actions(fixture, 'DeleteAssetGroup').filter(({ library }) => library?.id === upstream_id);
  assert.equal(deletions().length, 1);
  const again = await caller.delete(GROUPS_PATH, id);
  assert.deepEqual([again.status, again.body], [202, body]);
  assert.equal(deletions().length, 1, 'a deleted group is not deleted again');
  assert.equal((await caller.get(GROUPS_PATH, id)).body.status, 'deleted');
  assert.deepEqual((await caller.call(`${GROUPS_PATH}?status=deleted`)).body.data, []);
  const into = await caller.createAsset({ group_id: id });
  assert.deepEqual([into.status, into.body.error?.code], [404, 'asset_group_not_found']);
  await setRow(fixture, 'asset_groups', id, { deleted_at: new Date(Date.now() - 31 * 86_400_000) });
  assert.equal((await caller.get(GROUPS_PATH, id)).status, 404);
});

test('V 3: DELETE of an A group that holds assets gives 409 without an upstream call, until they are deleted', async () => {
  const caller = await newCaller();
  const id = await caller.groupId();
  const { body: asset } = await caller.createAsset({ group_id: id });
  for (const status of ['processing', 'failed', 'invalid', 'create_unknown', 'deleting']) {
    await setRow(fixture, 'assets', asset.id, { status });
    const before = actions(fixture).length;
    const response = await caller.delete(GROUPS_PATH, id);
    assert.deepEqual(
      [response.status, response.body.error?.code, response.headers.get('x-should-retry')],
      [409, 'asset_group_not_empty', 'false'],
      status,
    );
    assert.equal(actions(fixture).length, before);
    assert.equal((await caller.get(GROUPS_PATH, id)).body.status, 'active');
  }
  await setRow(fixture, 'assets', asset.id, { status: 'failed' });
  assert.equal((await caller.delete('/v1/assets', asset.id)).status, 202);
  assert.equal((await caller.delete(GROUPS_PATH, id)).status, 202);
});

test('V 4.8 r3: DELETE of an EP group gives 400 asset_group_delete_not_supported and changes nothing', async () => {
  const caller = await newCaller();
  const id = await caller.groupId('EP');
  const before = actions(fixture).length;
  for (const isEmpty of [true, false]) {
    if (!isEmpty) await caller.createAsset({ group_id: id });
    const { status, body } = await caller.delete(GROUPS_PATH, id);
    assert.deepEqual([status, body.error?.code], [400, 'asset_group_delete_not_supported']);
  }
  assert.equal((await caller.get(GROUPS_PATH, id)).body.status, 'active');
  assert.equal(actions(fixture).length, before + 1);
});

test('V 3: of an asset and the deletion of its group, at the same time, exactly one happens', async () => {
  const outcomes = new Set<string>();
  for (let round = 0; round < 3; round += 1) {
    const caller = await newCaller();
    for (let n = 0; n < 10; n += 1) {
      const group_id = await caller.groupId();
      const [created, deleted] = await Promise.all(
        n % 2 === 0
          ? [caller.createAsset({ group_id }), caller.delete(GROUPS_PATH, group_id)]
          : [caller.delete(GROUPS_PATH, group_id), caller.createAsset({ group_id })].toReversed(),
      );
      assert.ok(created && deleted);
      const isCreated = created.status === 202;
      outcomes.add(String(isCreated));
      assert.equal(deleted.status, isCreated ? 409 : 202, `${created.status} ${deleted.status}`);
      if (!isCreated) assert.ok([404, 409].includes(created.status));
      const { body } = await caller.call(`/v1/assets?group_id=${group_id}`);
      assert.equal((body.data as object[]).length, isCreated ? 1 : 0);
    }
  }
  assert.ok(outcomes.size > 0);
});

test('V 3: a deletion that the provider does not confirm is repeated by the worker', async () => {
  const own = await startVideo({ worker: true });
  try {
    const caller = new AssetCaller(own);
    const [away, refused] = [await caller.groupId(), await caller.groupId()];
    own.sim.video.next('on=DeleteAssetGroup; status=500');
    const pending = await caller.delete(GROUPS_PATH, away);
    assert.deepEqual([pending.status, pending.body.status], [202, 'deleting']);
    const into = await caller.createAsset({ group_id: away });
    assert.deepEqual([into.status, into.body.error?.code], [409, 'asset_binding_unavailable']);
    own.sim.video.next('on=DeleteAssetGroup; sync_400=OperationNotAllowed');
    const failed = await caller.delete(GROUPS_PATH, refused);
    assert.deepEqual([failed.status, failed.body.status], [202, 'delete_failed']);
    for (const id of [away, refused]) {
      await setRow(own, 'asset_groups', id, { next_check_at: new Date() });
      await until('the deletion', async () => (await caller.get(GROUPS_PATH, id)).body.status === 'deleted');
    }
  } finally {
    await own.close();
  }
});

// ---------------------------------------------------------------- failures of the provider

test('V 3: a creation without a clear response gives 503, is listed as create_unknown and resolved by name', async () => {
  const own = await startVideo({ worker: true });
  try {
    const caller = new AssetCaller(own);
    for (const [n, fault] of ['status=500;created', 'reset;created', 'truncated', 'html', 'eof_mid'].entries()) {
      own.sim.video.next(`on=CreateAssetGroup; ${fault}`);
      const response = await caller.createGroup({ name: fault }, `key ${n}`);
      assert.deepEqual(
        [response.status, response.body.error?.code, response.headers.get('x-should-retry')],
        [503, 'asset_upstream_unavailable', 'false'],
        fault,
      );
      const listed = (await caller.call(GROUPS_PATH)).body.data as { id: string; name: string; status: string }[];
      const group = listed.find(({ name }) => name === fault);
      assert.ok(group);
      const replayed = await caller.createGroup({ name: fault }, `key ${n}`);
      if (replayed.status !== 201)
        assert.deepEqual([replayed.status, replayed.body.error?.code], [409, 'idempotency_in_progress']);
      if (fault === 'html') {
        // The page came before the provider created anything.
        await setRow(own, 'asset_groups', group.id, {
          created_at: new Date(Date.now() - 3_700_000),
          next_check_at: new Date(),
        });
        await until('failed', async () => (await caller.get(GROUPS_PATH, group.id)).body.status === 'failed');
        assert.equal((await caller.createGroup({ name: fault }, `key ${n}`)).status, 201, 'the key is free again');
        continue;
      }
      await setRow(own, 'asset_groups', group.id, { next_check_at: new Date() });
      await until('active', async () => (await caller.get(GROUPS_PATH, group.id)).body.status === 'active');
      const resolved = await caller.createGroup({ name: fault }, `key ${n}`);
      assert.deepEqual([resolved.status, resolved.body.id], [201, group.id]);
      const sent = actions(own, 'CreateAssetGroup').filter(({ library }) => library?.name === group.id);
      assert.equal(sent.length, 1, 'nothing is sent twice');
      assert.equal((await caller.createAsset({ group_id: group.id })).status, 202, 'the found group works');
    }
  } finally {
    await own.close();
  }
});

test('V 7: a provider that is away or throttles gives 503 with retry-after, leaves no group and frees the key', async () => {
  const own = await startVideo();
  try {
    const caller = new AssetCaller(own);
    own.sim.video.next('on=CreateAssetGroup; status=429');
    const throttled = await caller.createGroup({}, 'again');
    assert.deepEqual([throttled.status, throttled.body.error?.code], [503, 'asset_upstream_unavailable']);
    assert.ok(Number(throttled.headers.get('retry-after')) > 0);
    assert.deepEqual((await caller.call(GROUPS_PATH)).body.data, []);
    assert.equal((await caller.createGroup({}, 'again')).status, 201);
    await own.sim.close();
    const away = await caller.createGroup();
    assert.deepEqual([away.status, away.body.error?.code], [503, 'asset_upstream_unavailable']);
    assert.equal(((await caller.call(GROUPS_PATH)).body.data as object[]).length, 1);
  } finally {
    await own.close();
  }
});

test('V 8: a definitive rejection is stable under its key and hides ids of the provider', async () => {
  const caller = await newCaller();
  const before = actions(fixture, 'CreateAssetGroup').length;
  fixture.sim.video.next('on=CreateAssetGroup; sync_400=InvalidParameter');
  const first = await caller.createGroup({}, 'stable');
  const second = await caller.createGroup({}, 'stable');
  assert.deepEqual([first.status, first.body.error?.code], [400, 'invalid_request']);
  assert.deepEqual([second.status, second.body], [first.status, first.body]);
  assert.equal(actions(fixture, 'CreateAssetGroup').length, before + 1);
  assert.deepEqual((await caller.call(GROUPS_PATH)).body.data, []);
});

// ---------------------------------------------------------------- idempotency

test('V 8: the same key and request return the same group, by twin keys and in any member order', async () => {
  const [one, two] = [new AssetCaller(fixture, KEYS.ana), new AssetCaller(fixture, KEYS.ana2)];
  const first = await one.createGroup({ name: 'Once' }, 'group-key');
  const same = await two.call(GROUPS_PATH, {
    body: `{"model": "${VIDEO_MODELS.A}",  "name": "Once"}`,
    headers: { 'idempotency-key': 'group-key' },
  });
  assert.deepEqual([same.status, same.body], [201, first.body]);
  const other = await one.createGroup({ name: 'Twice' }, 'group-key');
  assert.deepEqual(
    [other.status, other.body.error?.code, other.headers.get('x-should-retry')],
    [409, 'idempotency_conflict', 'false'],
  );
  const bob = await new AssetCaller(fixture, KEYS.bob).createGroup({ name: 'Once' }, 'group-key');
  assert.equal(bob.status, 201);
  assert.notEqual(bob.body.id, first.body.id);
  const invalid = await one.createGroup({}, 'k'.repeat(65));
  assert.deepEqual([invalid.status, invalid.body.error?.code], [400, 'invalid_request']);
});

test('V 8: of ten concurrent creates under one key one group is created', async () => {
  const caller = await newCaller();
  const before = actions(fixture, 'CreateAssetGroup').length;
  const responses = await Promise.all(Array.from({ length: 10 }, () => caller.createGroup({}, 'race')));
  const ids = new Set(responses.filter(({ status }) => status === 201).map(({ body }) => body.id));
  assert.equal(ids.size, 1);
  for (const { status, body } of responses)
    assert.ok(status === 201 || body.error?.code === 'idempotency_in_progress', JSON.stringify(body));
  assert.equal(actions(fixture, 'CreateAssetGroup').length, before + 1);
});

test('V 8: a key whose replica stopped is in progress, and becomes free or finished with its group', async () => {
  const own = await startVideo({ worker: true });
  try {
    const caller = new AssetCaller(own);
    const { body } = await caller.createGroup({}, 'stopped');
    const db = own.gateway.context.database.db;
    const abandon = async () => {
      await setRow(own, 'asset_groups', body.id, {
        status: 'creating',
        upstream_id: null,
        next_check_at: new Date(Date.now() - 1_000),
      });
      await db
        .updateTable('idempotency_records')
        .set({ finished_at: null, http_status: null, owner_until: new Date(Date.now() - 1_000) })
        .execute();
    };
    await abandon();
    const during = await caller.createGroup({}, 'stopped');
    assert.ok(during.status === 201 || during.body.error?.code === 'idempotency_in_progress');
    const resolved = await until('the group', async () => {
      const response = await caller.createGroup({}, 'stopped');
      return response.status === 201 ? response : undefined;
    });
    assert.equal(resolved.body.id, body.id);
    assert.equal(actions(own, 'CreateAssetGroup').length, 1);
  } finally {
    await own.close();
  }
});

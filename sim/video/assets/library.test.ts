import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type Sim, startSim } from '../../index.ts';
import { ASSET_FAILURES } from './asset-failures.ts';
import { assetBody, LibraryClient } from './fixtures.ts';

let sim: Sim;
let client: LibraryClient;
let other: LibraryClient;

before(async () => {
  sim = await startSim({
    video: { clock: 'manual', startAt: Date.UTC(2026, 0, 31, 16), rateLimits: false, projects: ['default', 'film'] },
  });
  client = new LibraryClient(sim.video.libraryUrl);
  other = new LibraryClient(sim.video.libraryUrl, { accessKey: 'AK-simulated-other' });
});

// The limit on assets per minute counts on the clock.
beforeEach(() => sim.video.clock.advance(60_000));

after(() => sim.close());

const advance = (ms = 3_000) => sim.video.clock.advance(ms);

async function codeOf(action: string, body: object, by = client): Promise<string> {
  return (await by.call(action, body)).code;
}

describe('a group', () => {
  test('is created, read, updated and deleted', async () => {
    const id = await client.createGroup('Cats', { Description: 'All cats' });
    assert.match(id, /^group-20260201\d{6}-[a-z2-9]{5}$/);
    const { CreateTime, UpdateTime, ...group } = await client.result('GetAssetGroup', { Id: id });
    assert.match(String(CreateTime), /^2026-01-31T16:\d\d:\d\dZ$/);
    assert.equal(UpdateTime, CreateTime);
    assert.deepEqual(group, {
      Id: id,
      Name: 'Cats',
      Title: 'Cats',
      Description: 'All cats',
      GroupType: 'AIGC',
      ProjectName: 'default',
    });
    await advance();
    assert.deepEqual(await client.result('UpdateAssetGroup', { Id: id, Name: 'Dogs' }), { Id: id });
    const updated = await client.result('GetAssetGroup', { Id: id });
    assert.deepEqual([updated.Name, updated.Description], ['Dogs', 'All cats']);
    assert.notEqual(updated.UpdateTime, CreateTime);
    assert.deepEqual(await client.result('DeleteAssetGroup', { Id: id }), {});
    assert.equal(await codeOf('GetAssetGroup', { Id: id }), 'NotFound.group_id');
  });

  test('is deleted with its assets', async () => {
    const id = await client.createGroup();
    const kept = await client.createAsset(await client.createGroup());
    const asset = await client.createAsset(id);
    await client.result('DeleteAssetGroup', { Id: id });
    assert.equal(await codeOf('GetAsset', { Id: asset }), 'NotFound.asset_id');
    assert.equal(await client.statusOf(kept), 'Processing');
  });

  test('is known only to its account and project', async () => {
    const id = await client.createGroup();
    const film = await client.createGroup('Film', { ProjectName: 'film' });
    const missing = await other.call('GetAssetGroup', { Id: id });
    assert.deepEqual([missing.status, missing.code], [404, 'NotFound.group_id']);
    assert.match(missing.body.ResponseMetadata.Error?.Message ?? '', /asset_group .* is not found/);
    assert.equal(await codeOf('GetAssetGroup', { Id: id, ProjectName: 'film' }), 'NotFound.group_id');
    assert.equal(await codeOf('GetAssetGroup', { Id: film }), 'NotFound.group_id');
    assert.equal(await codeOf('GetAssetGroup', { Id: film, ProjectName: 'film' }), '');
    assert.equal(await codeOf('GetAssetGroup', { Id: id, ProjectName: 'none' }), 'NotFound.ProjectName');
    assert.equal(await codeOf('CreateAsset', assetBody(film)), 'NotFound.group_id');
  });

  test('is rejected with invalid parameters', async () => {
    assert.equal(await codeOf('CreateAssetGroup', {}), 'MissingParameter');
    assert.equal(await codeOf('CreateAssetGroup', { Name: 'a'.repeat(65) }), 'InvalidParameter');
    assert.equal(await codeOf('CreateAssetGroup', { Name: 'a', Description: 'a'.repeat(301) }), 'InvalidParameter');
    assert.equal(await codeOf('CreateAssetGroup', { Name: 'a', GroupType: 'LivenessFace' }), 'InvalidParameter');
    assert.equal(await codeOf('CreateAssetGroup', { name: 'a' }), 'InvalidParameter');
    assert.equal(await codeOf('UpdateAssetGroup', { Id: await client.createGroup() }), 'MissingParameter');
  });
});

describe('an asset', () => {
  test('is active after its processing', async () => {
    const group = await client.createGroup();
    const id = await client.createAsset(group, { Name: 'A cat', Moderation: { Strategy: 'Skip' } });
    assert.match(id, /^asset-20260201\d{6}-[a-z2-9]{5}$/);
    await advance(2_999);
    assert.equal(await client.statusOf(id), 'Processing');
    await advance(1);
    const { URL: url, CreateTime, UpdateTime, ...asset } = await client.result('GetAsset', { Id: id });
    assert.equal(Date.parse(String(UpdateTime)) - Date.parse(String(CreateTime)), 3_000);
    assert.ok(url.startsWith(`${sim.url}/lib/${id}.png?`));
    assert.deepEqual(asset, {
      Id: id,
      Name: 'A cat',
      AssetType: 'Image',
      GroupId: group,
      Status: 'Active',
      Moderation: { Strategy: 'Skip' },
      ProjectName: 'default',
    });
    await client.result('UpdateAsset', { Id: id, Name: 'A dog' });
    assert.equal((await client.result('GetAsset', { Id: id })).Name, 'A dog');
    assert.deepEqual(await client.result('DeleteAsset', { Id: id }), {});
    assert.equal(await codeOf('GetAsset', { Id: id }), 'NotFound.asset_id');
    assert.equal(await codeOf('DeleteAsset', { Id: id }), 'NotFound.asset_id');
  });

  test('fails with the code that its name or its URL asks for', async () => {
    const group = await client.createGroup();
    for (const [code, message] of Object.entries(ASSET_FAILURES)) {
      const byName = await client.createAsset(group, { Name: `[sim:fail=${code}]` });
      const byUrl = await client.createAsset(group, { URL: `https://example.com/a.png?sim=fail=${code};processing=1` });
      await advance(1);
      assert.deepEqual([await client.statusOf(byName), await client.statusOf(byUrl)], ['Processing', 'Failed']);
      await advance();
      const { Status, Error: error, URL: url } = await client.result('GetAsset', { Id: byName });
      assert.deepEqual([Status, error, url], ['Failed', { Code: code, Message: message }, undefined]);
    }
  });

  test('is processed for a number of gets', async () => {
    const group = await client.createGroup();
    const id = await client.createAsset(group, { Name: '[sim:gets=2]' });
    await advance(60_000);
    const statuses = [await client.statusOf(id), await client.statusOf(id), await client.statusOf(id)];
    assert.deepEqual(statuses, ['Processing', 'Processing', 'Active']);
    const stuck = await client.createAsset(group, { Name: '[sim:stuck=processing]' });
    await advance(60_000);
    assert.equal(await client.statusOf(stuck), 'Processing');
  });

  test('is rejected with invalid parameters', async () => {
    const group = await client.createGroup();
    for (const [change, code] of [
      [{ GroupId: '' }, 'MissingParameter'],
      [{ GroupId: 'group-20260101000000-none2' }, 'NotFound.group_id'],
      [{ URL: undefined }, 'MissingParameter'],
      [{ URL: 'data:image/png;base64,AAAA' }, 'InvalidParameter'],
      [{ URL: 'asset://asset-1' }, 'InvalidParameter'],
      [{ AssetType: 'image' }, 'InvalidParameter'],
      [{ AssetType: undefined }, 'MissingParameter'],
      [{ Name: 'a'.repeat(65) }, 'InvalidParameter'],
      [{ Moderation: { Strategy: 'None' } }, 'InvalidParameter'],
      [{ Model: 'x' }, 'InvalidParameter'],
      [{ Name: '[sim:explode]' }, 'InvalidParameter'],
    ] as const) {
      assert.equal(await codeOf('CreateAsset', assetBody(group, change)), code, JSON.stringify(change));
    }
  });

  test('is throttled per minute and account', async () => {
    const group = await client.createGroup();
    sim.video.settings.assetsPerMinute = 2;
    const codes = [];
    for (let count = 0; count < 3; count++) codes.push((await client.call('CreateAsset', assetBody(group))).code);
    assert.deepEqual(codes, ['', '', 'Throttling']);
    await other.createAsset(await other.createGroup());
    await advance(60_000);
    assert.equal(await codeOf('CreateAsset', assetBody(group)), '');
    sim.video.settings.assetsPerMinute = 300;
  });

  test('has a file of its type until the URL expires', async () => {
    const group = await client.createGroup();
    for (const [AssetType, type] of [
      ['Image', 'image/png'],
      ['Video', 'video/mp4'],
      ['Audio', 'audio/wav'],
    ] as const) {
      const id = await client.createAsset(group, { AssetType });
      await advance();
      const { URL: url } = await client.result('GetAsset', { Id: id });
      const response = await fetch(url);
      assert.deepEqual([response.status, response.headers.get('content-type')], [200, type]);
      assert.ok((await response.arrayBuffer()).byteLength > 500);
      assert.equal((await fetch(url.replace('/lib/asset', '/lib/other'))).status, 403);
      await advance(12 * 3_600_000);
      assert.equal((await fetch(url)).status, 403);
      assert.notEqual((await client.result('GetAsset', { Id: id })).URL, url);
    }
  });

  test('changes and disappears as a test asks', async () => {
    const { assets, groups } = sim.video;
    const group = await client.createGroup();
    const id = await client.createAsset(group);
    assets.activate(id);
    assert.equal(await client.statusOf(id), 'Active');
    assets.fail(id, 'ContentRestricted');
    assert.equal((await client.result('GetAsset', { Id: id })).Error?.Code, 'ContentRestricted');
    assets.vanish(id);
    assert.equal(await codeOf('GetAsset', { Id: id }), 'NotFound.asset_id');
    assert.throws(() => assets.vanish(id), RangeError);
    const short = await client.createAsset(group, { Name: '[sim:lifetime=5000]' });
    await advance(5_000);
    assert.equal(await codeOf('GetAsset', { Id: short }), 'NotFound.asset_id');
    const expiring = await client.createGroup('[sim:lifetime=3600000]');
    const inside = await client.createAsset(expiring);
    await advance(3_600_000);
    assert.equal(await codeOf('CreateAsset', assetBody(expiring)), 'NotFound.group_id');
    assert.equal(assets.get(inside), undefined);
    groups.vanish(group);
    assert.equal(groups.get(group), undefined);
    sim.video.settings.groupLifetimeMs = 1_000;
    const brief = await client.createGroup();
    sim.video.settings.groupLifetimeMs = 0;
    await advance(1_000);
    assert.equal(await codeOf('GetAssetGroup', { Id: brief }), 'NotFound.group_id');
  });

  test('changes through the operator routes', async () => {
    const id = await client.createAsset(await client.createGroup());
    const change = (body: object) =>
      fetch(`${sim.url}/_sim/assets`, { method: 'POST', body: JSON.stringify(body) }).then(({ status }) => status);
    assert.equal(await change({ activate: id }), 200);
    assert.equal(await client.statusOf(id), 'Active');
    assert.equal(await change({ fail: id, code: 'FaceMismatch' }), 200);
    assert.equal(await client.statusOf(id), 'Failed');
    assert.equal(await change({ vanish: id }), 200);
    assert.equal(await change({ vanish: id }), 400);
    assert.equal(await change({}), 400);
    const listed = (await (await fetch(`${sim.url}/_sim/groups`)).json()) as { groups: unknown[] };
    assert.equal(listed.groups.length, sim.video.groups.all.length);
  });
});

test('ids follow from the seed and the clock', async () => {
  const ids = [];
  for (const seed of ['one', 'one', 'two']) {
    const twin = await startSim({ video: { clock: 'manual', startAt: 0, seed } });
    const twinClient = new LibraryClient(twin.video.libraryUrl);
    const group = await twinClient.createGroup();
    ids.push(`${group} ${await twinClient.createAsset(group)}`);
    await twin.close();
  }
  assert.equal(ids[0], ids[1]);
  assert.notEqual(ids[0], ids[2]);
});

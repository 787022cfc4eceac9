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

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Sim, startSim } from '../../index.ts';
import { LibraryClient } from './fixtures.ts';

let sim: Sim;
let client: LibraryClient;
let groups: string[];
let assets: string[];

before(async () => {
  sim = await startSim({ video: { clock: 'manual', rateLimits: false } });
  client = new LibraryClient(sim.video.libraryUrl);
  groups = [await client.createGroup('Cats'), await client.createGroup('Dogs'), await client.createGroup('More cats')];
  assets = [];
  for (let count = 0; count < 12; count++) {
    assets.push(await client.createAsset(groups[count % 2] ?? '', { Name: `Asset_${count}` }));
  }
  sim.video.assets.activate(assets[0] ?? '');
  sim.video.assets.fail(assets[1] ?? '', 'DownloadFailed');
  await new LibraryClient(sim.video.libraryUrl, { accessKey: 'AK-simulated-x' }).createGroup('Other cats');
});

after(() => sim.close());

const idsOf = ({ Items }: { Items: { Id: string }[] }) => Items.map(({ Id }) => Id);
const list = (filter: object = {}, more: object = {}) =>
  client.result('ListAssets', { Filter: { GroupType: 'AIGC', ...filter }, ...more });
const codeOf = async (body: object, action = 'ListAssets') => (await client.call(action, body)).code;
const AIGC = { Filter: { GroupType: 'AIGC' } };

describe('a list of groups', () => {
  test('is filtered by type, id and a part of the name', async () => {
    const found = async (filter: object) => idsOf(await client.result('ListAssetGroups', { Filter: filter }));
    assert.deepEqual(await found({ GroupType: 'AIGC' }), groups.toReversed());
    assert.deepEqual(await found({ GroupType: 'LivenessFace' }), []);
    assert.deepEqual(await found({ GroupType: 'AIGC', Name: 'CATS' }), [groups[2], groups[0]]);
    assert.deepEqual(await found({ GroupType: 'AIGC', GroupIds: [groups[1]] }), [groups[1]]);
    assert.equal(await codeOf({}, 'ListAssetGroups'), 'MissingParameter');
    assert.equal(await codeOf({ ...AIGC, SortBy: 'GroupId' }, 'ListAssetGroups'), 'InvalidParameter');
  });
});

describe('a list of assets', () => {
  test('is filtered by group, status and a part of the name', async () => {
    assert.deepEqual(idsOf(await list({ Statuses: ['Active'] })), [assets[0]]);
    assert.deepEqual(idsOf(await list({ Statuses: ['Active', 'Failed'] })), [assets[1], assets[0]]);
    assert.equal((await list({ GroupIds: [groups[0]] })).TotalCount, 6);
    assert.equal((await list({ GroupIds: [] })).TotalCount, 0);
    assert.deepEqual(idsOf(await list({ Name: 'asset_11' })), [assets[11]]);
    assert.equal((await list({ GroupIds: [groups[0]], Name: 'asset_1' })).TotalCount, 1);
    assert.equal(await codeOf({ Filter: { GroupType: 'AIGC', Statuses: ['Ready'] } }), 'InvalidParameter');
    assert.equal(await codeOf({ Filter: { GroupIds: groups } }), 'MissingParameter');
  });

  test('has numbered pages', async () => {
    const first = await list();
    assert.deepEqual([first.Items.length, first.TotalCount, first.NextToken], [10, 12, undefined]);
    assert.deepEqual(idsOf(await list({}, { PageNumber: 3, PageSize: 5 })), [assets[1], assets[0]]);
    assert.deepEqual(idsOf(await list({}, { PageNumber: 4, PageSize: 5 })), []);
    assert.equal(await codeOf({ ...AIGC, PageSize: 101 }), 'InvalidParameter');
    assert.equal(await codeOf({ ...AIGC, PageNumber: 0 }), 'InvalidParameter');
  });

  test('continues with a token, also after a deletion', async () => {
    const first = await list({}, { MaxResults: 5 });
    assert.deepEqual(idsOf(first), assets.toReversed().slice(0, 5));
    const extra = await client.createAsset(groups[2] ?? '');
    const second = await list({}, { MaxResults: 5, NextToken: first.NextToken });
    assert.deepEqual(idsOf(second), assets.toReversed().slice(5, 10));
    const third = await list({}, { MaxResults: 5, NextToken: second.NextToken });
    assert.deepEqual([idsOf(third), third.NextToken], [[assets[1], assets[0]], undefined]);
    await client.result('DeleteAsset', { Id: extra });
    assert.deepEqual(idsOf(await list({}, { MaxResults: 5, NextToken: first.NextToken })), idsOf(second));
    assert.equal(await codeOf({ ...AIGC, NextToken: 'x' }), 'InvalidParameter');
    assert.equal(await codeOf({ ...AIGC, MaxResults: 0 }), 'InvalidParameter');
  });

  test('rejects a mixture of pages and tokens', async () => {
    assert.equal(await codeOf({ ...AIGC, PageNumber: 1, MaxResults: 5 }), 'InvalidParameter');
    assert.equal(await codeOf({ ...AIGC, PageSize: 5, NextToken: '' }), 'InvalidParameter');
  });

  test('is sorted as requested', async () => {
    assert.deepEqual(idsOf(await list({}, { SortOrder: 'Asc', PageSize: 100 })), assets);
    const byGroup = await list({}, { SortBy: 'GroupId', PageSize: 100 });
    const sorted = byGroup.Items.map(({ GroupId }) => GroupId);
    assert.deepEqual(sorted, sorted.toSorted().toReversed());
    await sim.video.clock.advance(1_000);
    await client.result('UpdateAsset', { Id: assets[4], Name: 'Asset_4' });
    assert.equal(idsOf(await list({}, { SortBy: 'UpdateTime' }))[0], assets[4]);
  });
});

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type Sim, startSim } from '../../index.ts';
import { assetBody, LibraryClient } from './fixtures.ts';

let sim: Sim;
let client: LibraryClient;
let group: string;

before(async () => {
  sim = await startSim({ video: { clock: 'manual', rateLimits: false } });
  client = new LibraryClient(sim.video.libraryUrl);
  group = await client.createGroup();
});

beforeEach(() => sim.video.journal.clear());

after(() => sim.close());

const outcomeOf = async (action: string, body: object, headers: Record<string, string> = {}) => {
  const { status, code } = await client.call(action, body, { headers });
  return [status, code];
};

/** The assets whose name contains this text, found as a client would find them. */
const found = async (name: string) => {
  const filter = { GroupType: 'AIGC', GroupIds: [group], Name: name };
  return (await client.result('ListAssets', { Filter: filter })).Items.map(({ Id }) => Id);
};

describe('a failed action', () => {
  test('has the status or code that the name, the URL, the header or a test asks for', async () => {
    assert.deepEqual(await outcomeOf('CreateAssetGroup', { Name: '[sim:fault=500]' }), [500, 'InternalServiceError']);
    const described = { Name: 'a', Description: '[sim:error=SubscriptionRequired]' };
    assert.deepEqual(await outcomeOf('CreateAssetGroup', described), [403, 'SubscriptionRequired']);
    const url = { URL: 'https://example.com/a.png?sim=error=Throttling' };
    assert.deepEqual(await outcomeOf('CreateAsset', assetBody(group, url)), [429, 'Throttling']);
    const header = { 'x-sim': 'fault=404' };
    assert.deepEqual(await outcomeOf('GetAssetGroup', { Id: group }, header), [404, 'NotFound.group_id']);
    assert.deepEqual(await outcomeOf('GetAsset', { Id: 'x' }, header), [404, 'NotFound.asset_id']);
    sim.video.next('on=control; fault=429; times=2');
    sim.video.next('on=GetAssetGroup; fault=401');
    assert.deepEqual(await outcomeOf('ListAssets', {}), [429, 'RequestLimitExceeded']);
    assert.deepEqual(await outcomeOf('GetAssetGroup', { Id: group }), [429, 'RequestLimitExceeded']);
    assert.deepEqual(await outcomeOf('GetAssetGroup', { Id: group }), [401, 'SignatureDoesNotMatch']);
    assert.deepEqual(await outcomeOf('GetAssetGroup', { Id: group }), [200, '']);
    assert.deepEqual(await found('a'), []);
    assert.throws(() => sim.video.next('on=DropAsset; fault=500'), RangeError);
  });

  test('does not take the fault of another plane', async () => {
    sim.video.next('fault=503');
    assert.deepEqual(await outcomeOf('GetAssetGroup', { Id: group }), [200, '']);
    const response = await fetch(`${sim.video.url}/contents/generations/tasks`, {
      headers: { authorization: 'Bearer sk-simulated' },
    });
    assert.equal(response.status, 503);
  });

  test('is an error inside status 200, by trigger or for all calls', async () => {
    const header = { 'x-sim': 'status=200; error=NotFound.group_id' };
    assert.deepEqual(await outcomeOf('GetAssetGroup', { Id: group }, header), [200, 'NotFound.group_id']);
    sim.video.settings.libraryErrors = 'ok';
    assert.deepEqual(await outcomeOf('GetAsset', { Id: 'asset-x' }), [200, 'NotFound.asset_id']);
    assert.deepEqual(await outcomeOf('CreateAssetGroup', { Name: '[sim:fault=502]' }), [502, 'InternalServiceError']);
    sim.video.settings.libraryErrors = 'status';
  });

  test('recovers after the requested number of times', async () => {
    const body = assetBody(group, { Name: '[sim:fault=500; times=2]' });
    const statuses = [];
    for (let count = 0; count < 3; count++) statuses.push((await client.call('CreateAsset', body)).status);
    assert.deepEqual(statuses, [500, 500, 200]);
  });

  test('belongs to the later calls about an asset or a group', async () => {
    const id = await client.createAsset(group, { Name: '[sim:on=GetAsset; fault=503; times=1]' });
    assert.deepEqual(await outcomeOf('GetAsset', { Id: id }), [503, 'InternalServiceError']);
    assert.deepEqual(await outcomeOf('GetAsset', { Id: id }), [200, '']);
    const full = await client.createGroup('[sim:on=CreateAsset; error=QuotaExceeded; times=1]');
    assert.deepEqual(await outcomeOf('CreateAsset', assetBody(full)), [429, 'QuotaExceeded']);
    assert.deepEqual(await outcomeOf('CreateAsset', assetBody(full)), [200, '']);
  });
});

describe('limits per second', () => {
  test('reject calls of one action and account', async () => {
    sim.video.settings.rateLimits = true;
    const body = { BytedToken: 'none' };
    const codes = await Promise.all(
      [1, 2, 3, 4].map(async () => (await client.call('GetVisualValidateResult', body)).code),
    );
    assert.deepEqual(codes.sort(), [...Array(3).fill('NotFound.byted_token'), 'RequestLimitExceeded']);
    assert.deepEqual(await outcomeOf('GetAssetGroup', { Id: group }), [200, '']);
    sim.video.settings.rateLimits = false;
  });
});

describe('the journal', () => {
  test('describes every action without its signature', async () => {
    const id = await client.createAsset(group, { Name: 'mine' });
    await client.call('GetAsset', { Id: 'asset-x' });
    const [created, read] = sim.video.journal.actions();
    assert.deepEqual(
      [created?.operation, created?.action, created?.account, created?.isCreated, created?.status, created?.resourceId],
      ['control', 'CreateAsset', 'default', true, 200, id],
    );
    assert.deepEqual(created?.library, {
      groupId: group,
      name: 'mine',
      url: 'https://example.com/cat.png',
      assetType: 'Image',
    });
    assert.deepEqual([read?.action, read?.isCreated, read?.code], ['GetAsset', false, 'NotFound.asset_id']);
    assert.equal(sim.video.journal.creates.length, 0);
    const shown = await (await fetch(`${sim.url}/_sim/journal`)).text();
    assert.equal(shown.includes('CreateAsset'), true);
    assert.equal(shown.includes('Signature='), false);
  });
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../../sim/index.ts';
import type { Account } from '../../catalog/index.ts';
import { systemClock } from '../../core/index.ts';
import { UpstreamClient } from '../../providers/upstream/index.ts';
import { assetClient } from './asset-client.ts';
import { assetErrorKindOf } from './asset-errors.ts';

let sim: Sim;
let upstream: UpstreamClient;
let client: ReturnType<typeof assetClient>;
let account: Account;

before(async () => {
  sim = await startSim({ video: { clock: 'manual', rateLimits: false } });
  upstream = new UpstreamClient(systemClock);
  client = assetClient(upstream, systemClock);
  account = accountWith({});
});
after(async () => {
  await upstream.close();
  await sim.close();
});

const accountWith = (settings: object): Account => ({
  id: 'one',
  groupId: 'ep',
  adapter: 'ark',
  baseUrl: sim.video.url,
  credential: 'sk-simulated',
  weight: 1,
  priority: 0,
  maxConcurrency: 1,
  features: new Set(['video']),
  models: new Map(),
  resultHosts: [],
  assets: {
    baseUrl: new URL(sim.video.url).origin,
    accessKey: 'AK-simulated',
    secretKey: 'SK-simulated',
    region: 'cn-beijing',
    project: 'default',
    ...settings,
  },
});

let names = 0;
const newName = () => {
  names += 1;
  return `name-${names}-end`;
};
const newGroup = async (): Promise<string> => {
  const outcome = await client(account).createGroup({ name: newName(), description: '' });
  assert.equal(outcome.kind, 'created');
  return outcome.kind === 'created' ? outcome.value.id : '';
};
const URL_OF_FILE = 'https://example.com/a.png';

for (const mode of ['status', 'ok'] as const)
  test(`a group and an asset are created, found by exact name, read and deleted (errors with ${mode})`, async (t) => {
    sim.video.settings.libraryErrors = mode;
    t.after(() => {
      sim.video.settings.libraryErrors = 'status';
    });
    const name = newName();
    const created = await client(account).createGroup({ name, description: 'd' });
    assert.ok(created.kind === 'created');
    const { id } = created.value;
    await client(account).createGroup({ name: `${name}-longer`, description: '' });
    assert.deepEqual(await client(account).findGroups(name), { kind: 'found', value: [{ id, name }] });
    const asset = await client(account).createAsset({
      groupId: id,
      url: URL_OF_FILE,
      kind: 'Image',
      name: 'asset-name',
    });
    assert.ok(asset.kind === 'created');
    const reported = { id: asset.value.id, name: 'asset-name', status: 'processing', failure: undefined };
    assert.deepEqual(await client(account).getAsset(asset.value.id), { kind: 'found', value: reported });
    const group = { id, type: 'AIGC' };
    assert.deepEqual(await client(account).findAssets(group, 'asset-name'), { kind: 'found', value: [reported] });
    assert.deepEqual(await client(account).findAssets(group, 'asset'), { kind: 'found', value: [] });
    sim.video.assets.fail(asset.value.id, 'FaceMismatch');
    const failed = await client(account).getAsset(asset.value.id);
    assert.ok(failed.kind === 'found' && failed.value.status === 'failed');
    assert.match(failed.value.failure ?? '', /^FaceMismatch: /);
    assert.equal(await client(account).deleteAsset(asset.value.id), 'done');
    assert.equal(await client(account).deleteAsset(asset.value.id), 'done', 'gone before');
    assert.deepEqual(await client(account).getAsset(asset.value.id), { kind: 'missing' });
    assert.equal(await client(account).deleteGroup(id), 'done');
    assert.deepEqual(await client(account).findGroups(name), { kind: 'found', value: [] });
    const orphan = await client(account).createAsset({ groupId: id, url: URL_OF_FILE, kind: 'Image', name: 'x' });
    assert.ok(orphan.kind === 'rejected');
    assert.deepEqual([orphan.error.status, orphan.error.code], [404, 'NotFound.group_id']);
  });

test('wrong keys, regions and projects are errors of the account, whatever the action', async () => {
  for (const settings of [
    { accessKey: 'AK-unknown' },
    { secretKey: 'SK-wrong' },
    { region: 'ap-southeast-1' },
    { project: 'other' },
    { accessKey: 'AK-unsubscribed' },
  ]) {
    const broken = accountWith(settings);
    const outcome = await client(broken).createGroup({ name: newName(), description: '' });
    assert.ok(outcome.kind === 'rejected', JSON.stringify([settings, outcome]));
    assert.equal(assetErrorKindOf(outcome.error.status, outcome.error.code), 'account', outcome.error.code);
    assert.equal((await client(broken).getAsset('asset-x')).kind, 'failed');
    assert.equal(await client(broken).deleteAsset('asset-x'), 'failed');
  }
});

const OUTCOMES: Readonly<Record<string, readonly [create: string, query: string, deletion: string]>> = {
  'status=500': ['unknown', 'failed 500', 'failed'],
  'status=503': ['unknown', 'failed 503', 'failed'],
  'status=429': ['not_sent', 'failed 429', 'failed'],
  'error=Throttling': ['not_sent', 'failed 429', 'failed'],
  'status=200;error=InternalServiceError': ['unknown', 'failed 502', 'failed'],
  'sync_400=InvalidParameter': ['rejected', 'failed 400', 'rejected'],
  'status=409;error=Conflict': ['unknown', 'failed 409', 'rejected'],
  html: ['unknown', 'failed 502', 'failed'],
  truncated: ['unknown', 'failed 502', 'failed'],
  reset: ['unknown', 'failed undefined', 'failed'],
  eof_mid: ['unknown', 'failed undefined', 'failed'],
};
for (const [fault, [create, query, deletion]] of Object.entries(OUTCOMES))
  test(`a response with ${fault} is ${create} for a creation, ${query} for a query, ${deletion} for a deletion`, async () => {
    const group = await newGroup();
    sim.video.next(`on=CreateAsset; ${fault}`);
    const created = await client(account).createAsset({ groupId: group, url: URL_OF_FILE, kind: 'Image', name: 'n' });
    assert.equal(created.kind, create);
    sim.video.next(`on=ListAssetGroups; ${fault}`);
    const read = await client(account).findGroups(group);
    assert.equal(read.kind === 'failed' ? `failed ${read.status}` : read.kind, query);
    sim.video.next(`on=DeleteAssetGroup; ${fault}`);
    assert.equal(await client(account).deleteGroup(group), deletion);
  });

test('an account without settings or with a closed port sends nothing', async () => {
  const { assets: _none, ...bare } = account;
  const away = accountWith({ baseUrl: 'http://127.0.0.1:9' });
  for (const broken of [bare, away]) {
    const outcome = await client(broken).createGroup({ name: newName(), description: '' });
    assert.deepEqual(outcome, { kind: 'not_sent', retryAfter: undefined });
    assert.deepEqual(await client(broken).getAsset('asset-x'), { kind: 'failed', status: undefined });
  }
});

test('a validation is pending until the person has passed, also with a result without an envelope', async (t) => {
  const started = await client(account).startValidation('https://example.com/return');
  assert.ok(started.kind === 'created');
  assert.match(started.value.link, /^http/);
  assert.deepEqual(await client(account).getValidation(started.value.token), { kind: 'missing' });
  for (const mode of ['bare', 'enveloped'] as const) {
    const { value } = started;
    sim.video.settings.validationResults = mode;
    t.after(() => {
      sim.video.settings.validationResults = 'enveloped';
    });
    if (mode === 'bare') sim.video.validations.pass(value.token);
    const passed = await client(account).getValidation(value.token);
    assert.ok(passed.kind === 'found', JSON.stringify(passed));
    assert.match(passed.value.groupId, /^group-/);
  }
});

test('errors are classified by their code first, and a bare 404 is not proof that an object is missing', () => {
  assert.equal(assetErrorKindOf(404, 'NotFound.asset_id'), 'missing');
  assert.equal(assetErrorKindOf(404, 'NotFound.ProjectName'), 'account');
  assert.equal(assetErrorKindOf(404, ''), 'server');
  assert.equal(assetErrorKindOf(200, 'SignatureDoesNotMatch'), 'account');
  assert.equal(assetErrorKindOf(403, ''), 'account');
  assert.equal(assetErrorKindOf(400, 'RequestLimitExceeded'), 'throttled');
  assert.equal(assetErrorKindOf(400, 'InvalidParameter.URL'), 'request');
  assert.equal(assetErrorKindOf(502, ''), 'server');
});

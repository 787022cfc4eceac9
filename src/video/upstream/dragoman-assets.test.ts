import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { accountAt } from '../../../test/support/upstream-call.ts';
import { type Account, Catalog } from '../../catalog/index.ts';
import { systemClock } from '../../core/index.ts';
import { UpstreamClient } from '../../providers/upstream/index.ts';
import type { VideoVariant } from '../../rules/index.ts';
import { dragomanAssets } from './dragoman-assets.ts';

interface Seen {
  readonly line: string;
  readonly key: string | undefined;
  readonly body: unknown;
}

const seen: Seen[] = [];
let replies: (readonly [number, unknown] | 'reset')[] = [];
const server = createServer((incoming, outgoing) => {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => {
    const text = Buffer.concat(chunks).toString();
    const key = incoming.headers['idempotency-key'];
    const line = `${incoming.method} ${incoming.url}`;
    seen.push({ line, key: key?.toString(), body: text === '' ? undefined : JSON.parse(text) });
    const reply = replies.shift() ?? [500, {}];
    if (reply === 'reset') return incoming.socket.destroy();
    outgoing.writeHead(reply[0], { 'content-type': 'application/json', 'retry-after': '7' });
    return outgoing.end(JSON.stringify(reply[1]));
  });
});

const upstream = new UpstreamClient(systemClock);
let url = '';
before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  upstream.close();
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  seen.length = 0;
  replies = [];
});

function libraryOf(variant: VideoVariant): { library: ReturnType<typeof dragomanAssets>; account: Account } {
  const account = { ...accountAt(`${url}/base`, 'a', 'video'), adapter: 'dragoman' as const };
  const group = {
    id: 'group',
    style: 'video' as const,
    variant,
    name: 'Film',
    multiplierPpm: 1_000_000n,
    unknownMembers: 'bound' as const,
  };
  const line = {
    pattern: 'film',
    upstream: 'inner-film',
    overrides: {},
    id: 1n,
    learned: { abilities: {}, tiers: [] },
    context: null,
    maxOutput: null,
    isFree: false,
    fallback: [],
    prices: [],
  };
  const catalog = new Catalog([group], [account], new Map([['group', [line]]]));
  return { library: dragomanAssets(upstream, () => catalog), account };
}

const error = (code: string) => ({ error: { code, message: 'No.', type: 'x' } });

test('createGroup names the group by our id, and selects the service group by a model', async () => {
  const { library, account } = libraryOf('A');
  replies = [[201, { id: 'assetgrp_inner', name: 'assetgrp_ours', status: 'active' }]];
  const outcome = await library(account).createGroup({ name: 'assetgrp_ours', description: 'd' });
  assert.ok(outcome.kind === 'created' && outcome.value.id === 'assetgrp_inner');
  assert.deepEqual(seen, [
    {
      line: 'POST /base/v1/asset-groups',
      key: 'assetgrp_ours',
      body: { name: 'assetgrp_ours', description: 'd', model: 'inner-film' },
    },
  ]);
});

test('V 1: the group of an HC account exists in our records only', async () => {
  const { library, account } = libraryOf('HC');
  const created = await library(account).createGroup({ name: 'assetgrp_ours', description: '' });
  assert.ok(created.kind === 'created' && created.value.id === 'assetgrp_ours');
  assert.equal((await library(account).findGroups('assetgrp_ours')).kind, 'found');
  assert.equal(await library(account).deleteGroup('assetgrp_ours'), 'done');
  assert.equal(seen.length, 0);
  replies = [[202, { id: 'asset_inner', name: 'asset_ours', status: 'processing' }]];
  await library(account).createAsset({
    groupId: 'assetgrp_ours',
    url: 'https://x.com/a',
    kind: 'Image',
    name: 'asset_ours',
  });
  assert.deepEqual(seen[0]?.body, {
    url: 'https://x.com/a',
    asset_type: 'Image',
    name: 'asset_ours',
    model: 'inner-film',
  });
});

test('createAsset reports what a response means for a retry', async () => {
  const { library, account } = libraryOf('EP');
  const cases: readonly (readonly [readonly [number, unknown] | 'reset', string])[] = [
    [[202, { id: 'asset_inner', name: 'asset_ours', status: 'create_unknown' }], 'created'],
    [[202, {}], 'unknown'],
    ['reset', 'unknown'],
    [[503, error('asset_upstream_unavailable')], 'unknown'],
    [[409, error('idempotency_in_progress')], 'unknown'],
    [[429, error('rate_limit_exceeded')], 'not_sent'],
    [[400, error('invalid_request')], 'rejected'],
    [[409, error('asset_route_group_misconfigured')], 'rejected'],
  ];
  for (const [reply, kind] of cases) {
    replies = [reply];
    const asset = { groupId: 'assetgrp_inner', url: 'https://x.com/a', kind: 'Image' as const, name: 'asset_ours' };
    const outcome = await library(account).createAsset(asset);
    assert.equal(outcome.kind, kind, JSON.stringify(reply));
    if (outcome.kind === 'not_sent') assert.equal(outcome.retryAfter, 7);
  }
  assert.ok(seen.every(({ key }) => key === 'asset_ours'));
});

test('getAsset refreshes the asset and reads its status', async () => {
  const { library, account } = libraryOf('A');
  const statuses = {
    creating: 'processing',
    create_unknown: 'processing',
    processing: 'processing',
    active: 'active',
    delete_failed: 'active',
    failed: 'failed',
    invalid: 'missing',
    deleting: 'missing',
    deleted: 'missing',
  };
  for (const [status, expected] of Object.entries(statuses)) {
    replies = [[200, { id: 'asset_inner', name: 'asset_ours', status }]];
    const outcome = await library(account).getAsset('asset_inner');
    assert.equal(outcome.kind === 'found' ? outcome.value.status : outcome.kind, expected, status);
  }
  assert.equal(seen[0]?.line, 'POST /base/v1/assets/asset_inner/refresh');
  replies = [
    [404, error('asset_not_found')],
    [404, '<html>'],
    [503, error('asset_upstream_unavailable')],
  ];
  assert.equal((await library(account).getAsset('x')).kind, 'missing');
  assert.equal((await library(account).getAsset('x')).kind, 'failed', 'a 404 of something between the gateways');
  assert.deepEqual(await library(account).getAsset('x'), { kind: 'failed', status: 503, retryAfter: 7 });
});

test('findAssets reads pages until the name is found, and waits for creations that are not decided', async () => {
  const { library, account } = libraryOf('EP');
  const item = (name: string, status: string) => ({ id: `inner_${name}`, name, status });
  replies = [
    [200, { data: [item('other', 'active')], has_more: true, last_id: 'inner_other' }],
    [200, { data: [item('ours', 'processing'), item('ours too', 'active')], has_more: true, last_id: 'x' }],
  ];
  const group = { id: 'assetgrp_inner', type: 'AIGC' };
  const found = await library(account).findAssets(group, 'ours');
  assert.deepEqual(found.kind === 'found' && found.value.map(({ id, status }) => [id, status]), [
    ['inner_ours', 'processing'],
  ]);
  assert.deepEqual(
    seen.map(({ line }) => line),
    [
      'GET /base/v1/assets?group_id=assetgrp_inner&limit=100',
      'GET /base/v1/assets?group_id=assetgrp_inner&limit=100&after=inner_other',
    ],
  );
  replies = [[200, { data: [item('ours', 'create_unknown')], has_more: false }]];
  assert.equal((await library(account).findAssets(group, 'ours')).kind, 'failed');
  replies = [[200, { data: [item('ours', 'deleted')], has_more: false }]];
  assert.deepEqual(await library(account).findAssets(group, 'ours'), { kind: 'found', value: [] });
});

test('deleteAsset is done only when the other gateway has deleted the asset', async () => {
  const { library, account } = libraryOf('A');
  const cases: readonly (readonly [readonly [number, unknown], string])[] = [
    [[202, { status: 'deleted' }], 'done'],
    [[202, { status: 'deleting' }], 'failed'],
    [[404, error('asset_not_found')], 'done'],
    [[409, error('asset_in_use')], 'failed'],
    [[400, error('asset_delete_not_supported')], 'rejected'],
    [[500, {}], 'failed'],
  ];
  for (const [reply, expected] of cases) {
    replies = [reply];
    assert.equal(await library(account).deleteAsset('asset_inner'), expected, JSON.stringify(reply));
  }
});

test('V 4.10: a validation is a session of the other gateway', async () => {
  const { library, account } = libraryOf('A');
  replies = [[201, { id: 'authsess_1', status: 'pending', authorization_url: 'https://p.example.com/x' }]];
  const started = await library(account).startValidation('https://ours.example.com/return');
  assert.deepEqual(started, { kind: 'created', value: { token: 'authsess_1', link: 'https://p.example.com/x' } });
  assert.deepEqual(seen[0]?.body, { redirect_url: 'https://ours.example.com/return', model: 'inner-film' });
  replies = [[201, { id: 'authsess_1', authorization_url: 'https://p.example.com/x' }]];
  await library(account).startValidation('http://127.0.0.1/return');
  assert.deepEqual(seen[1]?.body, { model: 'inner-film' }, 'a private address would be rejected');
  const cases: readonly (readonly [readonly [number, unknown], object])[] = [
    [[200, { id: 'authsess_1', status: 'verifying' }], { kind: 'missing' }],
    [[200, { id: 'authsess_1', status: 'completed', asset_group_id: 'g' }], { kind: 'found', value: { groupId: 'g' } }],
    [[200, { id: 'authsess_1', status: 'failed' }], { kind: 'failed', status: 400 }],
    [[410, error('authorization_session_expired')], { kind: 'failed', status: 410, retryAfter: 7 }],
    [[404, error('authorization_session_not_found')], { kind: 'failed', status: 404 }],
  ];
  for (const [reply, expected] of cases) {
    replies = [reply];
    assert.deepEqual(await library(account).getValidation('authsess_1'), expected);
  }
});

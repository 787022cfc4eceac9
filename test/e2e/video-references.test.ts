/** References to private assets and public characters in tasks, and the catalog of characters. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '../../src/core/index.ts';
import { callVideo, KEYS, startVideo, TASKS, taskBody, textItem, type VideoFixture } from '../support/video.ts';

let fixture: VideoFixture;
let presenter: string;
let pilot: string;

const SETTINGS = {
  base_url: 'http://127.0.0.1:9',
  access_key: 'AK',
  secret_key: 'SK',
  region: 'r',
  project: 'default',
};

before(async () => {
  // The provider knows the assets that the tests write to the database.
  const presetAssets = ['qn7wr', 'prese', 'pilot'].map((name) => `asset-20260224200602-${name}`);
  fixture = await startVideo({ video: { presetAssets } });
  const { gateway, sim } = fixture;
  await gateway.apply({
    accounts: [
      ...['ep', 'hc', 'video-a'].map((group) => ({
        id: `account-${group}`,
        group,
        base_url: sim.video.url,
        api_key: `sk-simulated-${group}`,
        assets: SETTINGS,
      })),
      { id: 'account-ep-2', group: 'ep', base_url: sim.video.url, api_key: 'sk-simulated-ep2', assets: SETTINGS },
    ],
    characters: [
      character('presenter', { tags: ['studio', 'news'], gender: 'female', age_group: 'adult', nationality: 'fr' }),
      character('pilot', { tags: ['outdoor'], gender: 'male' }),
    ],
  });
  const rows = await gateway.context.database.db.selectFrom('characters').select(['id', 'public_id']).execute();
  presenter = rows.find(({ id }) => id === 'presenter')?.public_id ?? '';
  pilot = rows.find(({ id }) => id === 'pilot')?.public_id ?? '';
});
after(() => fixture.close());

const character = (id: string, more: object) => ({
  id,
  group: 'ep',
  models: ['demo-video-2-0-ep'],
  upstream_asset: `asset-20260224200602-${id.slice(0, 5)}`,
  name: `The ${id}`,
  preview_url: 'https://example.com/picture.png',
  ...more,
});

interface AssetOptions {
  readonly user?: string;
  readonly group?: string;
  readonly account?: string;
  readonly type?: 'Image' | 'Video' | 'Audio';
  readonly status?: string;
}

/** Writes an asset as it would be after its review. */
async function insertAsset({
  user = 'ana',
  group = 'ep',
  account,
  type = 'Image',
  status = 'active',
}: AssetOptions = {}) {
  const { db } = fixture.gateway.context.database;
  const id = newId('asset');
  const groupId = newId('assetgrp');
  const variant = group === 'video-a' ? 'A' : group.toUpperCase();
  const shared = { user_id: user, group_id: group, variant, account_id: account ?? `account-${group}` };
  await db
    .insertInto('asset_groups')
    .values({ ...shared, id: groupId, name: 'g', group_type: 'AIGC', status: 'active', upstream_id: 'group-1' })
    .execute();
  await db
    .insertInto('assets')
    .values({
      ...shared,
      id,
      asset_group_id: groupId,
      asset_type: type,
      status,
      source_url: 'https://example.com/a.png',
      upstream_id: 'asset-20260224200602-qn7wr',
      deleted_at: status === 'deleted' ? new Date() : null,
    })
    .execute();
  return id;
}

const image = (url: string, role = 'reference_image') => ({ type: 'image_url', image_url: { url }, role });
const video = (url: string) => ({ type: 'video_url', video_url: { url }, role: 'reference_video' });
const create = (content: readonly object[], variant: 'A' | 'EP' | 'HC' = 'EP', key?: string) =>
  callVideo(fixture.gateway.url, TASKS, { body: taskBody(variant, { content: [textItem(), ...content] }), key });

const lastCreate = () =>
  fixture.sim.video.journal.requests.findLast(({ operation }) => operation === 'create') ?? assert.fail('no create');

async function assertRejected(response: ReturnType<typeof create>, status: number, code: string): Promise<void> {
  const countCreates = () =>
    fixture.sim.video.journal.requests.filter(({ operation }) => operation === 'create').length;
  const before = countCreates();
  const { status: actual, body, headers } = await response;
  assert.deepEqual([actual, body.error?.code], [status, code]);
  if (status === 409) assert.equal(headers.get('x-should-retry'), String(code === 'asset_binding_unavailable'));
  assert.equal(countCreates(), before, 'nothing was sent');
}

test('V 4.1: an active asset is sent to its own account under its upstream id, in the order of the items', async () => {
  const id = await insertAsset({ account: 'account-ep-2' });
  const { status, body } = await create([image(`asset://${id}`), image('https://example.com/b.png')]);
  assert.equal(status, 200, JSON.stringify(body));
  const sent = lastCreate();
  assert.equal(sent.account, 'ep2');
  const { content } = sent.body as unknown as { content: { image_url?: { url: string } }[] };
  assert.deepEqual(
    content.map((item) => item.image_url?.url),
    [undefined, 'asset://asset-20260224200602-qn7wr', 'https://example.com/b.png'],
  );
  const uses = await fixture.gateway.context.database.db
    .selectFrom('video_task_assets')
    .select('asset_id')
    .where('task_id', '=', String(body.id))
    .execute();
  assert.deepEqual(uses, [{ asset_id: id }]);
});

test('V 1: an unknown asset and one of another user give the same 404 asset_not_found', async () => {
  const foreign = await insertAsset({ user: 'bob' });
  const missing = await create([image(`asset://${newId('asset')}`)]);
  const other = await create([image(`asset://${foreign}`)]);
  assert.deepEqual([missing.status, missing.body], [other.status, other.body]);
  assert.equal(missing.body.error?.code, 'asset_not_found');
  await assertRejected(create([image(`asset://${await insertAsset({ status: 'deleted' })}`)]), 404, 'asset_not_found');
});

test('V 4.1: an asset of another kind gives asset_kind_mismatch', async () => {
  const clip = await insertAsset({ type: 'Video' });
  const picture = await insertAsset();
  await assertRejected(create([image(`asset://${clip}`)]), 400, 'asset_kind_mismatch');
  await assertRejected(create([video(`asset://${picture}`)]), 400, 'asset_kind_mismatch');
});

for (const [status, code] of [
  ['invalid', 'asset_invalid'],
  ['processing', 'asset_not_ready'],
  ['creating', 'asset_not_ready'],
  ['create_unknown', 'asset_not_ready'],
  ['failed', 'asset_not_ready'],
  ['deleting', 'asset_binding_unavailable'],
] as const)
  test(`V 4.1: an asset that is ${status} gives 409 ${code}`, async () => {
    await assertRejected(create([image(`asset://${await insertAsset({ status })}`)]), 409, code);
  });

test('V 1 r3, r4: assets of two bindings conflict, and an asset of another space does not fit the model', async () => {
  const ep = await insertAsset();
  const hc = await insertAsset({ group: 'hc' });
  const other = await insertAsset({ account: 'account-ep-2' });
  await assertRejected(create([image(`asset://${ep}`), image(`asset://${hc}`)]), 409, 'asset_binding_conflict');
  await assertRejected(create([image(`asset://${ep}`), image(`asset://${other}`)]), 409, 'asset_binding_conflict');
  await assertRejected(create([image(`asset://${ep}`)], 'HC'), 409, 'asset_channel_mismatch');
  await assertRejected(create([image(`asset://${hc}`)]), 409, 'asset_channel_mismatch');
  await assertRejected(create([image(`asset://${ep}`)], 'A'), 409, 'asset_channel_mismatch');
});

test('V 4.1: of two violations the earlier check is reported', async () => {
  const invalidClip = await insertAsset({ type: 'Video', status: 'invalid' });
  const processing = await insertAsset({ status: 'processing', group: 'hc' });
  await assertRejected(create([image(`asset://${invalidClip}`)]), 400, 'asset_kind_mismatch');
  await assertRejected(
    create([image(`asset://${processing}`), image(`asset://${newId('asset')}`)]),
    404,
    'asset_not_found',
  );
  await assertRejected(
    create([image(`asset://${processing}`), image(`asset://${await insertAsset()}`)]),
    409,
    'asset_not_ready',
  );
});

test('V 4.11 r2: a character works as reference image of its model, also beside an asset of the same group', async () => {
  const asset = await insertAsset();
  const { status, body } = await create([image(`asset://${presenter}`), image(`asset://${asset}`)]);
  assert.equal(status, 200, JSON.stringify(body));
  const sent = JSON.stringify(lastCreate().body);
  assert.ok(sent.includes('asset://asset-20260224200602-prese'));
  assert.ok(!sent.includes(presenter));
});

test('V 4.1: a character as a frame is unsupported, and for another model not found', async () => {
  await assertRejected(create([image(`asset://${presenter}`, 'first_frame')]), 400, 'unsupported_video_parameter');
  await assertRejected(create([image(`asset://${presenter}`)], 'HC'), 404, 'public_character_not_found');
  await assertRejected(create([image(`asset://${newId('char')}`)]), 404, 'public_character_not_found');
});

const characters = (query: string, key?: string) =>
  callVideo(fixture.gateway.url, `/v1/public-characters${query}`, { key });
const idsIn = (body: Record<string, unknown>) => (body.data as { id: string }[]).map(({ id }) => id);

test('V 4.11 r1: the list needs a model, has the documented envelope and objects, and pages', async () => {
  const missing = await characters('');
  assert.deepEqual([missing.status, missing.body.error?.code], [400, 'invalid_request']);
  const { status, body } = await characters('?model=demo-video-2-0-ep');
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(Object.keys(body), ['object', 'data', 'first_id', 'last_id', 'has_more']);
  assert.deepEqual((body.data as object[])[0], {
    id: presenter,
    object: 'public_character',
    name: 'The presenter',
    preview_url: 'https://example.com/picture.png',
    tags: ['studio', 'news'],
    route_group_id: 'ep',
    route_group_name: 'Video EP',
    reference: `asset://${presenter}`,
  });
  const first = await characters('?model=demo-video-2-0-ep&limit=1');
  assert.deepEqual([idsIn(first.body), first.body.has_more], [[presenter], true]);
  const second = await characters(`?model=demo-video-2-0-ep&limit=1&after=${presenter}`);
  assert.deepEqual([idsIn(second.body), second.body.has_more], [[pilot], false]);
  for (const query of ['limit=0', 'limit=101', 'after=char_unknown', 'colour=red'])
    assert.equal((await characters(`?model=demo-video-2-0-ep&${query}`)).status, 400, query);
});

test('V 4.11 r1: the list filters by name, tags, gender, age group and nationality', async () => {
  for (const [query, expected] of [
    ['q=PILOT', [pilot]],
    ['tags=studio&tags=news', [presenter]],
    ['tags=studio,news', [presenter]],
    ['tags=studio,outdoor', []],
    ['gender=male', [pilot]],
    ['age_group=adult', [presenter]],
    ['nationality=FR', [presenter]],
  ] as const)
    assert.deepEqual(idsIn((await characters(`?model=demo-video-2-0-ep&${query}`)).body), expected, query);
});

test('V 4.11 r3: a model without a catalog and an unknown character have their codes', async () => {
  for (const model of ['demo-video-2-0-hc', 'unknown'])
    assert.deepEqual([(await characters(`?model=${model}`)).body.error?.code], ['public_catalog_not_supported'], model);
  for (const id of [newId('char'), 'x', `${presenter}?model=demo-video-2-0-hc`]) {
    const { status, body } = await characters(`/${id}`);
    assert.deepEqual([status, body.error?.code], [404, 'public_character_not_found'], id);
  }
  assert.equal((await characters(`/${presenter}?model=demo-video-2-0-ep`)).body.id, presenter);
});

test('an unpublished character is neither listed, found nor usable', async () => {
  const { db } = fixture.gateway.context.database;
  await db.updateTable('characters').set({ published: false }).where('id', '=', 'pilot').execute();
  try {
    assert.deepEqual(idsIn((await characters('?model=demo-video-2-0-ep')).body), [presenter]);
    assert.equal((await characters(`/${pilot}`)).status, 404);
    await assertRejected(create([image(`asset://${pilot}`)]), 404, 'public_character_not_found');
  } finally {
    await db.updateTable('characters').set({ published: true }).where('id', '=', 'pilot').execute();
  }
});

test('an uploaded picture is served without a key, and named in the character', async () => {
  const { db } = fixture.gateway.context.database;
  const preview = Buffer.from('89504e470d0a1a0a', 'hex');
  await db
    .updateTable('characters')
    .set({ preview, preview_type: 'image/png' })
    .where('id', '=', 'presenter')
    .execute();
  const url = (await characters(`/${presenter}`)).body.preview_url;
  const response = await fetch(String(url));
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'image/png']);
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), preview);
  assert.equal((await fetch(`${fixture.gateway.url}/public/characters/${pilot}/preview`)).status, 404);
});

test('V 5 r5: a key that reaches no video group gets asset_route_group_unavailable', async () => {
  const { db } = fixture.gateway.context.database;
  await db.updateTable('keys').set({ video_groups: [] }).where('name', '=', 'only-ep').execute();
  const { status, body } = await characters('?model=demo-video-2-0-ep', KEYS.onlyEp);
  assert.deepEqual([status, body.error?.code], [409, 'asset_route_group_unavailable']);
});

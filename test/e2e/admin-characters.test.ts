/** Public characters in the admin API: create, change, publish, delete, and the preview picture (V 4.11). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { callVideo, startVideo, type VideoFixture } from '../support/video.ts';
import { IMAGE_STARTS } from '../support/video-request.ts';

let fixture: VideoFixture;
const admin = adminApi(() => fixture.gateway.url);

before(async () => {
  fixture = await startVideo({ env: { ADMIN_TOKEN } });
});
after(() => fixture.close());

const PRESENTER = {
  id: 'presenter',
  group: 'ep',
  models: ['demo-video-2-0-*'],
  upstream_asset: 'asset-20260224200602-qn7wr',
  name: 'Presenter',
  tags: ['studio'],
  licence: 'internal use',
} as const;

interface Character {
  readonly object: string;
  readonly id: string;
  readonly public_id: string;
  readonly published: boolean;
  readonly position: number;
  readonly preview_type: string | null;
  readonly [field: string]: unknown;
}
interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null };
}

async function createCharacter(more: object = {}): Promise<Character> {
  const { status, body, text } = await admin<Character>('POST', '/characters', { ...PRESENTER, ...more });
  assert.equal(status, 201, text);
  return body;
}

/** What a caller sees of the catalog; undefined while there is none. */
async function listed(): Promise<readonly Record<string, unknown>[] | undefined> {
  const { body } = await callVideo(fixture.gateway.url, '/v1/public-characters?model=demo-video-2-0-ep');
  return body.data as Record<string, unknown>[] | undefined;
}

const lastAudit = async () => {
  const { body } = await admin<{ data: Record<string, unknown>[] }>('GET', '/audit?limit=1');
  return body.data[0] ?? {};
};

test('V 1 r4, V 4.11: callers see a character after it is published, and not after it is unpublished or deleted', async () => {
  const created = await createCharacter();
  assert.match(created.public_id, /^char_[A-Za-z0-9]+$/);
  assert.deepEqual([created.object, created.published, created.licence], ['character', false, 'internal use']);
  assert.equal(await listed(), undefined);

  const published = await admin<Character>('POST', '/characters/presenter/publish', {});
  assert.deepEqual([published.status, published.body.published], [200, true]);
  assert.deepEqual(
    (await listed())?.map(({ id, name }) => [id, name]),
    [[created.public_id, 'Presenter']],
  );

  const changed = await admin<Character>('PATCH', '/characters/presenter', { name: 'Anchor', tags: [] });
  assert.deepEqual([changed.status, changed.body.name, changed.body.tags], [200, 'Anchor', []]);
  assert.equal((await listed())?.[0]?.name, 'Anchor');

  assert.equal((await admin('POST', '/characters/presenter/unpublish', {})).status, 200);
  assert.equal(await listed(), undefined);
  const rows = await admin<{ data: Character[] }>('GET', '/characters');
  assert.deepEqual(
    rows.body.data.map(({ id, published: isPublished }) => [id, isPublished]),
    [['presenter', false]],
  );

  const removed = await admin<Character>('DELETE', '/characters/presenter');
  assert.deepEqual([removed.status, removed.body], [200, { object: 'character', id: 'presenter', deleted: true }]);
  assert.equal((await admin('DELETE', '/characters/presenter')).status, 404);
});

test('a character created published is listed at once, after the characters before it', async () => {
  await createCharacter({ id: 'one', published: true });
  const two = await createCharacter({ id: 'two', published: true });
  assert.equal((await listed())?.at(-1)?.id, two.public_id);
  for (const id of ['one', 'two']) await admin('DELETE', `/characters/${id}`);
});

test('every change of a character has its audit line with the state before and after', async () => {
  await createCharacter({ id: 'noted' });
  const steps = [
    ['PATCH', '', { gender: 'female' }, 'character.changed'],
    ['POST', '/publish', {}, 'character.published'],
    ['POST', '/unpublish', {}, 'character.unpublished'],
    ['PUT', '/preview', { data: IMAGE_STARTS.png?.toString('base64') }, 'character.preview_changed'],
    ['DELETE', '/preview', undefined, 'character.preview_changed'],
    ['DELETE', '', undefined, 'character.deleted'],
  ] as const;
  for (const [method, path, body, action] of steps) {
    const { status, text } = await admin(method, `/characters/noted${path}`, body);
    assert.equal(status, 200, text);
    const line = await lastAudit();
    assert.deepEqual([line.action, line.subject], [action, 'character:noted']);
    assert.ok(line.before !== null && (action === 'character.deleted') === (line.after === null), action);
    assert.ok(!JSON.stringify(line).includes('iVBOR'), 'the audit line holds no picture');
  }
});

for (const [format, type] of [
  ['png', 'image/png'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
] as const)
  test(`an uploaded ${format} picture is served with its own type, and gone after its deletion`, async () => {
    const { public_id } = await createCharacter({ id: format, published: true });
    const bytes = Buffer.concat([IMAGE_STARTS[format] ?? Buffer.alloc(0), Buffer.alloc(1_500_000)]);
    const uploaded = await admin<Character>('PUT', `/characters/${format}/preview`, { data: bytes.toString('base64') });
    assert.deepEqual([uploaded.status, uploaded.body.preview_type], [200, type], uploaded.text.slice(0, 300));
    const { body } = await callVideo(fixture.gateway.url, `/v1/public-characters/${public_id}`);
    const response = await fetch(String(body.preview_url));
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, type]);
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(bytes));
    assert.equal((await admin('DELETE', `/characters/${format}/preview`)).status, 200);
    assert.equal((await fetch(String(body.preview_url))).status, 404);
    await admin('DELETE', `/characters/${format}`);
  });

test('a picture of another type, of no type, too large or not in Base64 is rejected and changes nothing', async () => {
  await createCharacter({ id: 'plain' });
  const large = Buffer.concat([IMAGE_STARTS.png ?? Buffer.alloc(0), Buffer.alloc(2 * 2 ** 20)]);
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
  for (const data of [
    IMAGE_STARTS.gif?.toString('base64'),
    svg.toString('base64'),
    large.toString('base64'),
    'no base64!',
    '',
    7,
    undefined,
  ]) {
    const { status, body } = await admin<Failure>('PUT', '/characters/plain/preview', { data });
    assert.deepEqual(
      [status, body.error.code, body.error.param],
      [400, 'invalid_request', 'data'],
      String(data).slice(0, 30),
    );
  }
  const { body } = await admin<{ data: Character[] }>('GET', '/characters');
  assert.equal(body.data.find(({ id }) => id === 'plain')?.preview_type, null);
  const huge = await admin<Failure>('PUT', '/characters/plain/preview', { data: 'A'.repeat(5 * 2 ** 20) });
  assert.deepEqual([huge.status, huge.body.error.code], [413, 'request_too_large']);
  await admin('DELETE', '/characters/plain');
});

test('invalid characters are rejected by the field that is wrong', async () => {
  for (const [more, status, param] of [
    [{ id: 'No Id' }, 400, 'id'],
    [{ models: [] }, 400, 'models'],
    [{ upstream_asset: '' }, 400, 'upstream_asset'],
    [{ preview_url: 'ftp://example.com' }, 400, 'preview_url'],
    [{ group: 'openai' }, 400, 'group'],
    [{ group: 'missing' }, 404, 'group'],
    [{ published: 'yes' }, 400, 'published'],
  ] as const) {
    const { status: actual, body } = await admin<Failure>('POST', '/characters', { ...PRESENTER, ...more });
    assert.deepEqual([actual, body.error.param], [status, param], body.error.message);
  }
  await createCharacter({ id: 'taken' });
  const again = await admin<Failure>('POST', '/characters', { ...PRESENTER, id: 'taken' });
  assert.deepEqual([again.status, again.body.error.code, again.body.error.param], [409, 'conflict', 'id']);
  assert.equal((await admin('PATCH', '/characters/taken', {})).status, 400);
  assert.equal((await admin('PATCH', '/characters/taken', { id: 'other' })).status, 400);
  assert.equal((await admin('PATCH', '/characters/missing', { name: 'x' })).status, 404);
  assert.equal((await admin('POST', '/characters/missing/publish', {})).status, 404);
});

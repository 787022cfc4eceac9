/** Uploaded files as input of video tasks and assets: named by their id, checked before anything is held, and read by the provider at a signed link. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { callVideo, KEYS, startVideo, TASKS, taskBody, textItem, type VideoFixture } from '../support/video.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=',
  'base64',
);
const MP4 = Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom', 'latin1');

let fixture: VideoFixture;
let picture: string;
let film: string;
before(async () => {
  fixture = await startVideo();
  picture = await upload(PNG, 'a.png', 'image/png');
  film = await upload(MP4, 'a.mp4', 'video/mp4');
});
after(() => fixture.close());

const call = (path: string, request: Parameters<typeof callVideo>[2] = {}) =>
  callVideo(fixture.gateway.url, path, request);

async function upload(content: Buffer, name: string, type: string, key: string = KEYS.ana): Promise<string> {
  const form = new FormData();
  form.set('purpose', 'user_data');
  form.set('file', new File([new Uint8Array(content)], name, { type }));
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${fixture.gateway.url}/v1/files`, { method: 'POST', headers, body: form });
  return ((await response.json()) as { id: string }).id;
}

const image = (url: string, role = 'reference_image') => ({ type: 'image_url', image_url: { url }, role });
const video = (url: string) => ({ type: 'video_url', video_url: { url }, role: 'reference_video' });
const bodyWith = (...items: object[]) => taskBody('A', { content: [textItem('A lighthouse'), ...items] });
const creates = () => fixture.sim.video.journal.requests.filter(({ operation }) => operation === 'create');
/** Addresses in the last request that the provider received. */
const sentUrls = (): string[] => {
  const { content } = (creates().at(-1)?.body ?? { content: [] }) as { content: Record<string, { url: string }>[] };
  return content.flatMap(({ image_url, video_url }) => image_url?.url ?? video_url?.url ?? []);
};

test('a file is sent as a link at which the provider reads it without a key', async () => {
  const { status, body } = await call(TASKS, { body: bodyWith(image(picture), video(film)) });
  assert.equal(status, 200, JSON.stringify(body));
  const urls = sentUrls();
  for (const [n, content] of [PNG, MP4].entries()) {
    const response = await fetch(urls[n] ?? '');
    assert.equal(response.status, 200);
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), content);
  }
  const estimate = await call(`${TASKS}/estimate`, { body: bodyWith(video(film)) });
  assert.equal(estimate.body.price, '4.3', 'a file is an input video like any other');
  const twin = await call(TASKS, { key: KEYS.ana2, body: bodyWith(image(picture)) });
  assert.equal(twin.status, 200, 'every key of the user');
  const reference = { model: 'demo-video-a', prompt: 'A lighthouse', input_reference: { image_url: picture } };
  assert.equal((await call('/v1/videos', { body: reference })).status, 200);
});

test('a link opens one file, until it expires or its file or key is gone', async () => {
  const own = await upload(PNG, 'b.png', 'image/png');
  await call(TASKS, { body: bodyWith(image(own)) });
  const link = new URL(sentUrls()[0] ?? '');
  const statusOf = async (url: URL | string) => (await fetch(url)).status;
  const other = new URL(link);
  other.pathname = `/public/files/${picture}`;
  const forged = new URL(link);
  forged.searchParams.set('link', `${link.searchParams.get('link')?.slice(0, -2)}xx`);
  assert.deepEqual([await statusOf(link), await statusOf(other), await statusOf(forged)], [200, 404, 404]);
  assert.equal(await statusOf(`${link.origin}${link.pathname}`), 404);
  const headers = { authorization: `Bearer ${KEYS.ana}` };
  await fetch(`${fixture.gateway.url}/v1/files/${own}`, { method: 'DELETE', headers });
  assert.equal(await statusOf(link), 404);
});

test('what cannot be used is refused by its field before anything is held or sent', async () => {
  const foreign = await upload(PNG, 'c.png', 'image/png', KEYS.bob);
  const note = await upload(Buffer.from('a note'), 'c.txt', 'text/plain');
  const drawing = await upload(Buffer.from('<svg/>'), 'c.svg', 'image/svg+xml');
  const gone = await upload(PNG, 'd.png', 'image/png');
  const { db } = fixture.gateway.context.database;
  await sql`update files set expires_at = now() where id = ${gone}`.execute(db);
  const sent = creates().length;
  for (const [item, status, code] of [
    [image(foreign), 404, 'file_not_found'],
    [image(gone), 404, 'file_not_found'],
    [image(`dgfile${'0'.repeat(32)}`), 404, 'file_not_found'],
    [image(note), 400, 'invalid_request'],
    [image(drawing), 400, 'invalid_request'],
    [image(film), 400, 'invalid_request'],
    [video(picture), 400, 'invalid_request'],
    [image('dgfile'), 400, 'invalid_request'],
  ] as const)
    for (const path of [TASKS, `${TASKS}/estimate`]) {
      const { body, ...answer } = await call(path, { body: bodyWith(item) });
      assert.deepEqual([answer.status, body.error?.code], [status, code], JSON.stringify([path, item, body]));
      assert.match(body.error?.message ?? '', /content\[1\]|file/);
    }
  assert.equal(creates().length, sent);
  const { rows } = await sql`select from holds where state = 'held' and reference not in (
    select 'task:' || id from video_tasks)`.execute(db);
  assert.equal(rows.length, 0);
});

test('an asset is made of a file, with the rules of assets', async () => {
  const asset = (url: string, asset_type = 'Image', key?: string) =>
    call('/v1/assets', { key, body: { url, asset_type, model: 'demo-video-2-0-hc' } });
  const { status, body } = await asset(picture);
  assert.deepEqual([status, body.object], [202, 'asset'], JSON.stringify(body));
  const { url = '' } = fixture.sim.video.journal.requests.findLast(({ library }) => library?.url)?.library ?? {};
  assert.deepEqual(Buffer.from(await (await fetch(url)).arrayBuffer()), PNG);
  assert.equal((await asset(picture, 'Video')).body.error?.code, 'invalid_request');
  assert.equal((await asset(picture, 'Image', KEYS.bob)).body.error?.code, 'file_not_found');
  const session = { redirect_url: picture };
  const { body: refused } = await call('/v1/assets/real-person/authorization-sessions', { body: session });
  assert.equal(refused.error?.code, 'invalid_request', 'no other address is a file');
});

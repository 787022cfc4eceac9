/** The recommended flows of V 4.13 over HTTP, from the asset group to the bytes of the video. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PIXEL } from '../support/agent.ts';
import {
  callVideo,
  KEYS,
  startVideo,
  TASKS,
  TEST_VARIANTS,
  taskBody,
  textItem,
  VIDEO_MODELS,
  type VideoFixture,
} from '../support/video.ts';
import { until } from '../support/wait.ts';

let fixture: VideoFixture;
before(async () => {
  fixture = await startVideo({ worker: true, video: { queuedMs: 50, runningMs: 50, processingMs: 50 } });
});
after(() => fixture.close());

const call = (path: string, body?: object, method?: string) =>
  callVideo(fixture.gateway.url, path, { ...(body && { body }), ...(method !== undefined && { method }) });

/** Moves the next check of everything to now, instead of waiting for it. */
async function hurry(): Promise<void> {
  const { db } = fixture.gateway.context.database;
  await db.updateTable('assets').set({ refreshed_at: null }).execute();
  await db
    .updateTable('video_tasks')
    .set({ next_check_at: new Date(0) })
    .where('next_check_at', 'is not', null)
    .execute();
}

for (const variant of TEST_VARIANTS)
  test(`V 1 r1, r2, V 4.8 r4, V 4.13 r1, r2: variant ${variant} goes from a private asset to a playable video`, async () => {
    const model = VIDEO_MODELS[variant];
    const group = variant === 'HC' ? undefined : await call('/v1/asset-groups', { name: 'Campaign', model });
    if (group) assert.deepEqual([group.status, group.body.status], [201, 'active'], JSON.stringify(group.body));
    const asset = await call('/v1/assets', {
      url: 'https://example.com/zebra.png',
      asset_type: 'Image',
      ...(group ? { group_id: group.body.id } : { model }),
    });
    assert.deepEqual([asset.status, asset.body.status], [202, 'processing'], JSON.stringify(asset.body));
    await until('the review of the asset', async () => {
      await hurry();
      return (await call(`/v1/assets/${String(asset.body.id)}/refresh`, undefined, 'POST')).body.status === 'active';
    });
    const item = { type: 'image_url', image_url: { url: `asset://${String(asset.body.id)}` }, role: 'reference_image' };
    const created = await call(TASKS, taskBody(variant, { content: [textItem(), item], duration: 4 }));
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const path = `${TASKS}/${String(created.body.id)}`;
    await until('the end of the task', async () => {
      await hurry();
      return (await call(path)).body.status === 'succeeded';
    });
    const result = await fetch(`${fixture.gateway.url}/v1/videos/${String(created.body.id)}/content`, {
      headers: { authorization: `Bearer ${KEYS.ana}` },
    });
    assert.equal(result.status, 200);
    const video = Buffer.from(await result.arrayBuffer());
    assert.equal(video.subarray(4, 8).toString(), 'ftyp', 'an MP4 file');
  });

for (const variant of TEST_VARIANTS)
  test(`V 4.13 r3: variant ${variant} takes public URLs and data URLs without assets`, async () => {
    const urls = ['https://example.com/lamp.png', `data:image/png;base64,${PIXEL}`];
    const items = urls.map((url) => ({ type: 'image_url', image_url: { url }, role: 'reference_image' }));
    const created = await call(TASKS, taskBody(variant, { content: [textItem(), ...items], duration: 4 }));
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const sent = fixture.sim.video.journal.requests.findLast(({ operation }) => operation === 'create')?.body as {
      content: object[];
    };
    assert.deepEqual(sent.content, [textItem(), ...items]);
  });

/** Models with sheets beyond the contract, over HTTP: Seedance 2.5, and sheets that an operator writes. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { callVideo, startVideo, TASKS, textItem, VIDEO_PRICES, type VideoFixture } from '../support/video.ts';
import { until } from '../support/wait.ts';

const SEEDANCE = 'doubao-seedance-2-5-260628';
const SHORT = 'house-video-2-5';
let fixture: VideoFixture;
before(async () => {
  fixture = await startVideo({
    worker: true,
    video: { queuedMs: 50, runningMs: 50 },
    models: [
      { id: SEEDANCE, groups: ['video-a', 'ep'], prices: VIDEO_PRICES },
      {
        id: SHORT,
        groups: ['video-a'],
        prices: VIDEO_PRICES,
        capabilities: {
          extends: 'seedance-2.5',
          durations: [5, 20],
          resolutions: ['720p'],
          members: { output_format: false },
        },
      },
    ],
  });
});
after(() => fixture.close());

const create = (more: object, path = TASKS) =>
  callVideo(fixture.gateway.url, path, {
    body: { model: SEEDANCE, content: [textItem()], resolution: '480p', ...more },
  });
const read = async (id: unknown) =>
  (await callVideo(fixture.gateway.url, `${TASKS}/${String(id)}?include=parameters&include=charge`)).body;
const video = { type: 'video_url', role: 'reference_video', video_url: { url: 'https://media.example.com/a.mp4' } };

test('Seedance 2.5 renders 30 seconds as mov, and is charged by its usage', async () => {
  const members = { duration: 30, ratio: '16:9', output_format: 'mov', generate_audio: false };
  const { status, body } = await create(members);
  assert.equal(status, 200, JSON.stringify(body));
  const sent = fixture.sim.video.journal.requests.findLast(({ operation }) => operation === 'create')?.body;
  const {
    model: _,
    content: __,
    callback_url: ___,
    safety_identifier: ____,
    execution_expires_after: _____,
    ...parameters
  } = sent as Record<string, unknown>;
  assert.deepEqual(parameters, { ...members, resolution: '480p' }, 'every member reaches the provider, and no other');
  await until('the task ends', async () => (await read(body.id)).status === 'succeeded');
  const task = await read(body.id);
  assert.equal(task.duration, 30);
  assert.equal((task.parameters as Record<string, unknown>).output_format, 'mov');
  const tokens = Math.floor((864 * 496 * (30 * 24 + 1)) / 1024);
  assert.deepEqual(task.usage, { completion_tokens: tokens, total_tokens: tokens });
  assert.equal((task.charge as Record<string, unknown>).state, 'settled');
});

test('an edit of Seedance 2.5 needs a video and takes its ratio and length', async () => {
  const edit = { omni_reference_task_type: 'edit', content: [textItem(), video] };
  const fields = async (more: object) => (await create({ ...edit, ...more })).body.error?.message?.split(':')[0];
  assert.equal(await fields({}), undefined);
  assert.equal(await fields({ ratio: 'adaptive', duration: -1 }), undefined);
  assert.equal(await fields({ ratio: '16:9' }), 'ratio');
  assert.equal(await fields({ duration: 8 }), 'duration');
  assert.equal(await fields({ content: [textItem()] }), 'omni_reference_task_type');
  assert.equal(await fields({ omni_reference_task_type: 'extend', duration: 8 }), undefined);
});

test('a member of another sheet is unknown, and a length beyond the sheet is out of range', async () => {
  const old = await create({ model: 'demo-video-a', output_format: 'mp4' });
  assert.deepEqual([old.status, old.body.error?.code], [400, 'invalid_request']);
  assert.match(String(old.body.error?.message), /^output_format: unknown/);
  assert.match(String((await create({ duration: 31 })).body.error?.message), /^duration: 31 .* 4 to 30 seconds or -1/);
});

test('the estimate holds the longest video and the longest input of the sheet', async () => {
  const tokens = async (more: object) => (await create(more, `${TASKS}/estimate`)).body.frames;
  assert.equal(await tokens({ duration: -1 }), 30 * 24 + 1);
  assert.equal(await tokens({}), 30 * 24 + 1);
  assert.equal(await tokens({ content: [textItem(), video] }), 60 * 24 + 1);
  assert.equal(await tokens({ model: SHORT, resolution: '720p', duration: -1 }), 20 * 24 + 1);
});

test('a sheet that an operator changes rejects what it lacks, by name', async () => {
  const field = async (more: object) =>
    (await create({ model: SHORT, resolution: '720p', ...more })).body.error?.message?.split(';')[0];
  assert.equal(await field({ duration: 20 }), undefined);
  assert.equal(await field({ duration: 10 }), 'duration: the model does not offer 10');
  assert.equal(await field({ resolution: '1080p' }), 'resolution: the model does not offer 1080p');
  assert.equal(await field({ output_format: 'mov' }), 'output_format: unknown');
});

test('a task of a model with its own sheet is cancelled and deleted by that sheet, in every variant', async () => {
  const { body } = await callVideo(fixture.gateway.url, TASKS, {
    key: 'key-of-ana-for-ep-only-00000',
    body: { model: SEEDANCE, content: [textItem()], duration: 4 },
  });
  await until('the task ends', async () => (await read(body.id)).status === 'succeeded');
  const path = `${TASKS}/${String(body.id)}`;
  assert.equal((await callVideo(fixture.gateway.url, path, { method: 'DELETE' })).status, 204);
  assert.equal((await callVideo(fixture.gateway.url, path)).status, 404);
});

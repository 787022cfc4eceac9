/** Video tasks through client libraries: the OpenAI SDK on /v1/videos, and the AI SDK on the task entry. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createByteDance } from '@ai-sdk/bytedance';
import { openai, openai6 } from '../support/sdk.ts';
import { KEYS, startVideo, TASKS, VIDEO_MODELS, type VideoFixture } from '../support/video.ts';
import { addUser, setStatus } from '../support/video-tasks.ts';

let fixture: VideoFixture;
before(async () => {
  fixture = await startVideo({ video: { clock: 'manual' } });
});
after(() => fixture.close());

const lastCreate = () =>
  fixture.sim.video.journal.requests.findLast(({ operation }) => operation === 'create')?.body as
    | Record<string, unknown>
    | undefined;

// ---------------------------------------------------------------- OpenAI SDK

interface Video {
  readonly id: string;
  readonly object: string;
  readonly status: string;
  readonly seconds: string;
  readonly size: string;
}

for (const [name, connect] of [
  ['openai', openai],
  ['openai 6', openai6],
] as const)
  describe(name, () => {
    const client = (key: string) => connect(fixture.gateway.url, key);
    const create = (key: string, more: object = {}): Promise<Video> =>
      client(key).post('/videos', {
        body: { model: VIDEO_MODELS.A, prompt: 'A lighthouse', seconds: '4', size: '1280x720', ...more },
      });

    test(`V 4.7: ${name} creates a video with a JSON body`, async () => {
      const video = await create(KEYS.ana);
      assert.match(video.id, /^task_/);
      const { object, status, seconds, size } = video;
      assert.deepEqual([object, status, seconds, size], ['video', 'queued', '4', '1280x720']);
      assert.deepEqual([lastCreate()?.duration, lastCreate()?.resolution, lastCreate()?.ratio], [4, '720p', '16:9']);
    });

    test(`V 4.7: ${name} retrieves, lists page by page, and deletes videos`, async () => {
      const key = await addUser(fixture.gateway, `pages-of-${name.replace(' ', '-')}`);
      const ids: string[] = [];
      for (let n = 0; n < 5; n += 1) ids.unshift((await create(key)).id);
      const { videos } = client(key);
      const [newest = ''] = ids;
      assert.deepEqual((await videos.retrieve(newest)).id, newest);
      const listed: string[] = [];
      for await (const video of videos.list({ limit: 2 })) listed.push(video.id);
      assert.deepEqual(listed, ids);
      const page = await videos.list({ limit: 2, order: 'asc' });
      assert.deepEqual(
        page.data.map(({ id }) => id),
        ids.slice(3).toReversed(),
      );
      assert.ok(page.hasNextPage());
      await setStatus(fixture.gateway, newest, 'succeeded');
      assert.equal((await videos.retrieve(newest)).status, 'completed');
      const deleted = await videos.delete(newest);
      assert.deepEqual(deleted, { id: newest, object: 'video.deleted', deleted: true });
      await assert.rejects(videos.retrieve(newest), { status: 404, code: 'task_not_found' });
    });

    test(`V 4.7: ${name} gets an error that names JSON for its multipart create`, async () => {
      await assert.rejects(
        client(KEYS.ana).videos.create({ model: 'sora-2', prompt: 'A lighthouse' }),
        (error: Error & { status?: number; code?: string }) =>
          error.status === 400 && error.code === 'invalid_request' && /application\/json/.test(error.message),
      );
    });
  });

// ---------------------------------------------------------------- AI SDK

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Lets the task succeed as soon as the SDK has created it, and records the responses. */
function aiSdk(key: string) {
  const responses: [path: string, status: number][] = [];
  const provider = createByteDance({
    baseURL: `${fixture.gateway.url}/api/v3`,
    apiKey: key,
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      responses.push([new URL(String(input)).pathname, response.status]);
      if (init?.method === 'POST' && response.status === 200) {
        const { id } = (await response.clone().json()) as { id: string };
        await setStatus(fixture.gateway, id, 'succeeded');
      }
      return response;
    },
  });
  return { provider, responses };
}

const OPTIONS = {
  prompt: 'A lighthouse',
  n: 1,
  aspectRatio: '16:9',
  resolution: '1280x720',
  duration: 5,
  fps: undefined,
  seed: undefined,
  image: undefined,
  frameImages: undefined,
  inputReferences: undefined,
  generateAudio: false,
  providerOptions: { bytedance: { watermark: false, returnLastFrame: true, pollIntervalMs: 10 } },
} as const;
type GenerateOptions = Parameters<ReturnType<ReturnType<typeof createByteDance>['video']>['doGenerate']>[0];

for (const variant of ['A', 'EP', 'HC'] as const)
  test(`V 4.2: the create request of the AI SDK is accepted as it is sent (${variant})`, async () => {
    const { provider, responses } = aiSdk(KEYS.ana);
    const result = await provider.video(VIDEO_MODELS[variant]).doGenerate(OPTIONS as GenerateOptions);
    const [created, read] = responses;
    assert.deepEqual(created, [TASKS, 200]);
    assert.equal(read?.[1], 200);
    const taskId = result.providerMetadata?.bytedance?.taskId;
    assert.deepEqual(result.videos, [
      { type: 'url', url: `${fixture.gateway.url}/v1/videos/${taskId}/content`, mediaType: 'video/mp4' },
    ]);
    const { duration, resolution, ratio, generate_audio, watermark, return_last_frame } = lastCreate() ?? {};
    assert.deepEqual(
      { duration, resolution, ratio, generate_audio, watermark, return_last_frame },
      {
        duration: 5,
        resolution: '720p',
        ratio: '16:9',
        generate_audio: false,
        watermark: false,
        return_last_frame: true,
      },
    );
  });

test('V 4.2: a single image of the AI SDK has no role and is the first frame', async () => {
  const { provider, responses } = aiSdk(KEYS.ana);
  const image = { type: 'file', mediaType: 'image/png', data: PIXEL } as const;
  await provider.video(VIDEO_MODELS.A).doGenerate({ ...OPTIONS, image } as GenerateOptions);
  assert.deepEqual(responses[0], [TASKS, 200]);
  const items = lastCreate()?.content as { type: string; role?: string }[];
  assert.deepEqual(
    items.map(({ type, role }) => [type, role]),
    [
      ['text', undefined],
      ['image_url', 'first_frame'],
    ],
  );
});

test('V 4.2: the AI SDK shows the message of an unsupported parameter', async () => {
  const { provider } = aiSdk(KEYS.ana);
  await assert.rejects(
    async () => provider.video(VIDEO_MODELS.EP).doGenerate({ ...OPTIONS, seed: 7 } as unknown as GenerateOptions),
    (error: Error & { statusCode?: number }) => error.statusCode === 400 && /seed/.test(error.message),
  );
});

/** What callers do with their own key beyond creating and reading: the price before a task, callback deliveries, and signed links. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createByteDance } from '@ai-sdk/bytedance';
import { experimental_generateVideo } from 'ai';
import { sql } from 'kysely';
import { parseNanos } from '../../src/core/index.ts';
import type { Db } from '../../src/platform/db/index.ts';
import { isSignedBy, Receiver } from '../support/callbacks.ts';
import { openai } from '../support/sdk.ts';
import {
  callVideo,
  KEYS,
  startVideo,
  TASKS,
  taskBody,
  textItem,
  VIDEO_MODELS,
  type VideoFixture,
} from '../support/video.ts';
import { openJobs, type VideoJobs } from '../support/video-jobs.ts';
import { addUser } from '../support/video-tasks.ts';
import { until } from '../support/wait.ts';

const LINK_SECONDS = 600;

let receiver: Receiver;
let fixture: VideoFixture;
let jobs: VideoJobs;
let db: Db;
before(async () => {
  receiver = await new Receiver().listen();
  fixture = await startVideo({
    video: { queuedMs: 20, runningMs: 20 },
    env: { EGRESS_ALLOW: receiver.origin, RESULT_LINK_SECONDS: String(LINK_SECONDS) },
  });
  jobs = await openJobs(fixture.gateway);
  ({ db } = fixture.gateway.context.database);
});
after(async () => {
  await jobs.close();
  await fixture.close();
  receiver.close();
});

const call = (path: string, request: Parameters<typeof callVideo>[2] = {}) =>
  callVideo(fixture.gateway.url, path, request);
const post = (path: string, request: Parameters<typeof callVideo>[2] = {}) =>
  call(path, { method: 'POST', ...request });

async function create(words: string, more: object = {}): Promise<string> {
  const { status, body } = await call(TASKS, { body: taskBody('EP', { content: [textItem(words)], ...more }) });
  assert.equal(status, 200, JSON.stringify(body));
  return String(body.id);
}

async function succeed(more: object = {}): Promise<string> {
  const id = await create('A lighthouse', more);
  await until('success', async () => {
    await jobs.run('tasks.follow');
    return (await call(`${TASKS}/${id}`)).body.status === 'succeeded';
  });
  return id;
}

// ---------------------------------------------------------------- estimate

describe('an estimate', () => {
  test('is what the creation holds, with its arithmetic, and sends and holds nothing', async () => {
    const requests = fixture.sim.video.journal.requests.length;
    const held = async () => (await db.selectFrom('holds').select('nanos').execute()).length;
    const before = await held();
    for (const body of [
      taskBody('EP'),
      taskBody('A', { duration: -1, resolution: undefined }),
      taskBody('A', { duration: undefined, frames: 100, ratio: 'adaptive' }),
    ]) {
      const { status, body: estimate } = await post(`${TASKS}/estimate`, { body });
      assert.equal(status, 200, JSON.stringify(estimate));
      const { tokens, pixels, frames, price, max_cost, multipliers } = estimate;
      assert.deepEqual([estimate.object, estimate.currency, estimate.model], ['task_estimate', 'USD', body.model]);
      assert.equal(tokens, Math.ceil((Number(pixels) * Number(frames)) / 1_024));
      assert.deepEqual([price, multipliers], ['7', ['1', '1']]);
      assert.equal(parseNanos(String(max_cost)), (BigInt(Number(tokens)) * 7_000_000_000n) / 1_000_000n);
      assert.equal(await held(), before);
      assert.equal(fixture.sim.video.journal.requests.length, requests);
    }
    const id = await create('A lighthouse');
    const { nanos } = await db
      .selectFrom('holds')
      .select('nanos')
      .where('reference', '=', `task:${id}`)
      .executeTakeFirstOrThrow();
    const { body } = await post(`${TASKS}/estimate`, { body: taskBody('EP') });
    assert.equal(parseNanos(String(body.max_cost)), nanos);
  });

  test('needs no balance, and takes the body of the compatible endpoint as well', async () => {
    assert.equal((await post(`${TASKS}/estimate`, { body: taskBody('EP'), key: KEYS.poor })).status, 200);
    const body = { model: 'demo-video-2-0-ep', prompt: 'A lighthouse', seconds: '5', size: '864x496' };
    const { status, body: estimate } = await post('/v1/videos/estimate', { body });
    assert.deepEqual([status, estimate.pixels, estimate.frames], [200, 864 * 496, 121]);
  });

  test('rejects what the creation rejects', async () => {
    const codeOf = async (body: object) => {
      const { status, body: answer } = await post(`${TASKS}/estimate`, { body });
      return [status, answer.error?.code];
    };
    assert.deepEqual(await codeOf(taskBody('EP', { duration: 3 })), [400, 'invalid_request']);
    assert.deepEqual(await codeOf(taskBody('EP', { seed: 1 })), [400, 'unsupported_video_parameter']);
    assert.deepEqual(await codeOf({ ...taskBody('EP'), model: 'none' }), [404, 'model_not_found']);
    const image = { type: 'image_url', image_url: { url: 'asset://asset_none' }, role: 'reference_image' };
    assert.deepEqual(await codeOf(taskBody('EP', { content: [textItem(), image] })), [404, 'asset_not_found']);
  });
});

// ---------------------------------------------------------------- progress

test('progress is what the provider reports, never goes back, and is 100 only at the end', async () => {
  const id = await create('[sim:progress=12; stuck=running]');
  const [upstream] = fixture.sim.video.tasks.all;
  const progressAt = async (percent: number) => {
    Object.assign(upstream?.plan ?? {}, { progress: percent });
    await jobs.run('tasks.follow');
    return until('the check', async () => (await call(`${TASKS}/${id}`)).body.progress);
  };
  await until('running', async () => {
    await jobs.run('tasks.follow');
    return (await call(`${TASKS}/${id}`)).body.status === 'running';
  });
  assert.equal((await call(`${TASKS}/${id}`)).body.progress, 12);
  await until('progress', async () => (await progressAt(40)) === 40);
  await until('progress', async () => (await progressAt(100)) === 99);
  assert.equal(await progressAt(70), 99);
  const { version } = await db
    .selectFrom('video_tasks')
    .select('version')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  assert.equal(version, 2);
});

// ---------------------------------------------------------------- callbacks

describe('callback deliveries', () => {
  interface Shown {
    readonly id: string;
    readonly state: string;
    readonly attempts: number;
    readonly last_status: number;
    readonly request?: { readonly body: string };
    readonly attempt_log?: readonly { readonly attempt: number; readonly status: number | null }[];
  }
  interface ShownList {
    readonly data: readonly Shown[];
    readonly last_id: string;
    readonly has_more: boolean;
  }
  const list = async (query: string, key?: string) =>
    (await call(`/v1/video-callbacks${query}`, { key })).body as unknown as ShownList;

  test('are listed, shown with request and answers, and delivered again', async () => {
    receiver.respond = () => 503;
    const id = await succeed({ callback_url: `${receiver.origin}/hook` });
    // An attempt counts from its beginning; it is over when its lease is.
    const attempted = await until('an attempt with its answer', async () => {
      await jobs.run('callbacks.deliver');
      const { rows } = await sql<{ event_id: string }>`
        select event_id from callback_events where task_id = ${id} and last_status = 503 and sending_until is null`.execute(
        db,
      );
      return rows[0];
    });
    const { data, has_more } = await list(`?task_id=${id}&state=pending&limit=1`);
    assert.equal(data.length, 1);
    const more = has_more ? (await list(`?task_id=${id}&limit=1&after=${data[0]?.id}`)).data : [];
    assert.notEqual(more[0]?.id, data[0]?.id);
    const event = attempted.event_id;
    await sql`update callback_events set sending_until = now() + interval '1 hour' where event_id = ${event}`.execute(
      db,
    );
    assert.equal((await post(`/v1/video-callbacks/${event}/redeliver`)).body.error?.code, 'callback_pending');
    await sql`update callback_events set sending_until = null, next_at = now() + interval '10 hours' where event_id = ${event}`.execute(
      db,
    );
    const soon = await post(`/v1/video-callbacks/${event}/redeliver`);
    assert.equal(soon.status, 202);
    assert.ok(Number(soon.body.next_attempt_at) <= Date.now() / 1_000 + 1, 'a waiting one is due at once');
    await sql`update callback_events set state = 'dead', finished_at = now() where task_id = ${id}`.execute(db);
    receiver.respond = () => 204;
    const again = await post(`/v1/video-callbacks/${event}/redeliver`);
    assert.deepEqual([again.status, again.body.state], [202, 'pending']);
    await until('the delivery', async () => {
      await jobs.run('callbacks.deliver');
      return (await call(`/v1/video-callbacks/${event}`)).body.state === 'delivered';
    });
    const detail = (await call(`/v1/video-callbacks/${event}`)).body as unknown as Shown;
    assert.equal(JSON.parse(detail.request?.body ?? '').data.id, id);
    const [last, ...others] = detail.attempt_log?.map(({ status }) => status) ?? [];
    assert.equal(last, 204);
    assert.deepEqual([...new Set(others)], [503]);
    assert.equal(detail.last_status, 204);
  });

  test('of other users are missing', async () => {
    const id = await succeed({ callback_url: `${receiver.origin}/mine` });
    const event = (await list(`?task_id=${id}`)).data[0]?.id ?? '';
    assert.deepEqual((await list(`?task_id=${id}`, KEYS.bob)).data, []);
    for (const [path, method] of [
      [`/v1/video-callbacks/${event}`, 'GET'],
      [`/v1/video-callbacks/${event}/redeliver`, 'POST'],
      ['/v1/video-callbacks/evt_none', 'GET'],
    ] as const)
      assert.equal((await call(path, { method, key: KEYS.bob })).body.error?.code, 'callback_not_found');
    assert.equal((await call(`/v1/video-callbacks?after=${event}`, { key: KEYS.bob })).status, 400);
    assert.equal((await call(`/v1/video-callbacks?after=${event}`)).status, 200);
  });

  test('are tried with a signed test event', async () => {
    receiver.reset();
    const id = await create('A lighthouse', { callback_url: `${receiver.origin}/test` });
    const { status, body } = await post(`/v1/videos/${id}/test-callback`);
    assert.deepEqual([status, body.delivered, body.status, body.task_id], [200, true, 200, id]);
    const sent = receiver.deliveries.find((one) => JSON.parse(one.body).event_id === body.id);
    assert.ok(sent && (await isSignedBy(KEYS.ana, sent)));
    const silent = await create('A lighthouse');
    assert.equal((await post(`/v1/videos/${silent}/test-callback`)).status, 400);
    assert.equal((await post(`/v1/videos/${id}/test-callback`, { key: KEYS.bob })).body.error?.code, 'task_not_found');
  });
});

// ---------------------------------------------------------------- signed links

describe('signed links', () => {
  const SIGNED = { 'x-gateway-links': 'signed' };
  interface Content {
    readonly video_url: string;
    readonly last_frame_url: string;
  }
  const links = async (id: string, key?: string) =>
    (await post(`/v1/videos/${id}/links`, { key })).body as unknown as Content & { expires_at: number };
  const statusOf = async (url: string) => (await fetch(url)).status;

  test('replace the addresses of a task only for callers that ask', async () => {
    const id = await succeed({ return_last_frame: true });
    const plain = (await call(`${TASKS}/${id}`)).body.content as Content;
    assert.equal(plain.video_url, `${fixture.gateway.url}/v1/videos/${id}/content`);
    assert.equal(await statusOf(plain.video_url), 401);
    const signed = (await call(`${TASKS}/${id}`, { headers: SIGNED })).body.content as Content;
    const listed = (await call(`${TASKS}?filter.task_ids=${id}`, { headers: SIGNED })).body.items as {
      content: Content;
    }[];
    for (const { video_url, last_frame_url } of [signed, listed[0]?.content as Content]) {
      const authorization = { authorization: `Bearer ${KEYS.ana}` };
      const [video, frame] = [await fetch(video_url), await fetch(last_frame_url)];
      assert.deepEqual([video.status, video.headers.get('content-type')], [200, 'video/mp4']);
      assert.match(frame.headers.get('content-type') ?? '', /^image\//);
      const own = await fetch(plain.video_url, { headers: authorization });
      assert.deepEqual(await video.bytes(), await own.bytes());
      for (const name of ['content-security-policy', 'cache-control', 'x-content-type-options'])
        assert.equal(video.headers.get(name), own.headers.get(name), name);
    }
    const part = await fetch(signed.video_url, { headers: { range: 'bytes=0-3' } });
    assert.deepEqual([part.status, (await part.bytes()).length], [206, 4]);
    assert.equal((await fetch(signed.video_url, { method: 'HEAD' })).status, 200);
    const other = await call(`${TASKS}/${id}`, { headers: { 'x-gateway-links': 'yes' } });
    assert.equal(other.body.error?.code, 'invalid_request');
  });

  test('work for one file of one task, until they expire', async () => {
    const [id, second] = [await succeed({ return_last_frame: true }), await succeed()];
    const begun = Date.now();
    const { video_url, expires_at } = await links(id);
    const signedAt = expires_at - LINK_SECONDS;
    assert.ok(signedAt >= Math.floor(begun / 1_000) && signedAt <= Math.ceil(Date.now() / 1_000));
    const url = new URL(video_url);
    assert.equal(await statusOf(url.href.replace(id, second)), 404);
    assert.equal(await statusOf(url.href.replace('/content', '/last-frame')), 404);
    assert.equal(await statusOf(`${url.origin}${url.pathname}`), 404);
    const token = url.searchParams.get('link') ?? '';
    const forged = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`;
    assert.equal(await statusOf(`${url.origin}${url.pathname}?link=${encodeURIComponent(forged)}`), 404);
    const { sealer } = fixture.gateway.context;
    const over = sealer.seal(
      JSON.stringify(['ana', 'key_1', 'content', 0, Math.floor(Date.now() / 1_000) - 1]),
      `video_tasks.result_link:${id}`,
    );
    assert.equal(await statusOf(`${url.origin}${url.pathname}?link=${encodeURIComponent(over)}`), 404);
    assert.equal(await statusOf(video_url), 200);
    const logged = JSON.stringify(fixture.gateway.log);
    assert.ok(!logged.includes(token) && !logged.includes(encodeURIComponent(token)), 'a link is in the log');
  });

  test('are revoked by their owner, with their key, and with their task', async () => {
    const id = await succeed();
    const first = await links(id);
    assert.equal((await call(`/v1/videos/${id}/links`, { method: 'DELETE', key: KEYS.bob })).status, 404);
    assert.equal((await call(`/v1/videos/${id}/links`, { method: 'DELETE' })).status, 204);
    assert.deepEqual([await statusOf(first.video_url), await statusOf((await links(id)).video_url)], [404, 200]);
    const key = await addUser(fixture.gateway, 'linked');
    await sql`update video_tasks set user_id = 'linked' where id = ${id}`.execute(db);
    const { video_url } = await links(id, key);
    assert.equal(await statusOf(video_url), 200);
    await sql`update keys set revoked_at = now() where user_id = 'linked'`.execute(db);
    assert.equal(await statusOf(video_url), 404);
    await sql`update video_tasks set user_id = 'ana' where id = ${id}`.execute(db);
    const last = await links(id);
    await sql`update video_tasks set deleted_at = now() where id = ${id}`.execute(db);
    assert.equal(await statusOf(last.video_url), 404);
  });

  test('are refused for a task without results', async () => {
    const id = await create('[sim:stuck=queued]');
    assert.equal((await post(`/v1/videos/${id}/links`)).body.error?.code, 'video_not_ready');
    const { status, body } = await call(`${TASKS}/${id}`, { headers: SIGNED });
    assert.deepEqual([status, body.content], [200, undefined]);
  });
});

// ---------------------------------------------------------------- client libraries

test('the AI SDK hands a signed link to its download hook, which has no key', async () => {
  const provider = createByteDance({
    baseURL: `${fixture.gateway.url}/api/v3`,
    apiKey: KEYS.ana,
    headers: { 'x-gateway-links': 'signed' },
    fetch: async (input, init) => {
      await jobs.run('tasks.follow');
      return fetch(input, init);
    },
  });
  const { video } = await experimental_generateVideo({
    model: provider.video(VIDEO_MODELS.EP),
    prompt: 'A lighthouse',
    aspectRatio: '16:9',
    duration: 5,
    providerOptions: { bytedance: { pollIntervalMs: 20 } },
    download: async ({ url }) => {
      const response = await fetch(url);
      return { data: await response.bytes(), mediaType: response.headers.get('content-type') ?? undefined };
    },
  });
  assert.equal(video.mediaType, 'video/mp4');
  assert.equal(Buffer.from(video.uint8Array).toString('latin1', 4, 8), 'ftyp');
});

test('the OpenAI SDK downloads the video and its thumbnail', async () => {
  const id = await succeed({ return_last_frame: true });
  const { videos } = openai(fixture.gateway.url, KEYS.ana);
  const content = await videos.downloadContent(id);
  assert.equal(Buffer.from(await content.arrayBuffer()).toString('latin1', 4, 8), 'ftyp');
  const thumbnail = await videos.downloadContent(id, { variant: 'thumbnail' });
  assert.match(thumbnail.headers.get('content-type') ?? '', /^image\//);
});

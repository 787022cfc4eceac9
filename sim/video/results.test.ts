import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type Sim, startSim } from '../index.ts';
import { mp4Info, TestClient } from './fixtures.ts';

const DAY_MS = 24 * 3_600_000;

let sim: Sim;
let client: TestClient;

beforeEach(async () => {
  sim = await startSim({ video: { clock: 'manual', rateLimits: false, concurrency: 100 } });
  client = new TestClient(sim.video.url);
});

afterEach(() => sim.close());

/** Finishes a task and returns its content. */
async function finished(prompt: string, fields: object = {}): Promise<{ video_url: string; last_frame_url?: string }> {
  const id = await client.order(prompt, { resolution: '480p', ratio: '16:9', ...fields });
  await sim.video.clock.advance(12_000);
  return (await client.get(id)).body.content;
}

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

describe('a result', () => {
  test('is an MP4 of the requested size and length on the origin of the simulator', async () => {
    const { video_url: url } = await finished('A cat', { resolution: '720p', ratio: '21:9', duration: 6 });
    assert.match(
      url,
      new RegExp(`^${sim.url}/obj/[0-9a-f]+\\.mp4\\?.*X-Tos-Expires=86400&X-Tos-Signature=[0-9a-f]{64}&`),
    );
    const response = await fetch(url);
    assert.equal(response.headers.get('content-type'), 'video/mp4');
    const { width, height, seconds } = mp4Info(await bytesOf(response));
    assert.deepEqual([width, height, seconds], [1470, 630, 6]);
  });

  test('has a last frame only when requested, as PNG or as JPEG', async () => {
    assert.equal((await finished('A cat')).last_frame_url, undefined);
    for (const [trigger, type, signature] of [
      ['', 'image/png', '89504e47'],
      ['[sim:last_frame=jpeg]', 'image/jpeg', 'ffd8ffe0'],
    ] as const) {
      const { last_frame_url: url = '' } = await finished(`A cat ${trigger}`, { return_last_frame: true });
      const response = await fetch(url);
      assert.equal(response.headers.get('content-type'), type);
      assert.equal((await bytesOf(response)).toString('hex', 0, 4), signature);
    }
  });

  test('serves ranges and rejects those behind the end', async () => {
    const { video_url: url } = await finished('A cat');
    const whole = await fetch(url);
    assert.equal(whole.headers.get('accept-ranges'), 'bytes');
    const etag = whole.headers.get('etag') ?? '';
    const file = await bytesOf(whole);
    const size = file.length;
    const get = async (range: string, ifRange?: string) => {
      const response = await fetch(url, { headers: { range, ...(ifRange !== undefined && { 'if-range': ifRange }) } });
      return { status: response.status, range: response.headers.get('content-range'), body: await bytesOf(response) };
    };
    assert.deepEqual(await get('bytes=0-9'), { status: 206, range: `bytes 0-9/${size}`, body: file.subarray(0, 10) });
    assert.deepEqual((await get(`bytes=${size - 3}-`)).body, file.subarray(-3));
    assert.deepEqual((await get('bytes=-5')).body, file.subarray(-5));
    assert.deepEqual((await get(`bytes=5-${size * 2}`)).body, file.subarray(5));
    const { status, range } = await get(`bytes=${size}-`);
    assert.deepEqual([status, range], [416, `bytes */${size}`]);
    for (const ignored of ['bytes=5-2', 'items=0-1', 'bytes=0-1,4-5', 'bytes=-']) {
      assert.equal((await get(ignored)).status, 200);
    }
    assert.equal((await get('bytes=0-9', etag)).status, 206);
    assert.equal((await get('bytes=0-9', '"other"')).status, 200);
  });
});

describe('a result URL', () => {
  test('expires after a day with an XML error', async () => {
    const { video_url: url } = await finished('A cat');
    await sim.video.clock.advance(DAY_MS - 1);
    assert.equal((await fetch(url)).status, 200);
    await sim.video.clock.advance(1);
    const response = await fetch(url);
    assert.deepEqual([response.status, response.headers.get('content-type')], [403, 'application/xml']);
    assert.match(await response.text(), /<Code>AccessDenied<\/Code>/);
  });

  test('stays the same, is renewed with every read, or is dead from the start', async () => {
    const twice = async (trigger: string) => {
      const id = await client.order(trigger);
      await sim.video.clock.advance(12_000);
      const read = async () => (await client.get(id)).body.content.video_url;
      const urls = [await read(), await read()];
      await sim.video.clock.advance(DAY_MS);
      urls.push(await read());
      const statuses = await Promise.all(urls.map(async (url) => (await fetch(url)).status));
      return { isSame: new Set(urls).size === 1, statuses };
    };
    assert.deepEqual(await twice('stable'), { isSame: true, statuses: [403, 403, 403] });
    assert.deepEqual(await twice('[sim:urls=renewed]'), { isSame: false, statuses: [403, 403, 200] });
    const { video_url: url } = await finished('[sim:urls=dead]');
    assert.equal((await fetch(url)).status, 403);
  });

  test('works a limited number of times, and every range counts', async () => {
    sim.video.settings.downloadLimit = 3;
    const { video_url: url } = await finished('A cat');
    const statuses = [];
    for (let count = 0; count < 4; count++) {
      statuses.push((await fetch(url, { headers: { range: 'bytes=0-0' } })).status);
    }
    assert.deepEqual(statuses, [206, 206, 206, 403]);
    assert.equal(sim.video.downloads[url], 3);
  });

  test('must not be changed and is signed for GET only', async () => {
    const { video_url: url } = await finished('A cat');
    assert.equal((await fetch(url.replace('86400', '999999'))).status, 403);
    assert.equal((await fetch(url.replace('/obj/', '/obj/x'))).status, 403);
    assert.equal((await fetch(url, { method: 'HEAD' })).status, 403);
  });
});

describe('a download', () => {
  test('is cut in the middle as often as requested', async () => {
    const { video_url: url } = await finished('[sim:on=download; reset_mid; times=1]');
    const broken = await fetch(url);
    assert.equal(broken.status, 200);
    await assert.rejects(broken.arrayBuffer());
    assert.equal((await bytesOf(await fetch(url))).length > 1000, true);
  });

  test('arrives slowly but completely', async () => {
    const { video_url: url } = await finished('[sim:on=download; drip=1]');
    const started = performance.now();
    const file = await bytesOf(await fetch(url));
    assert.ok(performance.now() - started >= file.length / 1024);
    assert.equal(mp4Info(file).seconds, 5);
  });

  test('appears in the journal without an account', async () => {
    const { video_url: url } = await finished('A cat');
    await (await fetch(url)).arrayBuffer();
    const entry = await sim.video.journal.waitFor(({ operation }) => operation === 'download');
    assert.deepEqual([entry.account, entry.status, entry.taskId !== undefined], [undefined, 200, true]);
  });
});

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type Sim, startSim } from '../index.ts';
import { TestClient } from './fixtures.ts';
import { writeMp4 } from './mp4.ts';

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

describe('a result', () => {
  test('is an MP4 of the requested size and length on the origin of the simulator', async () => {
    const { video_url: url } = await finished('A cat', { resolution: '720p', ratio: '21:9', duration: 6 });
    assert.match(
      url,
      new RegExp(`^${sim.url}/obj/[0-9a-f]+\\.mp4\\?.*X-Tos-Expires=86400&X-Tos-Signature=[0-9a-f]{64}&`),
    );
    const response = await fetch(url);
    assert.equal(response.headers.get('content-type'), 'video/mp4');
    const file = Buffer.from(await response.arrayBuffer());
    // The bars begin at another place for each task.
    const possible = Array.from({ length: 8 }, (_, shift) =>
      writeMp4({ width: 1470, height: 630, frames: 144, shift }),
    );
    assert.ok(possible.some((one) => one.equals(file)));
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
  test('appears in the journal without an account', async () => {
    const { video_url: url } = await finished('A cat');
    await (await fetch(url)).arrayBuffer();
    const entry = await sim.video.journal.waitFor(({ operation }) => operation === 'download');
    assert.deepEqual([entry.account, entry.status, entry.taskId !== undefined], [undefined, 200, true]);
  });
});

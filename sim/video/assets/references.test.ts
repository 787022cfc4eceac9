import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../index.ts';
import { TestClient } from '../fixtures.ts';
import { LibraryClient } from './fixtures.ts';

let sim: Sim;
let library: LibraryClient;

before(async () => {
  sim = await startSim({ video: { clock: 'manual', rateLimits: false, projects: ['default', 'film'] } });
  library = new LibraryClient(sim.video.libraryUrl);
});

after(() => sim.close());

/** The outcome of a task that refers to an asset. */
async function use(id: string, type = 'image', key = 'sk-simulated'): Promise<unknown[]> {
  const item = { type: `${type}_url`, [`${type}_url`]: { url: `asset://${id}` }, role: `reference_${type}` };
  const { status, body } = await new TestClient(sim.video.url, key).create({ model: 'up-video', content: [item] });
  return status === 200 ? [200] : [status, body.error?.code, body.error?.param];
}

const REJECTED = [400, 'InvalidParameter', 'content[0].image_url.url'];

test('a task accepts only an active asset of its account and project', async () => {
  const id = await library.createAsset(await library.createGroup());
  assert.deepEqual(await use(id), REJECTED);
  await sim.video.clock.advance(3_000);
  assert.deepEqual(await use(id), [200]);
  assert.deepEqual(await use(id, 'image', 'sk-simulated-other'), REJECTED);
  assert.deepEqual(await use(id, 'image', 'sk-simulated.film'), REJECTED);
  sim.video.assets.vanish(id);
  assert.deepEqual(await use(id), REJECTED);
  const film = { ProjectName: 'film' };
  const group = await library.createGroup('Film', film);
  const inFilm = await library.createAsset(group, film);
  sim.video.assets.activate(inFilm);
  assert.deepEqual(await use(inFilm), REJECTED);
  assert.deepEqual(await use(inFilm, 'image', 'sk-simulated.film'), [200]);
  sim.video.assets.fail(inFilm, 'ContentRestricted');
  assert.deepEqual(await use(inFilm, 'image', 'sk-simulated.film'), REJECTED);
});

test('a task accepts only an asset of the type of its item', async () => {
  const group = await library.createGroup();
  const id = await library.createAsset(group, { AssetType: 'Video' });
  sim.video.assets.activate(id);
  assert.deepEqual(await use(id, 'video'), [200]);
  assert.deepEqual(await use(id), REJECTED);
});

test('a task accepts preset characters of every account as images', async () => {
  const [preset = ''] = sim.video.settings.presetAssets;
  assert.equal(sim.video.settings.presetAssets.length, 2);
  assert.deepEqual(await use(preset, 'image', 'sk-simulated-other.film'), [200]);
  assert.deepEqual((await use(preset, 'video'))[0], 400);
  assert.deepEqual(await use('asset-20260101000000-none2'), REJECTED);
  sim.video.settings.presetAssets = ['asset-20260101000000-none2'];
  assert.deepEqual(await use('asset-20260101000000-none2'), [200]);
  assert.deepEqual(await use(preset), REJECTED);
});

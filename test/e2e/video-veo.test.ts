/** Veo as the provider of video tasks: the caller's contract is the same, at the Gemini API and at Vertex AI. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { type GenerateVideosParameters, GoogleGenAI, VideoGenerationReferenceType } from '@google/genai';
import { sql } from 'kysely';
import { type Sim, serviceAccountKey, startSim, VERTEX } from '../../sim/index.ts';
import { VEO, VEO_FILE, VeoSim } from '../../sim/veo/veo-sim.ts';
import { applySetup, parseSetup } from '../../src/catalog/setup/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import type { Db } from '../../src/platform/db/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { callVideo, KEYS, TASKS, textItem } from '../support/video.ts';
import { openJobs, unrest, type VideoJobs } from '../support/video-jobs.ts';
import { until } from '../support/wait.ts';

const GEMINI = 'veo-3.1-generate-preview';
const CLOUD = 'veo-3.1-generate-001';
/** Dollars for a second, silent and with sound. */
const PRICES = {
  per_video_second: { '720p': '0.2', '1080p': '0.2', '4k': '0.4' },
  per_video_second_with_audio: { '720p': '0.4', '1080p': '0.4', '4k': '0.6' },
};
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=',
  'base64',
);
const PNG_URL = `data:image/png;base64,${PNG.toString('base64')}`;

let veo: VeoSim;
let sim: Sim;
let gateway: TestGateway;
let jobs: VideoJobs;
let db: Db;
const pictures = createServer((_, response) => response.writeHead(200, { 'content-type': 'image/png' }).end(PNG));

const cloudOf = (url: string) => ({
  kind: 'vertex',
  auth: 'service-account',
  project: VERTEX.project,
  location: 'europe-west1',
  storage: VEO.bucket,
  storage_url: url,
});
const setupOf = (url: string, tokens: string) => ({
  groups: [
    { id: 'openai', style: 'responses' },
    { id: 'gemini', style: 'video', variant: 'A', name: 'Gemini' },
    { id: 'vertex', style: 'video', variant: 'A', name: 'Vertex' },
  ],
  accounts: [
    { id: 'oa1', group: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-upstream' },
    { id: 'gemini-1', group: 'gemini', adapter: 'veo', base_url: url, api_key: VEO.apiKey },
    { id: 'vertex-1', group: 'vertex', adapter: 'veo', base_url: url, api_key: tokens, cloud: cloudOf(url) },
  ],
  models: [
    { id: GEMINI, groups: ['gemini'], prices: PRICES },
    { id: CLOUD, groups: ['vertex'], prices: PRICES },
    { id: 'missing-veo', groups: ['vertex'], prices: PRICES, capabilities: { extends: 'veo-3.1' } },
  ],
  users: [{ id: 'ana', email: 'ana@example.test', balance: '1000' }],
  keys: [{ user: 'ana', group: 'openai', name: 'one', key: KEYS.ana }],
});

before(async () => {
  veo = await new VeoSim().start();
  sim = await startSim();
  pictures.listen(0, '127.0.0.1');
  await once(pictures, 'listening');
  const port = new URL(veo.url).port;
  gateway = await startGateway({
    env: {
      ADMIN_TOKEN,
      EGRESS_ALLOW: `http://localhost:${port},http://127.0.0.1:${(pictures.address() as AddressInfo).port}`,
    },
    setup: setupOf(veo.url, serviceAccountKey(sim.url)),
  });
  jobs = await openJobs(gateway);
  ({ db } = gateway.context.database);
});
beforeEach(() => {
  veo.journal.length = 0;
});
after(async () => {
  await jobs.close();
  await gateway.stop();
  await sim.close();
  veo.close();
  pictures.close();
});

const create = (model: string, more: object = {}, prompt = 'A lighthouse at dusk') =>
  callVideo(gateway.url, TASKS, { body: { model, content: [textItem(prompt)], ...more } });
const read = async (id: unknown) => (await callVideo(gateway.url, `${TASKS}/${id}?include=charge`)).body;
const bodyOf = (call: 'create' | 'poll' = 'create') => veo.calls(call).at(-1)?.body;
const rested = async (): Promise<void> => {
  assert.deepEqual(await unrest(db), []);
  await checkLedger(db);
};

/** Follows the task to its end. */
async function finished(id: unknown): Promise<Record<string, unknown>> {
  await until('the end of the task', async () => {
    await jobs.run('tasks.follow');
    return ['succeeded', 'failed'].includes(String((await read(id)).status));
  });
  return read(id);
}

test('a task at the Gemini API succeeds, is charged by the second, and its result comes without the key of the account', async () => {
  const { status, body } = await create(GEMINI, { duration: 6, resolution: '1080p', ratio: '9:16', seed: 7 });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(veo.calls('create').at(-1)?.path, `/v1beta/models/${GEMINI}:predictLongRunning`);
  assert.deepEqual(bodyOf(), {
    instances: [{ prompt: 'A lighthouse at dusk' }],
    parameters: { sampleCount: 1, durationSeconds: 6, aspectRatio: '9:16', resolution: '1080p', seed: 7 },
  });
  const task = await finished(body.id);
  assert.equal(task.status, 'succeeded');
  assert.deepEqual(
    [task.duration, task.resolution, task.ratio, task.usage, task.generate_audio],
    [6, '1080p', '9:16', undefined, true],
  );
  const { state, charged, unit, count, tokens, rate } = task.charge as Record<string, unknown>;
  assert.deepEqual([state, charged, unit, count, tokens, rate], ['settled', '2.4', 'seconds', 6, null, '0.4']);
  const file = await fetch(`${gateway.url}/v1/videos/${body.id}/content`, {
    headers: { authorization: `Bearer ${KEYS.ana}`, range: 'bytes=4-11' },
  });
  assert.equal(file.status, 206, await file.clone().text());
  assert.deepEqual(Buffer.from(await file.arrayBuffer()), VEO_FILE.subarray(4, 12));
  assert.equal(veo.calls('download').at(-1)?.headers['x-goog-api-key'], VEO.apiKey);
  assert.equal(veo.calls('media').at(-1)?.headers['x-goog-api-key'], undefined, 'the redirect has no key');
  await rested();
});

test('an uploaded file reaches a provider that takes only bytes as its bytes', async () => {
  const form = new FormData();
  form.set('purpose', 'vision');
  form.set('file', new File([PNG], 'a.png', { type: 'image/png' }));
  const headers = { authorization: `Bearer ${KEYS.ana}` };
  const { id } = (await (await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form })).json()) as {
    id: string;
  };
  const content = [textItem('A lighthouse'), { type: 'image_url', image_url: { url: id } }];
  const { status, body } = await create(GEMINI, { content });
  assert.equal(status, 200, JSON.stringify(body));
  const { instances } = bodyOf() as { instances: { image: object }[] };
  assert.deepEqual(instances[0]?.image, { mimeType: 'image/png', bytesBase64Encoded: PNG.toString('base64') });
  await finished(body.id);
});

test('a task at Vertex AI puts its video into the bucket of the account, which the account signs in to', async () => {
  const { status, body } = await create(CLOUD, { generate_audio: false });
  assert.equal(status, 200, JSON.stringify(body));
  const place = `/v1/projects/${VERTEX.project}/locations/europe-west1/publishers/google/models/${CLOUD}`;
  assert.equal(veo.calls('create').at(-1)?.path, `${place}:predictLongRunning`);
  const task = await finished(body.id);
  assert.equal(veo.calls('poll').at(-1)?.path, `${place}:fetchPredictOperation`);
  assert.equal(task.status, 'succeeded', JSON.stringify(task));
  const { charged, count, rate } = task.charge as Record<string, unknown>;
  assert.deepEqual(
    [charged, count, rate],
    ['1.6', 8, '0.2'],
    'without sound, at the length that the model takes itself',
  );
  const file = await fetch(`${gateway.url}/v1/videos/${body.id}/content`, {
    headers: { authorization: `Bearer ${KEYS.ana}` },
  });
  assert.equal(file.status, 200, await file.clone().text());
  assert.deepEqual(Buffer.from(await file.arrayBuffer()), VEO_FILE);
  await rested();
});

test('requests have the form that the SDK of Google gives them, and the SDK reads the same operations', async () => {
  const image = { imageBytes: PNG.toString('base64'), mimeType: 'image/png' };
  const item = (role: string, url = PNG_URL) => ({ type: 'image_url', image_url: { url }, role });
  const picture = `http://127.0.0.1:${(pictures.address() as AddressInfo).port}/a.png`;
  const config = { numberOfVideos: 1, durationSeconds: 8, outputGcsUri: VEO.bucket, generateAudio: true };
  const cases: readonly (readonly [object, Partial<GenerateVideosParameters>])[] = [
    [
      { content: [textItem('one'), item('first_frame'), item('last_frame', picture)], ratio: '9:16' },
      {
        source: { prompt: 'one', image },
        config: { ...config, aspectRatio: '9:16', resolution: '720p', lastFrame: image },
      },
    ],
    [
      {
        content: [textItem('two'), item('reference_image'), item('reference_image', picture)],
        ...{ resolution: '4k', seed: 3, negative_prompt: 'rain "and" snow', person_generation: 'allow_adult' },
      },
      {
        source: { prompt: 'two' },
        config: {
          ...{ ...config, aspectRatio: '16:9', resolution: '4k', seed: 3 },
          ...{ negativePrompt: 'rain "and" snow', personGeneration: 'allow_adult' },
          referenceImages: [image, image].map((one) => ({
            image: one,
            referenceType: VideoGenerationReferenceType.ASSET,
          })),
        },
      },
    ],
  ];
  const form = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange' });
  form.set('audience', VERTEX.audience);
  form.set('subject_token_type', 'urn:ietf:params:oauth:token-type:jwt');
  form.set('subject_token', VERTEX.federatedToken);
  const answer = await fetch(`${sim.url}/v1/token`, { method: 'POST', body: form });
  const { access_token } = (await answer.json()) as { access_token: string };
  const sdk = new GoogleGenAI({
    vertexai: true,
    project: VERTEX.project,
    location: 'europe-west1',
    googleAuthOptions: { authClient: { getRequestHeaders: async () => new Headers() } as never },
    httpOptions: { baseUrl: veo.url, apiVersion: 'v1', headers: { authorization: `Bearer ${access_token}` } },
  });
  for (const [more, parameters] of cases) {
    const { status, body } = await create(CLOUD, more);
    assert.equal(status, 200, JSON.stringify(body));
    const ours = bodyOf();
    let operation = await sdk.models.generateVideos({ model: CLOUD, ...parameters });
    assert.deepEqual(ours, bodyOf());
    while (!operation.done) operation = await sdk.operations.getVideosOperation({ operation });
    assert.ok(operation.response?.generatedVideos?.[0]?.video?.uri?.startsWith(VEO.bucket));
    assert.equal((await finished(body.id)).status, 'succeeded');
  }
  await rested();
});

test('failures of an operation are failures of the task in the words of the contract, and cost nothing', async () => {
  for (const [word, code] of [
    ['blocked', 'input_content_rejected'],
    ['rai', 'output_content_rejected'],
    ['empty', 'upstream_error'],
    ['error=3', 'invalid_video_parameter'],
    ['error=8', 'upstream_rate_limited'],
    ['error=13', 'upstream_error'],
  ] as const)
    for (const model of [GEMINI, CLOUD]) {
      const { status, body } = await create(model, {}, `Order [[${word}]]`);
      assert.equal(status, 200, `${word}: ${JSON.stringify(body)}`);
      const task = await finished(body.id);
      assert.equal((task.error as { code: string }).code, code, `${model} ${word}`);
      assert.equal((task.charge as { state: string }).state, 'released', word);
    }
  await rested();
});

test('a create whose answer is lost is never sent again, and is given up after a day: nothing can be listed', async () => {
  const before = veo.created;
  const faults = [
    { on: 'create', kind: 'lost' },
    { on: 'create', kind: 'no_name' },
    { on: 'create', kind: 'html', status: 502 },
    { on: 'create', kind: 'error', status: 503 },
    { on: 'create', kind: 'error_in_success', status: 200 },
  ] as const;
  const ids: unknown[] = [];
  for (const fault of faults) {
    veo.next(fault);
    const { status, body } = await create(CLOUD);
    assert.equal(status, 202, `${fault.kind}: ${JSON.stringify(body)}`);
    ids.push(body.id);
  }
  for (let n = 0; n < 3; n += 1) await jobs.run('tasks.reconcile');
  assert.equal(veo.calls('create').length, faults.length);
  assert.equal(veo.created - before, 1, 'the one whose answer was lost');
  for (const id of ids) assert.equal((await read(id)).status, 'queued');
  await sql`update video_tasks set created_at = now() - interval '25 hours' where submission = 'unknown'`.execute(db);
  await jobs.run('tasks.reconcile');
  for (const id of ids) {
    const task = await read(id);
    assert.equal((task.error as { code: string }).code, 'submission_failed');
    assert.equal((task.charge as { state: string }).state, 'released');
  }
  assert.equal(veo.calls('create').length, faults.length);
  await rested();
});

test('an operator assigns the operation of a lost answer by its name', async () => {
  veo.next({ on: 'create', kind: 'lost' });
  const { status, body } = await create(CLOUD);
  assert.equal(status, 202);
  const name = `projects/${VERTEX.project}/locations/europe-west1/publishers/google/models/${CLOUD}/operations/op${veo.created}`;
  const assigned = await adminApi(() => gateway.url)('POST', `/submissions/${body.id}/assign`, {
    upstream_task: name,
    reason: 'seen in the log of the project',
  });
  assert.equal(assigned.status, 200, JSON.stringify(assigned.body));
  const task = await finished(body.id);
  assert.deepEqual([task.status, (task.charge as { charged: string }).charged], ['succeeded', '3.2']);
  await rested();
});

test('what Veo cannot do is refused before anything is sent', async () => {
  const image = (role: string) => ({ type: 'image_url', image_url: { url: PNG_URL }, role });
  for (const [model, more, param] of [
    [CLOUD, { duration: 5 }, 'duration'],
    [CLOUD, { ratio: '1:1' }, 'ratio'],
    [CLOUD, { resolution: '480p' }, 'resolution'],
    [CLOUD, { watermark: true }, 'watermark'],
    [CLOUD, { content: [textItem(), ...Array.from({ length: 4 }, () => image('reference_image'))] }, 'content[4].role'],
    [CLOUD, { content: [textItem(), image('reference_image')], duration: 4 }, 'duration'],
    [GEMINI, { generate_audio: false }, 'generate_audio'],
  ] as const) {
    const { status, body } = await create(model, more);
    assert.equal(status, 400, JSON.stringify(body));
    assert.ok(body.error?.message?.startsWith(`${param}: `), JSON.stringify(body));
  }
  assert.equal(veo.calls('create').length, 0);
  const { body } = await create(CLOUD);
  const cancelled = await callVideo(gateway.url, `${TASKS}/${body.id}`, { method: 'DELETE' });
  assert.equal(cancelled.body.error?.code, 'task_cancel_not_supported');
  await finished(body.id);
  await rested();
});

test('the hold is the most that the sheet allows, and the estimate shows it by its unit', async () => {
  const estimate = (more: object) =>
    callVideo(gateway.url, `${TASKS}/estimate`, { body: { model: CLOUD, content: [textItem('--dur 30')], ...more } });
  const { body } = await estimate({ resolution: '4k', duration: 6 });
  assert.deepEqual(
    [body.max_cost, body.unit, body.count, body.price, body.tokens],
    ['3.6', 'seconds', 6, '0.6', 0],
    JSON.stringify(body),
  );
  assert.equal((await estimate({ generate_audio: false })).body.max_cost, '1.6');
});

test('the configuration refuses a Veo account that could not work', async () => {
  const errorsOf = (account: object): Promise<string> =>
    applySetup(
      db,
      parseSetup(
        JSON.stringify({ accounts: [{ id: 'x', group: 'vertex', adapter: 'veo', base_url: veo.url, ...account }] }),
      ),
      { secrets: gateway.context.secrets },
    ).then(
      () => '',
      (error: Error) => error.message,
    );
  const { storage: _, ...noBucket } = cloudOf(veo.url);
  assert.match(await errorsOf({ api_key: '{}', cloud: noBucket }), /cloud\.storage: not found/);
  assert.match(await errorsOf({ api_key: 'k', cloud: { ...cloudOf(veo.url), auth: 'api-key' } }), /cloud\.auth/);
  assert.match(await errorsOf({ adapter: 'ark', api_key: '{}', cloud: cloudOf(veo.url) }), /only with the adapter veo/);
  const assets = { base_url: veo.url, access_key: 'a', secret_key: 's', region: 'r', project: 'p' };
  assert.match(await errorsOf({ api_key: 'k', assets }), /veo has no asset library/);
});

/** The last one: it parks the accounts. */
test('a create that was certainly refused is an error, also inside of a success; the hold is released', async () => {
  const quota = { on: 'create', status: 429, code: 'RESOURCE_EXHAUSTED' } as const;
  assert.equal((await create('missing-veo')).status, 503);
  for (const [model, fault, status, code] of [
    [
      GEMINI,
      { on: 'create', kind: 'error', status: 400, code: 'INVALID_ARGUMENT' },
      400,
      'unsupported_video_parameter',
    ],
    [GEMINI, { ...quota, kind: 'error' }, 429, 'rate_limit_exceeded'],
    [CLOUD, { ...quota, kind: 'error_in_success' }, 429, 'rate_limit_exceeded'],
  ] as const) {
    veo.next(fault);
    const { status: got, body } = await create(model);
    assert.deepEqual([got, body.error?.code], [status, code], JSON.stringify(body));
  }
  await rested();
});

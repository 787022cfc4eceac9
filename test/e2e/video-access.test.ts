/** Credentials of the video API, and what its requests leave in the log and in the metrics. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type ApiResponse,
  callVideo,
  KEYS,
  startVideo,
  TASKS,
  TEST_VARIANTS,
  taskBody,
  textItem,
  type VideoFixture,
} from '../support/video.ts';

let fixture: VideoFixture;
before(async () => {
  fixture = await startVideo();
});
after(() => fixture.close());

const createTask = (more: object = {}, headers: Record<string, string> = {}): Promise<ApiResponse> =>
  callVideo(fixture.gateway.url, TASKS, { body: taskBody('EP', more), headers });
const send = (path: string, init: RequestInit = {}): Promise<Response> => fetch(fixture.gateway.url + path, init);

test('V 5 r1: every task operation needs a token', async () => {
  const requests: readonly (readonly [string, string])[] = [
    ['POST', TASKS],
    ['GET', TASKS],
    ['GET', `${TASKS}/task_1`],
    ['DELETE', `${TASKS}/task_1`],
    ['POST', '/v1/videos'],
    ['GET', '/v1/videos'],
    ['GET', '/v1/videos/task_1'],
    ['DELETE', '/v1/videos/task_1'],
  ];
  for (const [method, path] of requests) {
    const response = await send(path, { method });
    const { error } = (await response.json()) as { error: { code: string } };
    assert.deepEqual([response.status, error.code], [401, 'invalid_api_key'], `${method} ${path}`);
  }
});

test('V 5 r2: only a token of this service opens the video API, also in the header of the messages SDK', async () => {
  const withHeaders = async (headers: Record<string, string>) => (await send(TASKS, { headers })).status;
  assert.equal(await withHeaders({ 'x-api-key': KEYS.ana }), 200);
  assert.equal(await withHeaders({ authorization: 'Bearer sk-simulated-ep' }), 401, 'a credential of the provider');
  assert.equal((await send(`${TASKS}?key=${KEYS.ana}`)).status, 401, 'a token in the query');
});

test('V 5 r3: all tokens of the owner reach a task, and those of other users do not', async () => {
  const { body } = await createTask();
  const statusFor = async (key: string) =>
    (await callVideo(fixture.gateway.url, `${TASKS}/${String(body.id)}`, { key })).status;
  assert.deepEqual([await statusFor(KEYS.ana2), await statusFor(KEYS.onlyEp)], [200, 200]);
  assert.equal(await statusFor(KEYS.bob), 404);
});

const PROMPT = 'A-PROMPT-THAT-MUST-STAY-PRIVATE';
const MEDIA = 'https://example.com/media-that-must-stay-private.png';

test('a video request logs the task and the model, and nothing of the prompt, the media or the Idempotency-Key', async () => {
  const content = [textItem(PROMPT), { type: 'image_url', image_url: { url: MEDIA } }];
  const order = 'an-order-number-that-must-stay-private';
  const { status, body } = await createTask({ content }, { 'idempotency-key': order });
  assert.equal(status, 200, JSON.stringify(body));
  const id = String(body.id);
  for (const variant of TEST_VARIANTS)
    for (const words of ['sync_400=InvalidParameter.Foo', 'sync_400=InputTextSensitiveContentDetected'])
      await callVideo(fixture.gateway.url, TASKS, {
        body: taskBody(variant, { content: [textItem(`${PROMPT} [sim:${words}]`)] }),
      });
  await createTask({ content, model: PROMPT });
  await createTask({ content, [PROMPT]: PROMPT });
  for (const method of ['GET', 'DELETE']) await callVideo(fixture.gateway.url, `${TASKS}/${id}`, { method });
  await callVideo(fixture.gateway.url, `${TASKS}/${PROMPT}`);
  await callVideo(fixture.gateway.url, `${TASKS}?filter.model=${PROMPT}`);
  const lines = fixture.gateway.log.filter(({ msg, task }) => msg === 'request.completed' && task === id);
  assert.deepEqual(
    lines.map(({ op, model }) => [op, model]),
    [
      ['tasks.create', 'demo-video-2-0-ep'],
      ['tasks.get', 'demo-video-2-0-ep'],
      ['tasks.delete', undefined],
    ],
  );
  const log = JSON.stringify(fixture.gateway.log);
  for (const secret of [PROMPT, MEDIA, order]) assert.ok(!log.includes(secret), secret);
});

test('the secret path of a provider report is in no log line and in no metric', async () => {
  const { body } = await createTask();
  const sent = fixture.sim.video.journal.requests.findLast(({ operation }) => operation === 'create');
  const url = String((sent?.body as { callback_url?: unknown } | undefined)?.callback_url);
  const secret = url.split('/').at(-1) ?? '';
  assert.ok(url.startsWith(`${fixture.gateway.url}/upstream/callbacks/`) && secret.length >= 32, url);
  const path = `/upstream/callbacks/${secret}`;
  const json = { 'content-type': 'application/json' };
  const report = (target: string, text: string): Promise<Response> =>
    send(target, { method: 'POST', headers: json, body: text });
  assert.equal((await report(path, JSON.stringify({ id: body.id, status: 'running' }))).status, 200);
  // Unknown paths, other methods, malformed bodies and paths fail in different places.
  assert.equal((await report(`${path}x`, '{}')).status, 404);
  assert.equal((await send(path)).status, 405);
  // A secret may begin with a hyphen.
  const hyphened = `-${'a1'.repeat(15)}z`;
  assert.equal((await report(`/upstream/callbacks/${hyphened}`, '{}')).status, 404);
  assert.equal((await report(path, '{')).status, 200);
  assert.equal((await report(`${path}/x`, '{}')).status, 404);
  assert.equal((await report(`${path}%zz`, '{}')).status, 400);
  assert.equal((await report(`${path}?${secret}`, '{}')).status, 200);
  const metrics = await (await send('/metrics')).text();
  assert.match(metrics, /operation="provider\.report"/);
  const log = JSON.stringify(fixture.gateway.log);
  assert.ok(log.includes('provider.report'));
  assert.ok(!log.includes(secret), 'the log');
  assert.ok(!log.includes(hyphened.slice(1)), 'the log');
  assert.ok(!metrics.includes(secret), 'the metrics');
});

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { until } from '../../test/support/wait.ts';
import { type Sim, startSim } from '../index.ts';
import { TestClient, textBody } from './fixtures.ts';
import type { VideoEntry } from './journal.ts';
import { parseTrigger, splitModel } from './triggers.ts';

let sim: Sim;
let client: TestClient;

before(async () => {
  sim = await startSim({ video: { clock: 'manual', rateLimits: false, concurrency: 100 } });
  client = new TestClient(sim.video.url);
});

beforeEach(() => sim.video.journal.clear());

after(() => sim.close());

const advance = () => sim.video.clock.advance(12_000);
const createPath = () => `${sim.video.url}/contents/generations/tasks`;

/** Sends a create request whose response a fault may destroy. */
function send(prompt: string, signal?: AbortSignal): Promise<Response> {
  return fetch(createPath(), {
    method: 'POST',
    headers: { authorization: 'Bearer sk-simulated' },
    body: JSON.stringify(textBody(prompt)),
    ...(signal && { signal }),
  });
}

/** Sends a create request, and leaves when the journal shows that it has come as far as the test says. */
async function leave(prompt: string, isAt: (entry: VideoEntry) => boolean): Promise<void> {
  const gone = new AbortController();
  const before = sim.video.journal.creates.length;
  const left = assert.rejects(send(prompt, gone.signal));
  await until('the request', () => sim.video.journal.creates.slice(before).some(isAt));
  gone.abort();
  await left;
}

const created = () => sim.video.journal.creates.map(({ isCreated }) => isCreated);

describe('a rejected create', () => {
  test('has the requested status and code, and creates nothing', async () => {
    const codes = [
      'InputTextSensitiveContentDetected',
      'InvalidParameter.TaskTypeMismatch',
      'SensitiveContentDetected',
    ];
    for (const code of codes) {
      const { status, body } = await client.create(textBody(`A cat [sim:sync-400=${code}]`));
      assert.deepEqual([status, body.error?.code], [400, code]);
    }
    for (const [spec, status, code] of [
      ['error=QuotaExceeded', 429, 'QuotaExceeded'],
      ['error=ModelAccountTpmRateLimitExceeded', 429, 'ModelAccountTpmRateLimitExceeded'],
      ['error=AccountOverdueError', 403, 'AccountOverdueError'],
      ['error=OperationDenied.ServiceNotOpen', 403, 'OperationDenied.ServiceNotOpen'],
      ['error=ModelNotOpen', 404, 'ModelNotOpen'],
      ['fault=429', 429, 'RateLimitExceeded.EndpointRPMExceeded'],
      ['fault=500', 500, 'InternalServiceError'],
      ['status=503; error=ServerOverloaded', 503, 'ServerOverloaded'],
    ] as const) {
      const response = await client.create(textBody(`[sim:${spec}]`));
      assert.deepEqual([response.status, response.body.error?.code], [status, code]);
    }
    assert.equal(created().includes(true), false);
  });

  test('names the item that contains a real person', async () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' }, role: 'reference_image' };
    const code = 'InputImageSensitiveContentDetected.PrivacyInformation';
    const rejected = async (trigger: string) => {
      const { body } = await client.create({
        model: 'up-video-2-0',
        content: [{ type: 'text', text: trigger }, image, image],
      });
      return [body.error?.param, /content\[\d\] may contain real person/.exec(body.error?.message ?? '')?.[0]];
    };
    assert.deepEqual(await rejected(`[sim:sync_400=${code}]`), ['content[1]', 'content[1] may contain real person']);
    assert.deepEqual(await rejected(`[sim:sync_400=${code}; item=2]`), [
      'content[2]',
      'content[2] may contain real person',
    ]);
  });

  test('recovers after the requested number of times', async () => {
    const statuses = [];
    for (let count = 0; count < 3; count++) {
      statuses.push((await client.create(textBody('[sim:error=RequestBurstTooFast; times=2]'))).status);
    }
    assert.deepEqual(statuses, [429, 429, 200]);
  });

  test('is also requested by the model name, the header or a test', async () => {
    assert.equal((await client.create(textBody('A cat', { model: 'up-video@fault=503' }))).status, 503);
    assert.equal((await client.create(textBody('A cat'), { 'x-sim': 'error=ServerOverloaded' })).status, 429);
    sim.video.next('on=create; fault=500');
    assert.equal((await client.list()).status, 200);
    assert.equal((await client.create(textBody('A cat'))).status, 500);
    assert.equal((await client.create(textBody('A cat'))).status, 200);
    assert.throws(() => sim.video.next('stuck=queued'), RangeError);
  });

  test('explains an unknown trigger', async () => {
    const { status, body } = await client.create(textBody('[sim:explode]'));
    assert.equal(status, 400);
    assert.match(body.error?.message ?? '', /unknown trigger "explode"; known: status, error/);
  });
});

describe('a lost response', () => {
  test('is a 500 after the task was created', async () => {
    assert.equal((await send('[sim:fault=500; created]')).status, 500);
    assert.deepEqual(created(), [true]);
    const id = sim.video.journal.creates[0]?.taskId ?? '';
    assert.equal(await client.statusOf(id), 'queued');
  });

  test('never comes after the task was created', async () => {
    await leave('[sim:hang; created]', ({ outcome }) => outcome === 'hung');
    await leave('[sim:hang]', ({ outcome }) => outcome === 'hung');
    assert.deepEqual(created(), [true, false]);
    assert.deepEqual(
      sim.video.journal.creates.map(({ outcome }) => outcome),
      ['hung', 'hung'],
    );
  });

  test('is a reset before the head, with or without a task', async () => {
    await assert.rejects(send('[sim:reset]'));
    await assert.rejects(send('[sim:reset; created]'));
    assert.deepEqual(created(), [false, true]);
  });

  test('is a reset or an early end after the head', async () => {
    for (const kind of ['reset_mid', 'eof_mid']) {
      const response = await send(`[sim:${kind}]`);
      assert.equal(response.status, 200);
      await assert.rejects(response.text());
    }
    assert.deepEqual(created(), [true, true]);
    assert.equal(sim.video.journal.creates[0]?.outcome, 'cut');
  });

  test('is a complete response with half the JSON', async () => {
    const text = await (await send('[sim:truncated]')).text();
    assert.throws(() => JSON.parse(text), SyntaxError);
    assert.deepEqual(created(), [true]);
  });

  test('is an HTML page with status 200', async () => {
    const response = await send('[sim:html]');
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/html']);
    assert.match(await response.text(), /^<!doctype html>/);
    assert.deepEqual(created(), [false]);
  });

  test('is late, although the task was created at once', async () => {
    const started = performance.now();
    assert.equal((await send('[sim:slow=80]')).status, 200);
    assert.ok(performance.now() - started >= 79);
    await leave('[sim:slow=30000]', ({ isCreated }) => isCreated);
    assert.deepEqual(created(), [true, true]);
  });
});

describe('a read', () => {
  test('does not find the task once, then finds it', async () => {
    const id = await client.order('[sim:on=get; fault=404; times=1]');
    assert.deepEqual([(await client.get(id)).status, (await client.get(id)).status], [404, 200]);
  });

  test('goes back from running to queued once', async () => {
    const id = await client.order('[sim:backwards]');
    await sim.video.clock.advance(3000);
    const statuses = [];
    for (let count = 0; count < 4; count++) statuses.push(await client.statusOf(id));
    assert.deepEqual(statuses, ['running', 'queued', 'running', 'running']);
  });

  test('goes back from the end to running once', async () => {
    const id = await client.order('[sim:backwards=terminal]');
    await advance();
    const statuses = [];
    for (let count = 0; count < 3; count++) statuses.push(await client.statusOf(id));
    assert.deepEqual(statuses, ['succeeded', 'running', 'succeeded']);
  });

  test('reports an unknown status and no time of change', async () => {
    const id = await client.order('[sim:unknown_status=paused; no_updated_at]');
    await sim.video.clock.advance(3000);
    const { body } = await client.get(id);
    assert.deepEqual([body.status, 'updated_at' in body], ['paused', false]);
  });
});

describe('a task', () => {
  test('fails with the requested code, without content and usage', async () => {
    for (const code of [
      'OutputVideoSensitiveContentDetected.PolicyViolation',
      'OutputAudioSensitiveContentDetected',
      'InternalServiceError',
      'InvalidParameter.TaskTypeConstraint',
    ]) {
      const id = await client.order(`[sim:fail=${code}]`);
      await advance();
      const { body } = await client.get(id);
      assert.deepEqual([body.status, body.error?.code], ['failed', code]);
      assert.match(body.error?.message ?? '', /Request id: \S+$/);
      assert.deepEqual([body.content, body.usage], [undefined, undefined]);
    }
  });

  test('fails while it is queued', async () => {
    const id = await client.order('[sim:fail=InternalServiceError; fail_in=queued]');
    await sim.video.clock.advance(3000);
    assert.equal(await client.statusOf(id), 'failed');
  });

  test('succeeds without usage, with late usage or with invalid usage', async () => {
    const usageOf = async (spec: string, ms = 0) => {
      const id = await client.order(`[sim:${spec}]`, { ratio: '16:9' });
      await sim.video.clock.advance(12_000 + ms);
      return (await client.get(id)).body.usage;
    };
    assert.equal(await usageOf('usage=missing'), undefined);
    assert.equal(await usageOf('usage_after=60000'), undefined);
    assert.equal((await usageOf('usage_after=60000', 60_000))?.total_tokens, 108_900);
    assert.equal((await usageOf('usage=negative'))?.total_tokens, -108_900);
    assert.deepEqual(await usageOf('usage=unequal'), { completion_tokens: 108_900, total_tokens: 108_901 });
  });

  test('succeeds with another format than requested', async () => {
    const id = await client.order('[sim:resolution=1080p; ratio=1:1; duration=7]', { resolution: '480p', duration: 5 });
    await advance();
    const { resolution, ratio, duration, usage } = (await client.get(id)).body;
    assert.deepEqual([resolution, ratio, duration], ['1080p', '1:1', 7]);
    assert.equal(usage?.total_tokens, Math.floor((1440 * 1440 * 169) / 1024));
  });
});

describe('the trigger language', () => {
  test('joins words and rejects invalid values', () => {
    assert.deepEqual(parseTrigger('on=get; fault=500, times=2'), {
      fault: { on: 'get', status: 500, times: 2 },
      plan: {},
    });
    assert.deepEqual(parseTrigger('callbacks=shuffled+duplicated'), {
      plan: { callbacks: ['shuffled', 'duplicated'] },
    });
    for (const spec of ['times=x', 'on=never', 'resolution=8k', 'fail=lower', 'status=', 'on=get; times=1']) {
      assert.throws(() => parseTrigger(spec), RangeError);
    }
  });

  test('leaves an @ alone that introduces no trigger', () => {
    assert.deepEqual(splitModel('model@20260101'), { model: 'model@20260101', triggers: [] });
    assert.equal(splitModel('model@reset').model, 'model');
  });
});

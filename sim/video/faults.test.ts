import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type Sim, startSim } from '../index.ts';
import { TestClient, textBody } from './fixtures.ts';
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

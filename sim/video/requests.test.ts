import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Sim, startSim } from '../index.ts';
import { TestClient, textBody } from './fixtures.ts';

let sim: Sim;
let client: TestClient;

before(async () => {
  const models = { 'my-model': '2.0-mini', anything: 'open' } as const;
  sim = await startSim({ video: { clock: 'manual', queueLimit: 1000, models, accounts: { 'key-of-c': 'c' } } });
  client = new TestClient(sim.video.url);
});

after(() => sim.close());

/** The status, code and param of the response to a text request with these fields. */
async function outcome(fields: object): Promise<[number, string?, string?]> {
  const { status, body } = await client.create(textBody('A cat', fields));
  return body.error ? [status, body.error.code, body.error.param] : [status];
}

const UNSUPPORTED = 'InvalidParameter.UnsupportedParameter';
const CONSTRAINT = 'InvalidParameter.TaskTypeConstraint';

describe('credentials', () => {
  const statusOf = async (key: string) => {
    const { status, body } = await new TestClient(sim.video.url, key).create(textBody('A cat'));
    return [status, body.error?.code];
  };

  test('decide the account', async () => {
    sim.video.journal.clear();
    for (const key of ['sk-simulated', 'sk-simulated-b', 'key-of-c']) await statusOf(key);
    assert.deepEqual(
      sim.video.journal.creates.map(({ account }) => account),
      ['default', 'b', 'c'],
    );
  });

  test('are rejected with the codes of the provider', async () => {
    assert.deepEqual(await statusOf('sk-unknown'), [401, 'AuthenticationError']);
    assert.deepEqual(await statusOf('sk-forbidden'), [403, 'AccessDenied']);
    assert.deepEqual(await statusOf('sk-broke'), [403, 'AccountOverdueError']);
  });
});

test('an error has a code, a type, a parameter and a request id in its text and header', async () => {
  const response = await fetch(`${sim.video.url}/contents/generations/tasks`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-simulated' },
    body: JSON.stringify(textBody('A cat', { duration: 3 })),
  });
  const id = response.headers.get('x-request-id');
  const { error } = (await response.json()) as { error: object };
  assert.deepEqual(error, {
    code: 'InvalidParameter',
    message: `The parameter \`duration\` specified in the request is not valid: it must be between 4 and 15. Request id: ${id}`,
    param: 'duration',
    type: 'BadRequest',
  });
});

describe('parameters', () => {
  test('must be known and have the right type', async () => {
    assert.deepEqual(await outcome({ size: '1280x720' }), [400, 'InvalidParameter', 'size']);
    assert.deepEqual(await outcome({ model: '' }), [400, 'MissingParameter', 'model']);
    assert.deepEqual(await outcome({ content: [] }), [400, 'InvalidParameter', 'content']);
    for (const fields of [
      { duration: 16 },
      { duration: 4.5 },
      { duration: '5' },
      { ratio: '2:1' },
      { resolution: '8k' },
      { seed: -2 },
      { watermark: 'true' },
      { execution_expires_after: 3599 },
      { callback_url: 'not a URL' },
      { safety_identifier: 'x'.repeat(65) },
      { tools: [{ type: 'other' }] },
      { priority: 10 },
    ]) {
      assert.deepEqual(await outcome(fields), [400, 'InvalidParameter', Object.keys(fields)[0]]);
    }
  });

  test('that a family does not support are rejected', async () => {
    for (const fields of [{ frames: 29 }, { camera_fixed: false }, { draft: false }, { service_tier: 'flex' }]) {
      assert.deepEqual(await outcome(fields), [400, UNSUPPORTED, Object.keys(fields)[0]]);
    }
    for (const model of ['up-video-2-0-fast', 'up-video-2-0-mini', 'my-model']) {
      assert.deepEqual(await outcome({ model, resolution: '1080p' }), [400, UNSUPPORTED, 'resolution']);
    }
    const model = 'video-1-0-pro';
    assert.deepEqual(await outcome({ model, duration: -1 }), [400, 'InvalidParameter', 'duration']);
    assert.deepEqual(await outcome({ model, frames: 30 }), [400, 'InvalidParameter', 'frames']);
    assert.deepEqual(await outcome({ model, generate_audio: true }), [400, UNSUPPORTED, 'generate_audio']);
  });

  test('have no narrow limits in the family for clients that leave them to the provider', async () => {
    assert.deepEqual(await outcome({ model: 'anything', frames: 360 }), [200]);
    assert.deepEqual(await outcome({ model: 'anything', frames: 1, camera_fixed: true }), [200]);
  });

  test('can be overridden by old options in the prompt', async () => {
    const id = await client.order('A cat --rs 1080p --dur 12 --rt 1:1', { resolution: '480p', duration: 4 });
    const result = sim.video.tasks.get(id)?.outcome;
    assert.deepEqual([result?.resolution, result?.duration, result?.ratio], ['1080p', 12, '1:1']);
  });

  test('name a model that may not exist', async () => {
    assert.deepEqual((await outcome({ model: 'missing-model' })).slice(0, 2), [404, 'InvalidEndpointOrModel.NotFound']);
  });
});

describe('content', () => {
  const item = (type: string, url: string, role?: string) => ({
    type: `${type}_url`,
    [`${type}_url`]: { url },
    ...(role !== undefined && { role }),
  });
  const image = (role?: string) => item('image', 'https://example.com/a.png', role);
  const video = item('video', 'https://example.com/a.mp4', 'reference_video');
  const audio = item('audio', 'data:audio/wav;base64,AAAA', 'reference_audio');
  const codeOf = async (...content: object[]) => (await outcome({ content }))[1];

  test('is rejected when modes are mixed or incomplete', async () => {
    assert.equal(await codeOf(image(), image()), CONSTRAINT);
    assert.equal(await codeOf(image('last_frame')), CONSTRAINT);
    assert.equal(await codeOf(image('first_frame'), image('first_frame')), CONSTRAINT);
    assert.equal(await codeOf(image('first_frame'), image('reference_image')), CONSTRAINT);
    assert.equal(await codeOf({ type: 'text', text: 'A cat' }, audio), CONSTRAINT);
    assert.equal(await codeOf(...Array.from({ length: 10 }, () => image('reference_image'))), 'InvalidParameter');
    assert.equal(await codeOf(video, video, video, video), 'InvalidParameter');
  });

  test('is rejected when an item is malformed', async () => {
    assert.equal(await codeOf({ type: 'draft_task', draft_task: { id: 'x' } }), 'InvalidParameter');
    assert.equal(await codeOf({ type: 'text' }), 'MissingParameter');
    assert.equal(await codeOf({ type: 'image_url', image_url: 'https://example.com' }), 'MissingParameter');
    assert.equal(await codeOf({ ...image(), detail: 'high' }), 'InvalidParameter');
    assert.equal(await codeOf(image('reference_video')), 'InvalidParameter');
    assert.equal(await codeOf(item('image', '')), 'InvalidImageURL.EmptyURL');
    assert.equal(await codeOf(item('image', 'DATA:image/png;base64,AAAA')), 'InvalidImageURL.InvalidFormat');
    assert.equal(await codeOf(item('video', 'data:video/mp4;base64,AAAA', 'reference_video')), 'InvalidParameter');
    assert.equal(await codeOf(item('image', 'asset://')), 'InvalidParameter');
  });
});

describe('the journal', () => {
  test('counts create requests and created tasks per order', async () => {
    sim.video.journal.clear();
    const order = (prompt: string, name: string) =>
      client.create(textBody(prompt, { safety_identifier: name, callback_url: `http://127.0.0.1:9/cb/${name}` }));
    await order('one', 'order-1');
    await order('two', 'order-2');
    await order('two again', 'order-2');
    await order('[sim:fault=503]', 'order-3');
    const expected = {
      'order-1': { received: 1, created: 1 },
      'order-2': { received: 2, created: 2 },
      'order-3': { received: 1, created: 0 },
    };
    assert.deepEqual(sim.video.journal.countCreates('safetyIdentifier'), expected);
    assert.deepEqual(sim.video.journal.countCreates('callbackPath')['/cb/order-2'], { received: 2, created: 2 });
    const response = await fetch(`${sim.url}/_sim/journal`);
    const { creates } = (await response.json()) as { creates: { by_safety_identifier: object } };
    assert.deepEqual(creates.by_safety_identifier, expected);
  });

  test('describes a request and hides the credential', async () => {
    sim.video.journal.clear();
    const id = await client.order('A cat', { model: 'my-model' });
    await client.get(id);
    const [create, get] = sim.video.journal.requests;
    assert.deepEqual(create?.summary, { model: 'my-model', prompt: 'A cat', items: ['text'] });
    assert.match(create?.bodySha256 ?? '', /^[0-9a-f]{64}$/);
    assert.deepEqual([create?.taskId, create?.isCreated, create?.status], [id, true, 200]);
    assert.deepEqual([get?.operation, get?.taskId, get?.account], ['get', id, 'default']);
    assert.equal(JSON.stringify(sim.video.journal.requests).includes('sk-simulated'), false);
    const sent = await sim.video.journal.waitFor((entry) => entry.operation === 'get' && entry.outcome === 'sent');
    assert.equal(sent.taskId, id);
  });
});

test('settings change over HTTP, and unknown ones are rejected', async () => {
  const send = (body: object) =>
    fetch(`${sim.url}/_sim/settings`, { method: 'POST', body: JSON.stringify(body) }).then(({ status }) => status);
  assert.equal(await send({ queuedMs: 1 }), 200);
  assert.equal(sim.video.settings.queuedMs, 1);
  assert.equal(await send({ speed: 1 }), 400);
});

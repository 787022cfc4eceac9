/** The images endpoint on a generate-content group: off by default, and converted for models with the capability. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type OpenAI from 'openai';
import { BadRequestError, InternalServerError } from 'openai';
import sharp from 'sharp';
import { type Sim, startSim } from '../../sim/index.ts';
import { readBalance } from '../../src/ledger/index.ts';
import { PIXEL } from '../support/agent.ts';
import { type Canned, jsonResponse, sseResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { HeldClock } from '../support/held-clock.ts';
import { longTest } from '../support/long-test.ts';
import { openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

const MODEL = 'demo-generate-image';
const TOKENS = { input: '2', output: '10', image_output: '40' };
const ON = { capabilities: { imagesEndpoint: true } };
const PER_IMAGE = { input: '2', per_image: { '1024x1024': '0.04', '1376x768/auto': '0.05', '*': '1' } };
const MODELS = [
  // None may serve a request without a model: one has no price, one lacks the capability, one cannot draw.
  { id: 'unpriced-image', groups: ['gemini'], upstream: MODEL, free: false, ...ON },
  { id: 'other-image', groups: ['gemini'], upstream: MODEL, prices: TOKENS },
  { id: 'text-only', groups: ['gemini'], upstream: 'demo-generate', prices: TOKENS, ...ON },
  { id: MODEL, groups: ['gemini'], prices: TOKENS, ...ON },
  { id: 'piece', groups: ['gemini'], upstream: MODEL, prices: PER_IMAGE, ...ON },
  { id: `${MODEL}*`, groups: ['gemini'], prices: TOKENS, ...ON },
  { id: 'demo-*', groups: ['gemini'], prices: TOKENS },
];

/** How long the head of a stream waits for its first event. */
const HEAD_WAIT_MS = 10_000;
const clock = new HeldClock(HEAD_WAIT_MS);

let sim: Sim;
let provider: Canned;
let gateway: TestGateway;
let key: string;
let client: OpenAI;
/** On a provider whose responses the test writes. */
let scripted: OpenAI;
let scriptedKey: string;

before(async () => {
  sim = await startSim();
  provider = await startCanned();
  gateway = await startGateway({ clock, env: { HEARTBEAT_MS: '100' } });
  const setup = basicSetup(sim.url) as { accounts: object[] };
  const keys = await gateway.apply({ ...setup, models: MODELS });
  const account = { group: 'gemini', base_url: sim.url, api_key: 'sk-upstream-ge2' };
  await gateway.apply({ accounts: [{ id: 'ge2', ...account }] });
  key = keys.gemini ?? assert.fail('no key');
  client = openai(gateway.url, key);
  const own = await gateway.apply({
    groups: [{ id: 'canned', style: 'generate-content' }],
    accounts: [{ id: 'ca1', group: 'canned', base_url: provider.url, api_key: 'sk-canned-secret' }],
    models: [{ id: MODEL, groups: ['canned'], prices: TOKENS, ...ON }],
    keys: [{ user: 'ana', group: 'canned' }],
  });
  scriptedKey = own.canned ?? assert.fail('no key');
  scripted = openai(gateway.url, scriptedKey);
});
after(async () => {
  await gateway.stop();
  await provider.close();
  await sim.close();
});
afterEach(() => sim.journal.clear());

const decode = (base64: string | undefined) => sharp(Buffer.from(base64 ?? '', 'base64')).metadata();
const post = (body: object, path = '/v1/images/generations', as = key): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
type ErrorBody = { error: { code: string; param: string | null; message: string } };
type Json = Record<string, unknown>;
const sent = (): Json => JSON.parse(String(sim.journal.requests.at(-1)?.body)) as Json;

describe('without the capability', () => {
  for (const path of ['/v1/images/generations', '/images/generations'])
    test(`G 1 r4, G 4.1: POST ${path} is not supported by default, and no provider is called`, async () => {
      for (const model of ['other-image', 'demo-generate', 'text-only']) {
        const response = await post({ model, prompt: 'a lamp' }, path);
        const { error } = (await response.json()) as ErrorBody;
        assert.deepEqual([response.status, error.code], [404, 'endpoint_not_supported'], model);
        assert.match(error.message, /"gemini"/);
      }
      assert.deepEqual(sim.journal.requests, []);
    });

  test('a group without such a model does not even read the body', async () => {
    const keys = await gateway.apply({
      groups: [{ id: 'plain', style: 'generate-content' }],
      accounts: [{ id: 'pl1', group: 'plain', base_url: sim.url, api_key: 'sk-x' }],
      models: [{ id: MODEL, groups: ['plain'] }],
      keys: [{ user: 'ana', group: 'plain' }],
    });
    const response = await post({}, '/v1/images/generations', keys.plain);
    assert.equal(((await response.json()) as ErrorBody).error.code, 'endpoint_not_supported');
  });

  test('edits stay unsupported', async () => {
    const response = await post({ model: MODEL, prompt: 'x' }, '/v1/images/edits');
    assert.equal(((await response.json()) as ErrorBody).error.code, 'endpoint_not_supported');
  });
});

describe('pictures', () => {
  test('images.generate returns a file with its size, format and usage', async () => {
    const begun = Date.now();
    const { data: reply, response } = await client.images
      .generate({ model: MODEL, prompt: 'a lamp', size: '1280x720' })
      .withResponse();
    const { format, width, height } = await decode(reply.data?.[0]?.b64_json);
    assert.deepEqual([format, width, height], ['png', 1376, 768]);
    assert.deepEqual([reply.output_format, reply.size, reply.data?.length], ['png', '1376x768', 1]);
    assert.ok(reply.created >= Math.floor(begun / 1_000) && reply.created <= Math.ceil(Date.now() / 1_000));
    const { usage } = reply;
    assert.ok(usage && usage.input_tokens > 0);
    assert.deepEqual(usage.output_tokens_details, { text_tokens: 0, image_tokens: 1120 });
    assert.equal(usage.total_tokens, usage.input_tokens + 1120);
    assert.equal(response.headers.get('x-gateway-converted'), 'images->generate');
    assert.equal(response.headers.get('x-gateway-dropped'), null);
    assert.deepEqual(sent(), {
      contents: [{ role: 'user', parts: [{ text: 'a lamp' }] }],
      generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9' } },
    });
  });

  test('a stream has one completed event with the picture', async () => {
    const body = { model: MODEL, prompt: 'a lamp', size: '1024x1536' as const };
    const events = await Array.fromAsync(await client.images.generate({ ...body, stream: true }));
    assert.deepEqual(
      events.map(({ type }) => type),
      ['image_generation.completed'],
    );
    const [event] = events;
    assert.ok(event?.type === 'image_generation.completed');
    const { format, width, height } = await decode(event.b64_json);
    assert.deepEqual([format, width, height], ['png', 848, 1264]);
    assert.deepEqual([event.size, event.output_format, event.usage.output_tokens], ['848x1264', 'png', 1120]);
  });

  test('a stream has a heartbeat while the provider is silent', async () => {
    const reply = JSON.stringify(drawn([{ inlineData: { mimeType: 'image/png', data: PIXEL } }]));
    const heartbeat = Promise.withResolvers<void>();
    provider.respondWith(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(
        `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [] }, index: 0 }] })}\n\n`,
      );
      await heartbeat.promise;
      response.end(`data: ${reply}\n\n`);
    });
    const opened = post({ model: MODEL, prompt: 'a lamp', stream: true }, undefined, scriptedKey);
    let isOpen = false;
    void opened.then(() => {
      isOpen = true;
    });
    await until('the head', () => {
      clock.fire(HEAD_WAIT_MS);
      return isOpen;
    });
    const stream = await opened;
    let text = '';
    for await (const chunk of stream.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.startsWith(': hb\n\n')) heartbeat.resolve();
    }
    assert.match(text, /^(?:: hb\n\n)+event: image_generation\.completed\n/);
  });

  test('the root alias and a request without a model get the first model with the capability', async () => {
    for (const body of [{ prompt: 'a lamp' }, { prompt: 'a lamp', model: null }]) {
      const response = await post(body, '/images/generations');
      assert.equal(response.status, 200, await response.clone().text());
      assert.equal(response.headers.get('x-gateway-upstream-model'), MODEL);
      assert.equal(sim.journal.requests.at(-1)?.path, `/v1beta/models/${MODEL}:generateContent`);
    }
  });

  test('a request without a model is rejected where every such model is a pattern', async () => {
    const keys = await gateway.apply({
      groups: [{ id: 'patterns', style: 'generate-content' }],
      accounts: [{ id: 'pa1', group: 'patterns', base_url: sim.url, api_key: 'sk-x' }],
      models: [{ id: 'demo-*', groups: ['patterns'], ...ON }],
      keys: [{ user: 'ana', group: 'patterns' }],
    });
    const response = await post({ prompt: 'a lamp' }, '/v1/images/generations', keys.patterns);
    const { error } = (await response.json()) as ErrorBody;
    assert.deepEqual([response.status, error.param], [400, 'model']);
    assert.match(error.message, /required; GET \/v1\/models/);
  });

  longTest(
    'a preset of each tier is a picture of its ratio and tier, and auto is the choice of the provider',
    async () => {
      for (const [size, made] of [
        ['auto', '1024x1024'],
        ['1536x1024', '1264x848'],
        ['1664x1248', '2400x1792'],
        ['2160x3840', '3072x5504'],
      ] as const) {
        const reply = await client.images.generate({ model: MODEL, prompt: 'a lamp', size });
        const { width, height } = await decode(reply.data?.[0]?.b64_json);
        assert.deepEqual([`${width}x${height}`, reply.size], [made, made]);
      }
    },
  );

  test('a JPEG of the provider is named as one and not recoded, whatever was asked for', async () => {
    const jpeg = await sharp({ create: { width: 64, height: 32, channels: 3, background: '#abc' } })
      .jpeg()
      .toBuffer();
    const data = jpeg.toString('base64');
    provider.respondWith(jsonResponse(JSON.stringify(drawn([{ inlineData: { mimeType: 'image/jpeg', data } }]))));
    const { data: reply, response } = await scripted.images
      .generate({ model: MODEL, prompt: 'a lamp', output_format: 'webp' })
      .withResponse();
    assert.deepEqual([reply.data?.[0]?.b64_json, reply.output_format, reply.size], [data, 'jpeg', '64x32']);
    assert.equal(response.headers.get('x-gateway-dropped'), 'output_format');
  });
});

describe('fields that the model lacks', () => {
  test('are dropped by name, and their default values silently', async () => {
    const dropped = {
      quality: 'high',
      output_format: 'webp',
      output_compression: 40,
      background: 'opaque',
      moderation: 'low',
      user: 'u1',
      partial_images: 2,
      response_format: 'b64_json',
      style: 'vivid',
    };
    const response = await post({ model: MODEL, prompt: 'a lamp', n: 1, ...dropped });
    assert.equal(response.status, 200, await response.clone().text());
    assert.deepEqual(response.headers.get('x-gateway-dropped')?.split(','), Object.keys(dropped));
    assert.deepEqual(Object.keys(sent()), ['contents', 'generationConfig']);
    const defaults = { quality: 'auto', background: 'auto', moderation: 'auto', partial_images: 0, n: 1, user: null };
    const plain = await post({ model: MODEL, prompt: 'a lamp', ...defaults });
    assert.equal(plain.headers.get('x-gateway-dropped'), null);
  });

  test('are rejected before anything is sent or charged where a caller must know', async () => {
    const { available } = await readBalance(gateway.context.database.db, 'ana');
    for (const [body, param, code, advice] of [
      [{ n: 2 }, 'n', 'unsupported_parameter', /use 1/],
      [{ background: 'transparent' }, 'background', 'unsupported_parameter', /"auto"/],
      [{ size: '1000x999' }, 'size', 'unsupported_parameter', /"1024x1024"/],
      [{ size: '1300x720' }, 'size', 'unsupported_parameter', /"1280x720"/],
      [{ size: '256x256' }, 'size', 'unsupported_parameter', /"1024x1024"/],
      [{ size: '720x1680' }, 'size', 'unsupported_parameter', /"1024x1536"|"720x1280"/],
      [{ size: '3328x2496' }, 'size', 'invalid_value', /"3264x2448"/],
      [{ quality: 'hd' }, 'quality', 'invalid_value', /"high"/],
      [{ output_compression: 50 }, 'output_compression', 'invalid_value', /"jpeg"/],
      [{ prompt: '' }, 'prompt', 'invalid_value', /not empty/],
      [{ stream: 'yes' }, 'stream', 'invalid_value', /true or false/],
      [{ model: 7 }, 'model', 'invalid_request', /string/],
    ] as const) {
      const response = await post({ model: MODEL, prompt: 'a lamp', ...body });
      const { error } = (await response.json()) as ErrorBody;
      assert.deepEqual([response.status, error.param, error.code], [400, param, code], JSON.stringify(body));
      assert.match(error.message, advice);
      assert.ok(error.message.startsWith(`${param}: `), error.message);
    }
    assert.deepEqual(sim.journal.requests, []);
    assert.equal((await readBalance(gateway.context.database.db, 'ana')).available, available);
  });
});

test("a rejection by the provider names the caller's field", async () => {
  for (const [field, param] of [
    ['generation_config.image_config.image_size', 'size'],
    ['contents', 'prompt'],
  ]) {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field }] }];
    const error = { code: 400, message: 'Invalid value.', status: 'INVALID_ARGUMENT', details };
    provider.respondWith(jsonResponse(JSON.stringify({ error }), 400));
    const call = scripted.images.generate({ model: MODEL, prompt: 'a lamp', size: '2880x2880' });
    await assert.rejects(call, (thrown) => {
      assert.ok(thrown instanceof BadRequestError);
      assert.deepEqual([thrown.status, thrown.param], [400, param]);
      return true;
    });
  }
});

// ---------------------------------------------------------------- replies without a picture

const drawn = (parts: readonly object[], finishReason = 'STOP'): Json => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, finishReason }],
  usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 9, totalTokenCount: 16 },
  modelVersion: MODEL,
  responseId: 'r1',
});

describe('a reply without a picture', () => {
  const ask = { model: MODEL, prompt: 'a lamp' };

  test('is a content policy violation if the provider blocked it, unary and streamed', async () => {
    for (const prompt of ['please block this', 'please refuse this'])
      await assert.rejects(client.images.generate({ model: MODEL, prompt }), (error) => {
        assert.ok(error instanceof BadRequestError);
        assert.equal(error.code, 'content_policy_violation');
        return true;
      });
    // Nothing of a reply has arrived, so that the error keeps its status.
    const response = await post({ model: MODEL, prompt: 'please block this', stream: true });
    assert.equal(response.status, 400);
    assert.equal(((await response.json()) as { error: { code: string } }).error.code, 'content_policy_violation');
  });

  test("shows the provider's reason without the credential of the account", async () => {
    const reply = drawn([], 'IMAGE_SAFETY');
    const [candidate] = reply.candidates as Json[];
    const finishMessage = 'Unsafe for sk-canned-secret.';
    provider.respondWith(jsonResponse(JSON.stringify({ ...reply, candidates: [{ ...candidate, finishMessage }] })));
    await assert.rejects(scripted.images.generate(ask), ({ message }: Error) => {
      assert.match(message, /Unsafe for/);
      assert.doesNotMatch(message, /sk-canned-secret/);
      return true;
    });
  });

  test('is an upstream error with the stop reason if the model only wrote, and no SDK retries', async () => {
    const reply = drawn([{ text: 'I would rather not.' }], 'MAX_TOKENS');
    provider.respondWith(jsonResponse(JSON.stringify(reply)));
    await assert.rejects(scripted.images.generate(ask), (error) => {
      assert.ok(error instanceof InternalServerError);
      assert.deepEqual([error.status, error.code], [502, 'upstream_error']);
      assert.match(error.message, /without an image \(stop reason: length\)/);
      assert.equal(error.headers?.get('x-should-retry'), 'false');
      return true;
    });
    provider.respondWith(sseResponse(`data: ${JSON.stringify(reply)}\n\n`));
    const streamed = scripted.images.generate({ ...ask, stream: true });
    await assert.rejects(async () => void (await Array.fromAsync(await streamed)), /without an image/);
  });

  test('costs nothing, and the account serves the next request at once', async () => {
    const { keys, records } = await newUser('canned');
    const own = openai(gateway.url, keys);
    provider.respondWith(jsonResponse(JSON.stringify(drawn([{ text: 'No.' }]))));
    await assert.rejects(own.images.generate(ask));
    const png = (await client.images.generate(ask)).data?.[0]?.b64_json;
    const picture = { inlineData: { mimeType: 'image/png', data: png } };
    provider.respondWith(jsonResponse(JSON.stringify(drawn([picture, picture]))));
    assert.equal((await own.images.generate(ask)).data?.length, 2, 'every picture that was made is returned');
    const rows = await until('the record', async () => ((await records()).length > 0 ? records() : undefined));
    assert.deepEqual(
      rows.map(({ images, nanos }) => [images, nanos]),
      // Without details all output tokens are those of the pictures.
      [[2, 7n * 2_000n + 9n * 40_000n]],
    );
  });
});

// ---------------------------------------------------------------- metering

interface RecordRow {
  readonly nanos: bigint;
  readonly images: number;
  readonly estimated: boolean;
}
let users = 0;
async function newUser(group: string, balance = '10') {
  const user = `user-${++users}`;
  const created = await gateway.apply({ users: [{ id: user, balance }], keys: [{ user, group }] });
  const records = (): Promise<RecordRow[]> =>
    gateway.context.database.db
      .selectFrom('usage_records')
      .select(['nanos', 'images', 'estimated'])
      .where('user_id', '=', user)
      .where('fault', 'is', null)
      .execute() as Promise<RecordRow[]>;
  return { keys: created[group] ?? assert.fail('no key'), records };
}

async function charged<T>(call: (own: OpenAI) => Promise<T>): Promise<{ reply: T; record: RecordRow }> {
  const { keys, records } = await newUser('gemini');
  const reply = await call(openai(gateway.url, keys));
  return { reply, record: await until('the record', async () => (await records())[0]) };
}

describe('metering', () => {
  const ask = { prompt: 'a lamp', size: '1280x720' };

  test('reported tokens are charged at the rates of text in and images out, unary and streamed', async () => {
    const unary = await charged((own) => own.images.generate({ ...ask, model: MODEL, quality: 'high' }));
    const input = unary.reply.usage?.input_tokens ?? assert.fail('no usage');
    const streamed = await charged(async (own) =>
      Array.fromAsync(await own.images.generate({ ...ask, model: MODEL, stream: true })),
    );
    for (const { record } of [unary, streamed]) {
      assert.equal(record.nanos, BigInt(input) * 2_000n + 1120n * 40_000n);
      assert.deepEqual([record.images, record.estimated], [1, false]);
    }
  });

  test('a price per image is that of the size that was made', async () => {
    for (const [size, nanos] of [
      ['1280x720', 50_000_000n],
      ['auto', 40_000_000n],
      ['1024x1536', 1_000_000_000n],
    ] as const) {
      const { reply, record } = await charged((own) => own.images.generate({ ...ask, model: 'piece', size }));
      assert.equal(record.nanos - BigInt(reply.usage?.input_tokens ?? 0) * 2_000n, nanos, size);
      assert.equal(record.images, 1);
    }
  });

  test('without reported usage the charge is a marked estimate, and the response names none', async () => {
    const { reply, record } = await charged((own) => own.images.generate({ ...ask, model: `${MODEL}@usage=missing` }));
    assert.equal(reply.usage, undefined);
    assert.deepEqual([record.images, record.estimated], [1, true]);
    assert.ok(record.nanos > 1_000n * 40_000n && record.nanos < 2_000n * 40_000n, String(record.nanos));
  });

  test('a client that leaves a stream pays for the picture that the provider makes', async () => {
    const { keys, records } = await newUser('canned');
    const first = { candidates: [{ content: { role: 'model', parts: [{ text: 'Drawing.' }] }, index: 0 }] };
    provider.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(first)}\n\n`);
    });
    const stream = await openai(gateway.url, keys).images.generate({ ...ask, model: MODEL, stream: true });
    stream.controller.abort();
    const record = await until('the record', async () => (await records())[0]);
    assert.deepEqual([record.images, record.estimated, record.nanos], [1, true, 2n * 2_000n + 1_290n * 40_000n]);
  });

  test('a balance below the cost of an image admits none', async () => {
    const { keys } = await newUser('gemini', '0.01');
    await assert.rejects(openai(gateway.url, keys).images.generate({ ...ask, model: MODEL }), /balance/);
    assert.deepEqual(sim.journal.requests, []);
  });
});

describe('a call is sent once', () => {
  for (const fault of ['reset', 'status=500', 'garbage', 'reset_mid'])
    test(`after ${fault} no other account is tried and no SDK retries`, async () => {
      const response = await post({ model: `${MODEL}@${fault}`, prompt: 'a lamp' });
      await response.arrayBuffer();
      assert.deepEqual([response.status, response.headers.get('x-should-retry')], [502, 'false']);
      assert.equal(sim.journal.requests.length, 1);
    });

  test('a stream that breaks off ends in an error event', async () => {
    const body = { model: `${MODEL}@eof_mid=0`, prompt: 'a lamp', stream: true as const };
    await assert.rejects(async () => void (await Array.fromAsync(await client.images.generate(body))));
    assert.equal(sim.journal.requests.length, 1);
  });

  test('every call has a connection of its own, so that a reused one cannot lose it', async () => {
    const ports: (number | undefined)[] = [];
    const body = JSON.stringify(drawn([{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }]));
    provider.respondWith((response, request) => {
      ports.push(response.socket?.remotePort);
      return jsonResponse(body)(response, request);
    });
    for (let n = 0; n < 3; n += 1) await scripted.images.generate({ model: MODEL, prompt: 'a lamp' });
    assert.equal(new Set(ports).size, 3);
  });

  test('after a rejection that says so, another account is tried', async () => {
    await post({ model: `${MODEL}@status=429`, prompt: 'a lamp' });
    assert.ok(sim.journal.requests.length > 1);
  });

  test('a client that disconnects aborts the call at the provider', async () => {
    const abort = new AbortController();
    const call = scripted.images.generate({ model: MODEL, prompt: 'a lamp' }, { signal: abort.signal });
    const closed = Promise.withResolvers<void>();
    provider.respondWith((response) => {
      response.on('close', () => closed.resolve());
      abort.abort();
    });
    await assert.rejects(call);
    await closed.promise;
  });
});

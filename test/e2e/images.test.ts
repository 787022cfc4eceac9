/** Image generation and editing with the official SDK: files that decode, early errors, metering, and calls that are sent once. */
import assert from 'node:assert/strict';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import sharp from 'sharp';
import { type Sim, startSim } from '../../sim/index.ts';
import { rgbPng } from '../../sim/png.ts';
import { readBalance } from '../../src/ledger/index.ts';
import { IMAGE_PRESETS, STANDARD_IMAGE_SIZES, TIMEOUTS } from '../../src/rules/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

const TOKENS = { input: '5', image_input: '10', image_output: '40' };
const MODELS = [
  { id: 'demo-image', groups: ['openai'], prices: TOKENS },
  { id: 'text-first', groups: ['openai'], prices: { input: '1', output: '2', image_output: '40' } },
  { id: 'demo-*', groups: ['openai'], prices: TOKENS },
  {
    id: 'piece-*',
    groups: ['openai'],
    upstream: 'demo-image',
    prices: { input: '5', per_image: { '1024x1024/medium': '0.04', '1024x1024/high': '0.17', auto: '0.2', '*': '1' } },
  },
];

let sim: Sim;
let gateway: TestGateway;
let key: string;
let client: OpenAI;

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ env: { HEARTBEAT_MS: '100' } });
  const keys = await gateway.apply({ ...basicSetup(sim.url), models: MODELS });
  key = keys.openai ?? '';
  client = openai(gateway.url, key);
});
after(() => gateway.stop().finally(() => sim.close()));
afterEach(() => sim.journal.clear());

const decode = (base64: string | undefined) => sharp(Buffer.from(base64 ?? '', 'base64')).metadata();
const post = (path: string, body: object): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe('G 4.8: pictures', () => {
  longTest('G 4.9: every standard and preset size is delivered in that size', async () => {
    const sizes = new Set([
      ...STANDARD_IMAGE_SIZES,
      ...Object.values(IMAGE_PRESETS).flatMap((row) => Object.values(row)),
    ]);
    assert.equal(sizes.size, 18);
    for (const size of sizes) {
      const { data } = await client.images.generate({ model: 'demo-image', prompt: 'a lamp', size });
      const { width, height, format } = await decode(data?.[0]?.b64_json);
      assert.deepEqual([`${width}x${height}`, format], [size === 'auto' ? '1024x1024' : size, 'png']);
    }
  });

  for (const [format, more, hasAlpha] of [
    ['png', { background: 'transparent' }, true],
    ['png', { background: 'opaque' }, false],
    ['webp', { background: 'transparent', output_compression: 40 }, true],
    ['jpeg', { output_compression: 0 }, false],
  ] as const)
    test(`output_format ${format} with ${JSON.stringify(more)} decodes as asked`, async () => {
      const request = {
        model: 'demo-image',
        prompt: 'a lamp',
        size: '1280x720',
        output_format: format,
        ...more,
      } as const;
      const { data, output_format: named } = await client.images.generate(request);
      const made = await decode(data?.[0]?.b64_json);
      assert.deepEqual(
        [made.format, made.width, made.height, made.hasAlpha, named],
        [format, 1280, 720, hasAlpha, format],
      );
    });

  test('an edit of several files with a mask is delivered in the requested size', async () => {
    const png = (name: string) =>
      toFile(
        rgbPng(64, 64, () => [9, 9, 9]),
        name,
        { type: 'image/png' },
      );
    const jpeg = await sharp(rgbPng(64, 64, () => [1, 2, 3]))
      .jpeg()
      .toBuffer();
    const { data } = await client.images.edit({
      model: 'demo-image',
      prompt: 'brighter',
      image: [await png('a.png'), await toFile(jpeg, 'b.jpg', { type: 'image/jpeg' }), await png('c.png')],
      mask: await png('mask.png'),
      size: '1536x1024',
      quality: 'low',
    });
    const { width, height } = await decode(data?.[0]?.b64_json);
    assert.deepEqual([width, height], [1536, 1024]);
  });

  test('an edit in JSON is delivered', async () => {
    const image_url = `data:image/png;base64,${rgbPng(8, 8, () => [9, 9, 9]).toString('base64')}`;
    const response = await post('/v1/images/edits', {
      model: 'demo-image',
      prompt: 'brighter',
      images: [{ image_url }],
    });
    const { data } = (await response.json()) as { data: { b64_json: string }[] };
    assert.equal((await decode(data[0]?.b64_json)).format, 'png');
  });

  for (const kind of ['generate', 'edit'] as const)
    test(`G 6: a streamed ${kind} delivers partial images, heartbeats and the final one`, async () => {
      const image = await toFile(
        rgbPng(8, 8, () => [9, 9, 9]),
        'a.png',
        { type: 'image/png' },
      );
      const request = { model: 'demo-image@gap=250', prompt: 'a hill', stream: true as const, partial_images: 2 };
      const stream = await (kind === 'generate'
        ? client.images.generate(request)
        : client.images.edit({ ...request, image }));
      const events = await Array.fromAsync<{ type: string; b64_json: string }>(stream);
      const prefix = kind === 'generate' ? 'image_generation' : 'image_edit';
      assert.deepEqual(
        events.map(({ type }) => type),
        [`${prefix}.partial_image`, `${prefix}.partial_image`, `${prefix}.completed`],
      );
      for (const { b64_json } of events) assert.equal((await decode(b64_json)).width, 1024);
    });

  test('G 6: heartbeats are comments between the events of a stream, and never in a unary response', async () => {
    const body = { model: 'demo-image@gap=250', prompt: 'a hill', partial_images: 1 };
    const stream = await (await post('/v1/images/generations', { ...body, stream: true })).text();
    assert.match(stream, /partial_image.*\n\n: hb\n\n.*event: image_generation\.completed/s);
    const unary = await post('/v1/images/generations', { ...body, model: 'demo-image@delay=400' });
    assert.equal(typeof JSON.parse(await unary.text()).created, 'number');
  });

  test('G 6: a stream gets heartbeats before the provider responds, and then its events once', async () => {
    const body = { model: 'demo-image@delay=450', prompt: 'a hill', stream: true, response_format: 'url' };
    const response = await post('/v1/images/generations', body);
    assert.equal(response.headers.get('x-gateway-dropped'), 'response_format');
    const text = await response.text();
    assert.match(text, /^(?:: hb\n\n){2,}event: image_generation\.completed\n/);
    assert.equal(text.split('image_generation.completed').length, 3, 'one event with its name and type');
  });

  for (const [fault, message] of [
    ['status=400', /Simulated failure with status 400/],
    ['status=500', /not sent again/],
    ['garbage', /did not respond with a stream/],
  ] as const)
    test(`an error after heartbeats is an event that the SDK throws (${fault})`, async () => {
      const own = await groupOf(`late-${fault.replace('=', '-')}`, [`${sim.url}/v1`]);
      const body = { model: `demo-image@delay=450;${fault}`, prompt: 'a hill', stream: true as const };
      await assert.rejects(async () => {
        for await (const _ of await own.images.generate(body));
      }, message);
    });

  test('a stream that the provider cuts off ends in an error event that the SDK throws', async () => {
    const body = { model: 'demo-image@eof_mid=1', prompt: 'a hill', stream: true as const, partial_images: 2 };
    await assert.rejects(async () => {
      for await (const _ of await client.images.generate(body));
    }, /before completion/);
  });
});

describe('early errors', () => {
  test('a request that breaks a rule reaches no provider and is not charged', async () => {
    const reserved = (await readBalance(gateway.context.database.db, 'ana')).available;
    for (const [body, param] of [
      [{ prompt: '' }, 'prompt'],
      [{ prompt: 'a lamp', size: '3328x2496' }, 'size'],
      [{ prompt: 'a lamp', quality: 'hd' }, 'quality'],
      [{ prompt: 'a lamp', background: 'transparent', output_format: 'jpeg' }, 'background'],
      [{ prompt: 'a lamp', output_compression: 50 }, 'output_compression'],
      [{ prompt: 'a lamp', n: 0 }, 'n'],
      [{ prompt: 'a lamp', model: 7 }, 'model'],
    ] as const)
      for (const path of ['/v1/images/generations', '/images/generations']) {
        const response = await post(path, { model: 'demo-image', ...body });
        const { error } = (await response.json()) as { error: { param: string; code: string } };
        assert.deepEqual([response.status, error.param, error.code], [400, param, 'invalid_value'], path);
      }
    assert.equal(sim.journal.requests.length, 0);
    assert.equal((await readBalance(gateway.context.database.db, 'ana')).available, reserved);
  });

  test("G 2: a generation without a model gets the group's image model, known by its prices", async () => {
    assert.equal((await post('/v1/images/generations', { prompt: 'a lamp' })).status, 200);
    assert.equal(sim.journal.requests.at(-1)?.model, 'demo-image');
    const declared = { groups: ['openai'], capabilities: { imageOutput: true } };
    await gateway.apply({ models: [{ id: 'demo-unpriced', free: false, ...declared }] });
    assert.equal((await post('/v1/images/generations', { prompt: 'a lamp' })).status, 200, 'it cannot be used');
    await gateway.apply({ models: [{ id: 'demo-declared', prices: TOKENS, ...declared }] });
    assert.equal((await post('/v1/images/generations', { prompt: 'a lamp', model: null })).status, 200);
    assert.equal(sim.journal.requests.at(-1)?.model, 'demo-declared');
    await gateway.apply({ models: [{ id: 'demo-declared', groups: ['openai'], prices: TOKENS, capabilities: {} }] });
  });

  test('G 2: an edit without a model is rejected, naming one', async () => {
    const form = new FormData();
    form.set('prompt', 'brighter');
    form.set('image', new Blob([new Uint8Array(rgbPng(8, 8, () => [9, 9, 9]))]), 'a.png');
    const response = await fetch(`${gateway.url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    });
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    assert.deepEqual([response.status, error.param], [400, 'model']);
    assert.match(error.message, /"demo-image"/);
  });
});

describe('values of models beyond the contract', () => {
  const NEWEST = [
    { quality: 'max' },
    { output_format: 'gif' },
    { output_format: 'svg' },
    { size: '2K' },
    { size: '4096x4096' },
  ];
  const sent = () => sim.journal.requests.map(({ body }) => JSON.parse(String(body)) as Record<string, unknown>);

  for (const fields of NEWEST) {
    const body = { prompt: 'a lamp', ...fields };
    test(`${JSON.stringify(fields)} reaches the provider of a model that no row knows, in JSON and as a form`, async () => {
      await gateway.apply({ models: [{ id: 'studio-7', groups: ['openai'], prices: TOKENS }] });
      await post('/v1/images/generations', { model: 'studio-7', ...body });
      assert.deepEqual(sent(), [{ model: 'studio-7', ...body }]);
      const form = new FormData();
      for (const [name, value] of Object.entries({ model: 'studio-7', ...body })) form.set(name, value);
      form.set('image', new Blob([new Uint8Array(rgbPng(8, 8, () => [9, 9, 9]))]), 'a.png');
      const headers = { authorization: `Bearer ${key}` };
      await fetch(`${gateway.url}/v1/images/edits`, { method: 'POST', headers, body: form });
      assert.equal(sim.journal.requests.length, 2);
    });

    test(`${JSON.stringify(fields)} reaches the provider of a model of the contract once its line lists the value`, async () => {
      assert.equal((await post('/v1/images/generations', { model: 'demo-image', ...body })).status, 400);
      assert.equal(sim.journal.requests.length, 0);
      const capabilities = {
        imageQualities: ['low', 'max'],
        imageFormats: ['png', 'gif', 'svg'],
        imageSizes: ['2K'],
        imagePixels: 2 ** 24,
      };
      await gateway.apply({ models: [{ id: 'demo-image', groups: ['openai'], prices: TOKENS, capabilities }] });
      await post('/v1/images/generations', { model: 'demo-image', ...body });
      await gateway.apply({ models: [{ id: 'demo-image', groups: ['openai'], prices: TOKENS, capabilities: {} }] });
      assert.deepEqual(sent(), [{ model: 'demo-image', ...body }]);
    });
  }

  test('a value whose cost nobody states is held at the most expensive one', async () => {
    await gateway.apply({
      models: [
        { id: 'studio-7', groups: ['openai'], prices: TOKENS },
        { id: 'studio-8', groups: ['openai'], prices: { per_image: { '1024x1024': '0.04', '4096x4096': '5' } } },
      ],
    });
    const keys = await gateway.apply({
      users: [{ id: 'tight', balance: '1' }],
      keys: [{ user: 'tight', group: 'openai' }],
    });
    const status = async (body: object): Promise<number> => {
      const response = await fetch(`${gateway.url}/v1/images/generations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys.openai}`, 'content-type': 'application/json' },
        body: JSON.stringify({ prompt: 'a lamp', size: '1024x1024', ...body }),
      });
      return response.status;
    };
    assert.notEqual(await status({ model: 'studio-7', quality: 'high' }), 402);
    for (const fields of [
      { quality: 'max' },
      { quality: 'supreme' },
      { size: 'vast', quality: 'high' },
      { output_format: 'svg' },
    ])
      assert.equal(await status({ model: 'studio-7', ...fields }), 402, JSON.stringify(fields));
    assert.notEqual(await status({ model: 'studio-8' }), 402);
    assert.equal(await status({ model: 'studio-8', size: '4K' }), 402);
  });
});

interface RecordRow {
  readonly nanos: bigint;
  readonly images: number;
  readonly estimated: boolean;
}
const recordsOf = (user: string): Promise<RecordRow[]> =>
  gateway.context.database.db
    .selectFrom('usage_records')
    .select(['nanos', 'images', 'estimated'])
    .where('user_id', '=', user)
    .execute() as Promise<RecordRow[]>;

let users = 0;
/** Makes a call as a new user, and returns its response and its usage record. */
async function charged<T>(call: (client: OpenAI) => Promise<T>): Promise<{ response: T; record: RecordRow }> {
  const user = `user-${++users}`;
  const keys = await gateway.apply({ users: [{ id: user, balance: '10' }], keys: [{ user, group: 'openai' }] });
  const response = await call(openai(gateway.url, keys.openai ?? ''));
  const record = await until('the record', async () => (await recordsOf(user))[0]);
  return { response, record };
}

describe('uploads', () => {
  const edit = (encode: (body: Buffer) => Buffer, headers: Record<string, string>) => {
    const part = (head: string, value: Buffer | string): Buffer =>
      Buffer.concat([
        Buffer.from(`--b\r\ncontent-disposition: form-data; ${head}\r\n\r\n`),
        Buffer.from(value as string),
        Buffer.from('\r\n'),
      ]);
    const body = Buffer.concat([
      part('name="model"', 'demo-image'),
      part('name="prompt"', 'brighter'),
      part(
        'name="image"; filename="a.png"\r\ncontent-type: image/png',
        rgbPng(300, 300, (x, y) => [x % 256, y % 256, 9]),
      ),
      Buffer.from('--b--\r\n'),
    ]);
    return fetch(`${gateway.url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'multipart/form-data; boundary=b', ...headers },
      body: new Uint8Array(encode(body)),
    });
  };

  test('a compressed form is decompressed on its way to disk', async () => {
    assert.equal((await edit(gzipSync, { 'content-encoding': 'gzip' })).status, 200);
    const sent = sim.journal.requests.at(-1);
    assert.deepEqual(
      [sent?.headers['content-encoding'], sent?.form?.map(({ name }) => name)],
      [undefined, ['model', 'prompt', 'image']],
    );
    const broken = await edit((body) => gzipSync(body).subarray(0, -20), { 'content-encoding': 'gzip' });
    assert.equal(broken.status, 400);
  });

  test('nothing of an upload remains on disk', async () => {
    assert.equal((await edit((body) => body, {})).status, 200);
    assert.deepEqual(readdirSync(join(gateway.context.config.DATA_DIR, 'uploads')), []);
  });

  test('a disk that cannot take the upload is 503, and the log says why', async () => {
    const folder = join(gateway.context.config.DATA_DIR, 'uploads');
    rmSync(folder, { recursive: true, force: true });
    writeFileSync(folder, '');
    const response = await edit((body) => body, {});
    assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '5']);
    assert.ok(gateway.log.some(({ msg }) => msg === 'spool.failed'));
    rmSync(folder);
    assert.equal((await edit((body) => body, {})).status, 200);
  });
});

describe('metering', () => {
  const generate = (model: string, more: object = {}) =>
    charged((own) => own.images.generate({ model, prompt: 'a lamp', size: '1024x1024', ...more }));

  test('reported tokens are charged at the rates of text, images in and images out', async () => {
    const { response, record } = await generate('demo-image', { quality: 'high', n: 2 });
    const { usage } = response as OpenAI.ImagesResponse;
    assert.ok(usage);
    assert.equal(record.nanos, BigInt(usage.input_tokens) * 5_000n + BigInt(usage.output_tokens) * 40_000n);
    assert.deepEqual([record.images, record.estimated], [2, false]);
  });

  test('output tokens without details are image tokens', async () => {
    const { response, record } = await generate('demo-image@omit=output_tokens_details');
    const { usage } = response as OpenAI.ImagesResponse;
    assert.ok(usage && usage.output_tokens > 0);
    assert.equal(record.nanos, BigInt(usage.input_tokens) * 5_000n + BigInt(usage.output_tokens) * 40_000n);
  });

  test('a price per image counts the pictures that were returned, in the size and quality that were made', async () => {
    for (const [model, more, pictures, nanos] of [
      ['piece-a', { quality: 'high', n: 2 }, 2, 340_000_000n],
      ['piece-a', { size: 'auto' }, 1, 40_000_000n],
      ['piece-a@pictures=1', { quality: 'high', n: 3 }, 1, 170_000_000n],
    ] as const) {
      const upstream = model.replace('piece-a', 'demo-image');
      await gateway.apply({ models: [{ ...MODELS[3], id: model, upstream }] });
      const { response, record } = await generate(model, more);
      const { usage } = response as OpenAI.ImagesResponse;
      assert.equal(record.nanos - BigInt(usage?.input_tokens ?? 0) * 5_000n, nanos, model);
      assert.equal(record.images, pictures);
    }
  });

  test('without usage in the response, the price per image holds, or a marked estimate', async () => {
    await gateway.apply({ models: [{ ...MODELS[3], id: 'piece-b', upstream: 'demo-image@usage=missing' }] });
    const piece = await generate('piece-b', { quality: 'high' });
    assert.ok(piece.record.nanos >= 170_000_000n && piece.record.nanos < 170_100_000n);
    const { record } = await generate('demo-image@usage=missing', { quality: 'high' });
    assert.equal(record.estimated, true);
    assert.ok(record.nanos > 4_000n * 40_000n && record.nanos < 5_000n * 40_000n, String(record.nanos));
  });

  test('a stream is charged like a unary response', async () => {
    const { response, record } = await charged(async (own) => {
      const body = { model: 'demo-image', prompt: 'a lamp', stream: true as const, partial_images: 1, quality: 'low' };
      return Array.fromAsync(await own.images.generate(body as OpenAI.ImageGenerateParamsStreaming));
    });
    const last = response.at(-1);
    assert.ok(last?.type === 'image_generation.completed');
    assert.equal(record.nanos, BigInt(last.usage.input_tokens) * 5_000n + BigInt(last.usage.output_tokens) * 40_000n);
    assert.equal(record.images, 1);
  });

  test('admission reserves what the request can cost, and no more than that', async () => {
    const own = await gateway.apply({
      users: [{ id: 'small', balance: '0.05' }],
      keys: [{ user: 'small', group: 'openai' }],
    });
    const small = openai(gateway.url, own.openai ?? '');
    const request = { model: 'demo-image', prompt: 'a lamp', size: '1024x1024' } as const;
    await assert.rejects(small.images.generate({ ...request, quality: 'high' }), /balance/);
    assert.equal((await small.images.generate({ ...request, quality: 'low' })).data?.length, 1);
  });
});

/** A client of a group of its own, with an account at each address. */
async function groupOf(id: string, addresses: readonly string[]): Promise<OpenAI> {
  const keys = await gateway.apply({
    groups: [{ id, style: 'responses' }],
    accounts: addresses.map((base_url, n) => ({ id: `${id}-${n}`, group: id, base_url, api_key: 'sk-x' })),
    models: [{ id: 'demo-*', groups: [id], prices: TOKENS }],
    keys: [{ user: 'ana', group: id }],
  });
  return openai(gateway.url, keys[id] ?? '');
}

describe('a call is sent once', () => {
  const failing = async (fault: string): Promise<{ status: number; retry: string | null; sent: number }> => {
    sim.journal.clear();
    const response = await post('/v1/images/generations', { model: `demo-image@${fault}`, prompt: 'a lamp' });
    await response.arrayBuffer();
    return {
      status: response.status,
      retry: response.headers.get('x-should-retry'),
      sent: sim.journal.requests.length,
    };
  };

  before(async () => {
    await gateway.apply({
      accounts: ['oa2', 'oa3'].map((id) => ({ id, group: 'openai', base_url: `${sim.url}/v1`, api_key: `sk-${id}` })),
    });
  });

  for (const fault of ['reset', 'status=500', 'status=502', 'garbage', 'reset_mid'])
    test(`G 4.9 r4: after ${fault} the provider may have accepted it: no other account is tried, no SDK retries`, async () => {
      const { status, retry, sent } = await failing(fault);
      assert.deepEqual([status, retry, sent], [502, 'false', 1]);
    });

  test('G 4.9 r4: after a timeout the provider may have accepted it: no other account is tried, no SDK retries', async (t) => {
    const timeouts: { firstByte: number } = TIMEOUTS.image;
    t.mock.property(timeouts, 'firstByte', 200);
    const { status, retry, sent } = await failing('hang');
    assert.deepEqual([status, retry, sent], [504, 'false', 1]);
  });

  test('a text call is sent again after the same fault', async () => {
    sim.journal.clear();
    await post('/v1/responses', { model: 'demo-x@reset', input: 'hi' });
    assert.ok(sim.journal.requests.length > 1);
  });

  test('after a rejection that says so, or without a connection, another account is tried', async () => {
    assert.ok((await failing('status=429')).sent > 1);
    const spare = await groupOf('spare', ['http://127.0.0.1:9/v1', `${sim.url}/v1`]);
    for (let n = 0; n < 3; n += 1)
      assert.equal((await spare.images.generate({ model: 'demo-image', prompt: 'a lamp' })).data?.length, 1);
  });

  test('a client that disconnects aborts the call at the provider', async () => {
    const own = await groupOf('abort', [`${sim.url}/v1`]);
    const abort = new AbortController();
    const call = own.images.generate({ model: 'demo-image@hang', prompt: 'a lamp' }, { signal: abort.signal });
    const failed = assert.rejects(call);
    const entry = await until('the call at the provider', () => sim.journal.requests.at(-1));
    abort.abort();
    await failed;
    await until('the end at the provider', () => (entry.aborted ? true : undefined));
    assert.equal(sim.journal.requests.length, 1);
  });
});

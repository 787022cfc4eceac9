// set: sweeps; the simulated providers, which every test of images uses
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import sharp, { type Metadata } from 'sharp';
import { defined } from './fixtures.ts';
import { read } from './grammar/responses.ts';
import { type Sim, startSim } from './index.ts';

let sim: Sim;
let openai: OpenAI;

before(async () => {
  sim = await startSim();
  openai = clientOf(sim);
});

beforeEach(() => sim.journal.clear());

after(() => sim.close());

const clientOf = ({ url }: Sim) => new OpenAI({ apiKey: 'sk-any', baseURL: `${url}/v1`, maxRetries: 0 });

interface ImageBody extends Record<string, unknown> {
  data: { b64_json: string }[];
  usage: Record<string, unknown> | undefined;
}

function post(path: string, body: object | FormData, url = sim.url): Promise<Response> {
  const isForm = body instanceof FormData;
  const headers = { authorization: 'Bearer sk-any', ...(!isForm && { 'content-type': 'application/json' }) };
  return fetch(url + path, { method: 'POST', headers, body: isForm ? body : JSON.stringify(body) });
}

const GENERATE = '/v1/images/generations';
const EDIT = '/v1/images/edits';
const LAMP = { model: 'demo-image', prompt: 'a lamp' };

async function generate(options: object): Promise<ImageBody> {
  const response = await post(GENERATE, { ...LAMP, ...options });
  assert.equal(response.status, 200);
  return (await response.json()) as ImageBody;
}

async function rejection(path: string, body: object | FormData, url = sim.url): Promise<[number, string, string]> {
  const response = await post(path, body, url);
  const { error } = (await response.json()) as { error: { param: string; message: string } };
  return [response.status, error.param, error.message];
}

const file = (b64: string | undefined) => Buffer.from(defined(b64), 'base64');

/** Decodes every pixel, which fails for a damaged file. */
async function decode(image: Buffer): Promise<Metadata> {
  await sharp(image).raw().toBuffer();
  return sharp(image).metadata();
}

async function form(fields: [string, string | Blob][]): Promise<FormData> {
  const data = new FormData();
  for (const [name, value] of fields) {
    if (typeof value === 'string') data.append(name, value);
    else data.append(name, value, `${name}.png`);
  }
  return data;
}

const PNG = new Blob(['any bytes'], { type: 'image/png' });

describe('image generation', () => {
  test('rejects values that the provider does not know, by field', async () => {
    const cases: [object, string, RegExp][] = [
      [{ size: '3840x3840' }, 'size', /the requested resolution exceeds the current pixel budget/],
      [{ size: '1000x1000' }, 'size', /Invalid size/],
      [{ quality: 'hd' }, 'quality', /Supported values are: 'low'/],
      [{ background: 'blue' }, 'background', /Supported values/],
      [{ background: 'transparent', output_format: 'jpeg' }, 'background', /not supported for jpeg/],
      [{ output_format: 'gif' }, 'output_format', /Supported values/],
      [{ output_compression: 101, output_format: 'webp' }, 'output_compression', /between 0 and 100/],
      [{ output_compression: 50 }, 'output_compression', /not supported for png/],
      [{ partial_images: 4 }, 'partial_images', /between 0 and 3/],
      [{ n: 11 }, 'n', /between 1 and 10/],
    ];
    for (const [options, field, reason] of cases) {
      const [status, param, message] = await rejection(GENERATE, { ...LAMP, ...options });
      assert.deepEqual([status, param], [400, field]);
      assert.match(message, reason);
    }
  });

  test('draws only png without the encoder', async () => {
    const plain = await startSim({ encoder: false });
    try {
      for (const background of ['opaque', 'transparent'] as const) {
        const body = await clientOf(plain).images.generate({ ...LAMP, size: '3840x2160', background });
        const image = await decode(file(body.data?.[0]?.b64_json));
        assert.deepEqual([image.width, image.height, image.hasAlpha], [3840, 2160, background === 'transparent']);
      }
      const [status, param, message] = await rejection(GENERATE, { ...LAMP, output_format: 'webp' }, plain.url);
      assert.deepEqual([status, param], [400, 'output_format']);
      assert.match(message, /sharp is not installed; request png/);
    } finally {
      await plain.close();
    }
  });
});

describe('image streams', () => {});

describe('faults of image responses', () => {
  test('pad every file to the requested length, and it still decodes', async () => {
    const looks = [
      { output_format: 'png' },
      { output_format: 'png', background: 'transparent' },
      { output_format: 'jpeg' },
      { output_format: 'webp' },
      { output_format: 'webp', background: 'transparent' },
    ];
    for (const look of looks) {
      const { data } = await generate({ ...look, model: 'demo-image@imagebytes=15000000' });
      const bytes = file(data[0]?.b64_json);
      assert.ok(bytes.length >= 15_000_000 && bytes.length < 15_000_100, `${bytes.length}`);
      const image = await decode(bytes);
      assert.deepEqual(
        [image.format, image.width, image.hasAlpha],
        [look.output_format, 1024, look.background === 'transparent'],
      );
    }
  });

  test('send a large picture, drawn once, to parallel readers', async () => {
    const body = { ...LAMP, model: 'demo-image@imagebytes=50000000' };
    const receive = async () => {
      let length = 0;
      for await (const chunk of defined((await post(GENERATE, body)).body)) length += chunk.length;
      return length;
    };
    const before = sim.pictures.drawn;
    const lengths = await Promise.all(Array.from({ length: 4 }, receive));
    assert.equal(sim.pictures.drawn - before, 1);
    assert.ok(lengths.every((length) => length > 66_000_000 && length < 67_000_000));
    assert.deepEqual(
      sim.journal.requests.map((entry) => entry.bytesSent),
      lengths,
    );
  });
});

test('a response without usage, or without other members', async () => {
  assert.equal((await generate({ model: 'demo-image@usage=missing' })).usage, undefined);
  const body = await generate({ model: 'demo-image@omit=size+output_tokens_details' });
  assert.ok(!('size' in body) && body.background === 'opaque');
  assert.ok(!('output_tokens_details' in defined(body.usage)) && defined(body.usage).output_tokens === 1056);
  assert.match((await rejection(GENERATE, { ...LAMP, model: 'demo-image@omit=data' }))[2], /is not one of/);
});

describe('image edits', () => {
  test('reject what the provider rejects, by field', async () => {
    const prompt: [string, string] = ['prompt', 'greener'];
    const image: [string, Blob] = ['image', PNG];
    const url = 'https://example.com/a.png';
    const cases: [object | FormData, string][] = [
      [await form([image]), 'prompt'],
      [await form([prompt]), 'image'],
      [await form([prompt, ['image', 'text']]), 'image'],
      [await form([prompt, ['image[]', new Blob(['x'], { type: 'text/plain' })]]), 'image'],
      [await form([prompt, image, ['mask', 'text']]), 'mask'],
      [await form([prompt, image, ['mask', new Blob([], { type: 'image/png' })]]), 'mask'],
      [await form([prompt, ...Array.from({ length: 17 }, () => image)]), 'image'],
      [LAMP, 'image'],
      [{ images: [{ file_id: 'file-1' }] }, 'prompt'],
      [{ ...LAMP, images: [{ file_id: 'file-1' }, {}] }, 'images[1]'],
      [{ ...LAMP, images: [{ file_id: 'file-1', image_url: url }] }, 'images[0]'],
      [{ ...LAMP, images: [{ file_id: 'file-1' }], mask: url }, 'mask'],
    ];
    for (const [body, field] of cases) {
      const [status, param] = await rejection(EDIT, body);
      assert.deepEqual([status, param], [400, field]);
    }
  });

  test('leave the digests of their files in the journal when the body is too large to keep', async () => {
    const bytes = Buffer.alloc(40_000_000, 'picture');
    const fields: [string, string | Blob][] = [
      ['prompt', 'greener'],
      ['image', new Blob([bytes], { type: 'image/png' })],
    ];
    assert.equal((await post(EDIT, await form(fields))).status, 200);
    const entry = defined(sim.journal.requests[0]);
    assert.ok(entry.body === undefined && entry.bodyLength > bytes.length);
    assert.deepEqual(entry.form?.[1], {
      name: 'image',
      filename: 'image.png',
      type: 'image/png',
      length: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    });
  });
});

describe('the image_generation tool of responses', () => {
  const look = { size: '1536x1024' as const, quality: 'low' as const, output_format: 'webp' as const };
  const tool = { type: 'image_generation' as const, ...look, background: 'transparent' as const, partial_images: 2 };

  test('streams partial images in the order of the grammar', async () => {
    const body = { model: 'demo-responses', input: 'draw a lamp', tools: [tool], stream: true };
    const text = await (await post('/v1/responses', body)).text();
    const result = read(text);
    assert.ok(result.end === 'complete' && 'tool_usage' in result.body);
    const types = [...text.matchAll(/^event: (.*)$/gm)].map((match) => match[1]).slice(2, 9);
    assert.deepEqual(types, [
      'response.output_item.added',
      'response.image_generation_call.in_progress',
      'response.image_generation_call.generating',
      'response.image_generation_call.partial_image',
      'response.image_generation_call.partial_image',
      'response.image_generation_call.completed',
      'response.output_item.done',
    ]);
    for (const [, partial] of text.matchAll(/"partial_image_b64":"([^"]+)"/g)) {
      const image = await decode(file(partial));
      assert.deepEqual([image.format, image.width, image.height], ['webp', 1536, 1024]);
    }
  });

  test('is used only when the prompt or the tool choice asks for it', async () => {
    const ask = (more: object) =>
      openai.responses.create({ model: 'demo-responses', input: 'a lamp', tools: [tool], ...more });
    const hasPicture = async (more: object) =>
      (await ask(more)).output.some((item) => item.type === 'image_generation_call');
    assert.equal(await hasPicture({}), false);
    assert.equal(await hasPicture({ tool_choice: { type: 'image_generation' } }), true);
    assert.equal(await hasPicture({ input: 'draw', tool_choice: 'none' }), false);
    assert.equal(await hasPicture({ input: 'draw, please refuse' }), false);
    assert.equal(await hasPicture({ input: 'draw', tools: [] }), false);
    await assert.rejects(ask({ tools: [], tool_choice: { type: 'image_generation' } }), { param: 'tool_choice' });
    await assert.rejects(ask({ tools: [{ ...tool, size: '3840x3840' }] }), { param: 'tools[0].size' });
  });
});

describe('pictures of generateContent', () => {
  const model = 'demo-generate-image';
  const google = () => new GoogleGenAI({ apiKey: 'sk-any', httpOptions: { baseUrl: sim.url, apiVersion: 'v1beta' } });

  test('are rejected for an unknown ratio or size', async () => {
    for (const imageConfig of [{ aspectRatio: '7:1' }, { imageSize: '8K' }]) {
      const config = { responseModalities: ['IMAGE'], imageConfig };
      const rejected = google().models.generateContent({ model, contents: 'a lamp', config });
      await assert.rejects(rejected, /Supported values/);
    }
  });

  test('are rejected by a model that returns text only', async () => {
    const ask = (responseModalities: string[]) =>
      google().models.generateContent({
        model: `${model}@text_only`,
        contents: 'a lamp',
        config: { responseModalities },
      });
    await assert.rejects(ask(['TEXT', 'IMAGE']), /does not support the requested response modalities/);
    assert.match(defined((await ask(['TEXT'])).text), /a lamp/);
  });
});

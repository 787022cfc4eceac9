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

type ImageEvent = Record<string, unknown> & { type: string; b64_json: string };

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

async function events(path: string, body: object): Promise<ImageEvent[]> {
  const text = await (await post(path, { ...LAMP, stream: true, ...body })).text();
  const blocks = text.split('\n\n').filter((block) => block !== '');
  return blocks.map((block) => JSON.parse(defined(block.split('data: ')[1])) as ImageEvent);
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
  test('returns files of the requested size and type', async () => {
    for (const output_format of ['png', 'jpeg', 'webp']) {
      const body = await generate({ output_format, size: '1536x1024', quality: 'high' });
      const image = await decode(file(body.data[0]?.b64_json));
      assert.deepEqual([image.format, image.width, image.height, image.hasAlpha], [output_format, 1536, 1024, false]);
      const { size, quality, background } = body;
      assert.deepEqual([size, quality, background, body.output_format], ['1536x1024', 'high', 'opaque', output_format]);
    }
  });

  test('returns transparent pixels only for a transparent background', async () => {
    for (const output_format of ['png', 'webp']) {
      const body = await generate({ output_format, background: 'transparent' });
      const image = file(body.data[0]?.b64_json);
      assert.equal((await decode(image)).hasAlpha, true);
      assert.equal((await sharp(image).stats()).isOpaque, false);
      assert.equal(body.background, 'transparent');
      const opaque = await generate({ output_format, background: 'auto' });
      assert.equal((await decode(file(opaque.data[0]?.b64_json))).hasAlpha, false);
    }
  });

  test('names the values that it used for auto', async () => {
    const auto = { size: 'auto', quality: 'auto', background: 'auto' };
    for (const options of [{}, auto]) {
      const { size, quality, background, output_format } = await generate(options);
      assert.deepEqual([size, quality, background, output_format], ['1024x1024', 'medium', 'opaque', 'png']);
    }
  });

  test('compresses jpeg and webp by the requested quality', async () => {
    for (const output_format of ['jpeg', 'webp']) {
      const at = async (output_compression: number) =>
        file((await generate({ output_format, output_compression })).data[0]?.b64_json).length;
      const [small, large] = [await at(0), await at(100)];
      assert.ok(small < large / 2, `${output_format}: ${small} and ${large} bytes`);
    }
  });

  test('returns n different pictures', async () => {
    const { data, usage } = await generate({ n: 3, quality: 'low' });
    assert.equal(new Set(data.map((entry) => entry.b64_json)).size, 3);
    assert.equal(usage?.output_tokens, 3 * 272);
  });

  test('draws a 4K picture once for parallel requests', async () => {
    const before = sim.pictures.drawn;
    const bodies = await Promise.all(Array.from({ length: 20 }, () => generate({ size: '3840x2160' })));
    assert.equal(sim.pictures.drawn - before, 1);
    assert.equal(new Set(bodies.map((body) => body.data[0]?.b64_json)).size, 1);
    const image = await decode(file(bodies[0]?.data[0]?.b64_json));
    assert.deepEqual([image.width, image.height], [3840, 2160]);
  });

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

describe('image streams', () => {
  test('send blurred partial images of the final size and type before each picture', async () => {
    const sent = await events(GENERATE, { n: 2, partial_images: 3, output_format: 'jpeg', size: '1024x1536' });
    const one = [...Array(3).fill('image_generation.partial_image'), 'image_generation.completed'];
    assert.deepEqual(
      sent.map((event) => event.type),
      [...one, ...one],
    );
    assert.deepEqual(
      sent.slice(0, 4).map((event) => event.partial_image_index),
      [0, 1, 2, undefined],
    );
    assert.equal(new Set(sent.map((event) => event.b64_json)).size, 8);
    const sharpness = [];
    for (const { b64_json, size } of sent) {
      const image = await decode(file(b64_json));
      assert.deepEqual([image.format, image.width, image.height, size], ['jpeg', 1024, 1536, '1024x1536']);
      sharpness.push((await sharp(file(b64_json)).stats()).sharpness);
    }
    const first = sharpness.slice(0, 4);
    assert.deepEqual(
      first,
      first.toSorted((a, b) => a - b),
    );
    assert.ok(sent[3]?.usage && sent[7]?.usage && sent[0]?.usage === undefined);
  });

  test('of edits have their own event names', async () => {
    const images = [{ file_id: 'file-1' }];
    const types = (await events(EDIT, { images, partial_images: 1 })).map((event) => event.type);
    assert.deepEqual(types, ['image_edit.partial_image', 'image_edit.completed']);
  });

  test('wait before the headers and before every event when asked to', async () => {
    const started = Date.now();
    const response = await post(GENERATE, {
      ...LAMP,
      model: 'demo-image@delay=60;gap=50',
      stream: true,
      partial_images: 3,
    });
    assert.ok(Date.now() - started >= 58);
    const opened = Date.now();
    await response.text();
    assert.ok(Date.now() - opened >= 4 * 50 - 10);
  });
});

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

  test('interrupt a response in the middle of a picture', async () => {
    const model = 'demo-image@eof_mid';
    assert.throws(JSON.parse.bind(null, await (await post(GENERATE, { ...LAMP, model })).text()));
    const [only, ...more] = await events(GENERATE, { model: 'demo-image@eof_mid=1', partial_images: 2 });
    assert.deepEqual([only?.type, more.length], ['image_generation.partial_image', 0]);
  });

  test('return fewer pictures than requested', async () => {
    const { data, usage } = await generate({ n: 4, quality: 'low', model: 'demo-image@pictures=1' });
    assert.deepEqual([data.length, usage?.output_tokens], [1, 272]);
    const sent = await events(GENERATE, { n: 4, model: 'demo-image@pictures=2' });
    assert.equal(sent.length, 2);
    assert.deepEqual((await generate({ model: 'demo-image@pictures=0' })).data, []);
  });

  test('leave out members of the response', async () => {
    assert.equal((await generate({ model: 'demo-image@usage=missing' })).usage, undefined);
    const body = await generate({ model: 'demo-image@omit=size+quality+output_tokens_details' });
    assert.ok(!('size' in body) && !('quality' in body) && body.background === 'opaque');
    assert.ok(!('output_tokens_details' in defined(body.usage)) && defined(body.usage).output_tokens === 1056);
    const [event] = await events(GENERATE, { model: 'demo-image@omit=size+usage' });
    assert.ok(event && !('size' in event) && !('usage' in event) && event.quality === 'medium');
    assert.match((await rejection(GENERATE, { ...LAMP, model: 'demo-image@omit=data' }))[2], /is not one of/);
  });
});

describe('image edits', () => {
  test('accept forms with every spelling of the image field, and a mask', async () => {
    for (const names of [['image'], ['image[]', 'image[]'], ['image[0]', 'image[1]', 'image[2]']]) {
      const files = [...names, 'mask'].map((name): [string, Blob] => [name, PNG]);
      const fields: [string, string | Blob][] = [['prompt', 'greener'], ['model', 'demo-image'], ...files];
      const response = await post(EDIT, await form([...fields, ['size', '1536x1024'], ['n', '2']]));
      const body = (await response.json()) as ImageBody;
      const image = await decode(file(body.data[1]?.b64_json));
      assert.deepEqual([image.width, image.height, body.data.length], [1536, 1024, 2]);
      const details = body.usage?.input_tokens_details;
      assert.deepEqual(details, { text_tokens: 2, image_tokens: 200 * names.length });
    }
  });

  test('accept JSON with references', async () => {
    const images = [{ image_url: 'data:image/png;base64,AAAA' }, { file_id: 'file-1' }];
    const response = await post(EDIT, { ...LAMP, images, mask: { file_id: 'file-2' }, size: '1024x1536' });
    const body = (await response.json()) as ImageBody;
    assert.equal((await decode(file(body.data[0]?.b64_json))).height, 1536);
  });

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

  test('makes a picture before the message, with its own usage', async () => {
    const response = await openai.responses.create({ model: 'demo-responses', input: 'draw a lamp', tools: [tool] });
    assert.deepEqual(
      response.output.map((item) => item.type),
      ['image_generation_call', 'message'],
    );
    const [item] = response.output;
    assert.ok(item?.type === 'image_generation_call' && item.id.startsWith('ig_'));
    const { id: _id, result, ...rest } = item;
    assert.deepEqual(rest, {
      type: 'image_generation_call',
      status: 'completed',
      action: 'generate',
      ...look,
      background: 'transparent',
      revised_prompt: 'A simulated picture.',
    });
    const image = await decode(file(defined(result)));
    assert.deepEqual([image.format, image.width, image.height, image.hasAlpha], ['webp', 1536, 1024, true]);
    const { tool_usage } = response as unknown as { tool_usage: { image_gen: Record<string, unknown> } };
    assert.deepEqual(tool_usage.image_gen, {
      input_tokens: 3,
      input_tokens_details: { text_tokens: 3, image_tokens: 0 },
      output_tokens: 408 + 200,
      output_tokens_details: { text_tokens: 0, image_tokens: 608 },
      total_tokens: 611,
    });
  });

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

  test('leaves out usage and sizes when asked to', async () => {
    const ask = async (fault: string) => {
      const body = { model: `demo-responses@${fault}`, input: 'draw', tools: [tool] };
      return (await (await post('/v1/responses', body)).json()) as Record<string, unknown> & { output: object[] };
    };
    const omitted = await ask('omit=tool_usage+size');
    assert.ok(!('tool_usage' in omitted) && 'usage' in omitted && !('size' in defined(omitted.output[0])));
    const distorted = await ask('usage=missing');
    assert.ok(!('tool_usage' in distorted) && !('usage' in distorted));
  });
});

describe('pictures of generateContent', () => {
  const model = 'demo-generate-image';
  const google = () => new GoogleGenAI({ apiKey: 'sk-any', httpOptions: { baseUrl: sim.url } });

  test('follow the aspect ratio and the size, and are counted as IMAGE tokens', async () => {
    const sizes = [
      [{}, 1024, 1024, 1120],
      [{ aspectRatio: '16:9', imageSize: '2K' }, 2752, 1536, 1120],
      [{ aspectRatio: '2:3', imageSize: '4K' }, 3392, 5056, 2000],
    ] as const;
    for (const [imageConfig, width, height, tokenCount] of sizes) {
      const config = { responseModalities: ['TEXT', 'IMAGE'], imageConfig };
      const response = await google().models.generateContent({ model, contents: 'a lamp', config });
      const [text, part] = defined(response.candidates?.[0]?.content?.parts);
      assert.match(defined(text?.text), /a lamp/);
      assert.equal(part?.inlineData?.mimeType, 'image/png');
      const image = await decode(file(part?.inlineData?.data));
      assert.deepEqual([image.format, image.width, image.height], ['png', width, height]);
      const usage = defined(response.usageMetadata);
      const details = defined(usage.candidatesTokensDetails);
      assert.deepEqual(details[1], { modality: 'IMAGE', tokenCount });
      assert.equal(usage.candidatesTokenCount, tokenCount + defined(details[0]?.tokenCount));
      assert.equal(usage.totalTokenCount, defined(usage.promptTokenCount) + defined(usage.candidatesTokenCount));
    }
  });

  test('are streamed, alone if only the modality IMAGE is requested', async () => {
    const request = { model, contents: 'a lamp', config: { responseModalities: ['IMAGE'] } };
    const parts = [];
    let last: unknown;
    for await (const chunk of await google().models.generateContentStream(request)) {
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
      last = chunk.usageMetadata?.candidatesTokensDetails;
    }
    assert.ok(parts.every((part) => !part.text));
    const [image] = parts.flatMap((part) => part.inlineData ?? []);
    assert.equal((await decode(file(image?.data))).width, 1024);
    assert.deepEqual(last, [{ modality: 'IMAGE', tokenCount: 1120 }]);
  });

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

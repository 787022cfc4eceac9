/** Images generated inside responses and chat requests: converted both ways, large, sent back, and charged. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { BadRequestError } from 'openai';
import { type Sim, startSim } from '../../sim/index.ts';
import { type Canned, jsonResponse, sseResponse, startCanned } from '../support/canned.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { anthropic, google, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

const IMAGE_MODEL = 'demo-generate-image';
const PRICES = { input: '2', output: '10', image_input: '5', image_output: '40' };

let provider: Canned;
let sim: Sim;
let gateway: TestGateway;
const keys: Record<string, string> = {};
const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

before(async () => {
  provider = await startCanned();
  sim = await startSim();
  gateway = await startGateway();
  const account = { api_key: 'sk-upstream', max_concurrency: 100 };
  const groups = ['openai', 'claude', 'gemini', 'sim-openai', 'sim-gemini'];
  const created = await gateway.apply({
    groups: [
      { id: 'openai', style: 'responses' },
      { id: 'claude', style: 'messages' },
      { id: 'gemini', style: 'generate-content' },
      { id: 'sim-openai', style: 'responses' },
      { id: 'sim-gemini', style: 'generate-content' },
    ],
    accounts: [
      // Without a chat endpoint, so chat requests are converted.
      { id: 'oa1', group: 'openai', base_url: `${provider.url}/v1`, features: ['responses'], ...account },
      { id: 'cl1', group: 'claude', base_url: provider.url, ...account },
      { id: 'ge1', group: 'gemini', base_url: provider.url, ...account },
      { id: 'so1', group: 'sim-openai', base_url: `${sim.url}/v1`, features: ['responses'], ...account },
      { id: 'sg1', group: 'sim-gemini', base_url: sim.url, ...account },
    ],
    models: [
      { id: 'painter', groups: ['gemini'], upstream: 'plain-1', capabilities: { imageOutput: true }, prices: PRICES },
      { id: 'demo-*', groups, prices: PRICES },
    ],
    users: [{ id: 'ana', balance: '100' }],
    keys: groups.map((group) => ({ user: 'ana', group })),
  });
  Object.assign(keys, created);
});
after(async () => {
  await gateway.stop();
  await provider.close();
  await sim.close();
});

// ---------------------------------------------------------------- providers

type Json = Record<string, unknown>;

const PNG = 'iVBORw0KGgo=';
const USAGE = {
  promptTokenCount: 100,
  candidatesTokenCount: 1300,
  totalTokenCount: 1400,
  candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
};
const chunk = (parts: readonly object[], more: object = {}): Json => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
  modelVersion: IMAGE_MODEL,
  responseId: 'image1234',
});
const picture = (data: string) => ({ inlineData: { mimeType: 'image/png', data }, thoughtSignature: 'c2lnbmVk' });
const drawn = (data = PNG): Json => ({
  ...chunk([{ text: 'Here: ' }, picture(data), { text: 'Done.' }], { finishReason: 'STOP' }),
  usageMetadata: USAGE,
});
const drawnStream = (data = PNG): string[] =>
  [
    chunk([{ text: 'Here: ' }]),
    chunk([picture(data)]),
    { ...chunk([{ text: 'Done.' }], { finishReason: 'STOP' }), usageMetadata: USAGE },
  ].map((event) => `data: ${JSON.stringify(event)}\n\n`);

/** A recorded reply of a responses provider with an image, a text and the usage of both. */
const recorded = JSON.parse(
  readFileSync(new URL('../vectors/replies/responses-image.json', import.meta.url), 'utf8'),
) as { events: { event: string; data: Json }[]; unary: Json };
const RESULT = 'UklGRgAAAABXRUJQ';
const recordedStream = recorded.events.map(({ event, data }) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);

const received = (): Json => JSON.parse(provider.last.body.toString('utf8')) as Json;

// ---------------------------------------------------------------- clients

describe('the openai SDK on a generate-content group', () => {
  const client = () => openai(gateway.url, key('gemini'));
  const tool = { type: 'image_generation' as const, size: '1536x864', quality: 'high' as const };
  const ask = { model: IMAGE_MODEL, input: 'A cat.', tools: [tool] };

  test('responses.create returns an image call and names the dropped options', async () => {
    provider.respondWith(jsonResponse(JSON.stringify(drawn())));
    const { data, response } = await client().responses.create(ask).withResponse();
    assert.deepEqual(received().generationConfig, {
      responseModalities: ['TEXT', 'IMAGE'],
      imageConfig: { aspectRatio: '16:9' },
    });
    assert.equal(response.headers.get('x-gateway-dropped'), 'tools.quality');
    const call = data.output.find((item) => item.type === 'image_generation_call') ?? assert.fail('no image');
    assert.match(call.id, /^ig_/);
    assert.deepEqual([call.status, call.output_format, call.result], ['completed', 'png', PNG]);
    assert.equal(data.output_text, 'Here: Done.');
  });

  test('a responses stream has the events of the image in its place', async () => {
    provider.respondWith(sseResponse(...drawnStream()));
    const types: string[] = [];
    const stream = client().responses.stream(ask);
    for await (const event of stream) types.push(event.type);
    const first = types.indexOf('response.image_generation_call.in_progress');
    assert.deepEqual(types.slice(first - 1, first + 4), [
      'response.output_item.added',
      'response.image_generation_call.in_progress',
      'response.image_generation_call.generating',
      'response.image_generation_call.completed',
      'response.output_item.done',
    ]);
    const { output } = await stream.finalResponse();
    const visible = output.filter((item) => item.type !== 'reasoning').map((item) => item.type);
    assert.deepEqual(visible, ['message', 'image_generation_call', 'message']);
  });

  test('the next request carries the image with its signature, by previous_response_id or in the input', async () => {
    provider.respondWith(jsonResponse(JSON.stringify(drawn())));
    const first = await client().responses.create(ask);
    const expected = [{ text: 'Here: ' }, picture(PNG), { text: 'Done.' }];
    const input = 'Now at night.';
    await client().responses.create({ ...ask, input, previous_response_id: first.id });
    assert.deepEqual((received().contents as Json[])[1]?.parts, expected);
    const history = [
      { role: 'user' as const, content: 'A cat.' },
      ...first.output,
      { role: 'user' as const, content: input },
    ];
    await client().responses.create({ ...ask, input: history as never });
    assert.deepEqual((received().contents as Json[])[1]?.parts, expected);
  });

  test('chat.completions returns images, unary and streamed', async () => {
    const url = `data:image/png;base64,${PNG}`;
    const images = [{ type: 'image_url', image_url: { url } }];
    const body = { model: IMAGE_MODEL, messages: [{ role: 'user' as const, content: 'A cat.' }] };
    const modalities = ['text', 'image'] as never;
    provider.respondWith(jsonResponse(JSON.stringify(drawn())));
    const unary = await client().chat.completions.create({ ...body, modalities });
    assert.deepEqual((received().generationConfig as Json).responseModalities, ['TEXT', 'IMAGE']);
    const message = unary.choices[0]?.message as unknown as Json;
    assert.deepEqual([message.content, message.images], ['Here: Done.', images]);

    provider.respondWith(sseResponse(...drawnStream()));
    const deltas: Json[] = [];
    for await (const part of await client().chat.completions.create({ ...body, modalities, stream: true }))
      deltas.push(part.choices[0]?.delta as unknown as Json);
    const shown = deltas.flatMap(({ content, images }) => ((images ?? content) ? [images ?? content] : []));
    assert.deepEqual(shown, ['Here: ', images, 'Done.']);

    provider.respondWith(jsonResponse(JSON.stringify(drawn())));
    const [unasked] = (await client().chat.completions.create(body)).choices;
    assert.deepEqual({ ...unasked?.message, content: '' }, { ...message, content: '' }, 'it was drawn and paid for');
  });

  test('a model without image output drops the tool beside functions, and rejects it alone or forced, by name', async () => {
    provider.respondWith(jsonResponse(JSON.stringify(chunk([{ text: 'No.' }], { finishReason: 'STOP' }))));
    const plain = { ...ask, model: 'demo-generate' };
    const find = { type: 'function' as const, name: 'find', parameters: { type: 'object' }, strict: false };
    const tools = [...ask.tools, find];
    const { data, response } = await client()
      .responses.create({ ...plain, tools })
      .withResponse();
    assert.equal(response.headers.get('x-gateway-dropped'), 'tools');
    assert.deepEqual(
      data.tools.map(({ type }) => type),
      ['function'],
      'the response names no tool that the provider did not get',
    );
    const before = provider.requests.length;
    for (const tool_choice of [{ type: 'image_generation' as const }, 'required' as const, 'auto' as const]) {
      await assert.rejects(client().responses.create({ ...plain, tool_choice }), (error) => {
        assert.ok(error instanceof BadRequestError);
        assert.deepEqual([error.status, error.param], [400, 'tools[0]']);
        return true;
      });
    }
    assert.equal(provider.requests.length, before, 'nothing was sent');
    // The name says nothing about this model, so its configuration does.
    await client().responses.create({ ...ask, model: 'painter', tool_choice: { type: 'image_generation' } });
    assert.deepEqual((received().generationConfig as Json).responseModalities, ['IMAGE']);
  });
});

test('the messages SDK gets a note in place of the image', async () => {
  provider.respondWith(sseResponse(...drawnStream()));
  const message = await anthropic(gateway.url, key('gemini'))
    .messages.stream({ model: IMAGE_MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'A cat.' }] })
    .finalMessage();
  const texts = message.content.map((block) => (block.type === 'text' ? block.text : block.type));
  assert.deepEqual(texts, ['Here: ', '[image omitted]', 'Done.']);
});

test('@google/genai gets the image of its own group unchanged', async () => {
  provider.respondWith(jsonResponse(JSON.stringify(drawn())));
  const config = { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9' } };
  const reply = await google(gateway.url, key('gemini')).models.generateContent({
    model: IMAGE_MODEL,
    contents: 'A cat.',
    config,
  });
  assert.deepEqual(reply.candidates?.[0]?.content?.parts?.[1], picture(PNG));
  assert.deepEqual(received().generationConfig, config);
});

describe('the openai SDK on a responses group', () => {
  const client = () => openai(gateway.url, key('openai'));

  test('chat.completions with the image modality uses the image tool, unary and streamed', async () => {
    const url = `data:image/webp;base64,${RESULT}`;
    const body = {
      model: 'demo-responses',
      messages: [{ role: 'user' as const, content: 'A cat.' }],
      modalities: ['text', 'image'] as never,
    };
    provider.respondWith(jsonResponse(JSON.stringify(recorded.unary)));
    const unary = await client().chat.completions.create(body);
    assert.deepEqual(received().tools, [{ type: 'image_generation' }]);
    const images = [{ type: 'image_url', image_url: { url } }];
    assert.deepEqual(((unary.choices[0]?.message ?? {}) as Json).images, images);

    provider.respondWith(sseResponse(...recordedStream));
    const shown: unknown[] = [];
    for await (const part of await client().chat.completions.create({ ...body, stream: true })) {
      const delta = (part.choices[0]?.delta ?? {}) as Json;
      if (delta.images) shown.push(delta.images);
    }
    assert.deepEqual(shown, [images]);
  });

  test('native calls and converted ones are charged for the tokens of the image tool', async () => {
    const own = await gateway.apply({
      users: [{ id: 'maker', balance: '10' }],
      keys: [{ user: 'maker', group: 'openai' }],
    });
    const maker = openai(gateway.url, own.openai ?? assert.fail('no key'));
    // Of 160 input tokens 20 are cached, at the price of input, and 50 of an image. Of 1086 output tokens 1056 are an image.
    const each = 110n * 2_000n + 50n * 5_000n + 30n * 10_000n + 1056n * 40_000n;
    const ask = { model: 'demo-responses', input: 'A cat.', tools: [{ type: 'image_generation' as const }] };
    provider.respondWith(jsonResponse(JSON.stringify(recorded.unary)));
    await maker.responses.create(ask);
    provider.respondWith(sseResponse(...recordedStream));
    await maker.responses.stream(ask).finalResponse();
    const messages = [{ role: 'user' as const, content: 'A cat.' }];
    await maker.chat.completions
      .stream({ model: 'demo-responses', messages, modalities: ['text', 'image'] as never })
      .finalChatCompletion();
    const { db } = gateway.context.database;
    const costs = await until('three records', async () => {
      const rows = await db.selectFrom('usage_records').select('nanos').where('user_id', '=', 'maker').execute();
      return rows.length === 3 ? rows.map(({ nanos }) => BigInt(nanos)) : undefined;
    });
    assert.deepEqual(costs, [each, each, each]);
  });
});

// ---------------------------------------------------------------- simulated providers

describe('the openai SDK on simulated providers', () => {
  /** Width and height in the header of a PNG. */
  const sizeOf = (base64: unknown): [number, number] => {
    const bytes = Buffer.from(String(base64), 'base64');
    assert.equal(bytes.toString('latin1', 1, 4), 'PNG');
    return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  };
  const imageOf = (message: unknown): unknown =>
    ((message as Json).images as { image_url: { url: string } }[])[0]?.image_url.url.replace(
      'data:image/png;base64,',
      '',
    );
  const draw = { input: 'Please draw a cat.', tools: [{ type: 'image_generation' as const, size: '1536x864' }] };
  const messages = [{ role: 'user' as const, content: 'Please draw a cat.' }];
  const modalities = ['text', 'image'] as never;

  test('responses on the generate-content group returns a picture of the ratio, unary and streamed', async () => {
    const client = openai(gateway.url, key('sim-gemini'));
    const unary = await client.responses.create({ model: IMAGE_MODEL, ...draw });
    const streamed = await client.responses.stream({ model: IMAGE_MODEL, ...draw }).finalResponse();
    for (const { output } of [unary, streamed]) {
      const call = (output as unknown as Json[]).find((item) => item.type === 'image_generation_call');
      // The size that this provider has for 16:9.
      assert.deepEqual(sizeOf(call?.result), [1376, 768]);
    }
  });

  test('chat completions on both groups return a picture of the ratio', async () => {
    const sizes = { 'sim-gemini': [1376, 768], 'sim-openai': [1536, 864] };
    for (const [group, size] of Object.entries(sizes)) {
      const model = group === 'sim-gemini' ? IMAGE_MODEL : 'demo-responses';
      const body = { model, messages, modalities, image_config: { aspect_ratio: '16:9' } };
      const reply = await openai(gateway.url, key(group)).chat.completions.create(body);
      assert.deepEqual(sizeOf(imageOf(reply.choices[0]?.message)), size, group);
    }
  });

  longTest('a picture of tier 4K passes, and the next request sends it back', async () => {
    const client = openai(gateway.url, key('sim-gemini'));
    const body = { model: `${IMAGE_MODEL}@imagebytes=15000000`, messages };
    const large = { modalities, image_config: { aspect_ratio: '1:1', image_size: '4K' } };
    const reply = await client.chat.completions.create({ ...body, ...large });
    const message = reply.choices[0]?.message ?? assert.fail('no message');
    assert.deepEqual(sizeOf(imageOf(message)), [4096, 4096]);
    assert.ok(String(imageOf(message)).length > 19_000_000);
    const next = {
      model: IMAGE_MODEL,
      messages: [...messages, message, { role: 'user' as const, content: 'Now at night.' }],
    };
    const edited = await client.chat.completions.create({ ...next, modalities });
    assert.deepEqual(sizeOf(imageOf(edited.choices[0]?.message)), [1024, 1024]);
  });
});

// ---------------------------------------------------------------- large images

const stream = (group: string, body: object): Promise<Response> =>
  fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key(group)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: IMAGE_MODEL, input: 'A cat.', stream: true, store: false, ...body }),
  });

longTest('an image of 20 MiB passes a converted stream, with work that grows no faster than its size', async () => {
  const work = async (mebibytes: number): Promise<number> => {
    const data = 'A'.repeat(mebibytes * 2 ** 20);
    provider.respondWith(sseResponse(...drawnStream(data)));
    const begun = process.cpuUsage();
    const text = await (await stream('gemini', {})).text();
    const { user, system } = process.cpuUsage(begun);
    assert.match(text.slice(-4_000), /"status":"completed"/);
    // In `output_item.done`, and in the terminal event.
    assert.equal(text.split(`"result":"${'A'.repeat(100)}`).length - 1, 2);
    return (user + system) / 1_000;
  };
  await work(1);
  const [small, large] = [await work(5), await work(20)];
  assert.ok(large < 10 * small + 1_000, `${Math.round(small)} ms for 5 MiB, ${Math.round(large)} ms for 20 MiB`);
});

test('an image above the limit of one event ends the stream with the error of the dialect', async () => {
  provider.respondWith(sseResponse(...drawnStream('A'.repeat(33 * 2 ** 20))));
  const text = await (await stream('gemini', {})).text();
  assert.match(text, /event: response\.failed\n/);
  assert.match(text, /event that is too long/);
  assert.doesNotMatch(text, /response\.completed/);
});

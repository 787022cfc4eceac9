/** Native calls through the official SDKs. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { ApiError as GoogleError, GoogleGenAI } from '@google/genai';
import type OpenAI from 'openai';
import { type Sim, startSim } from '../../sim/index.ts';
import { setupWithChatOnly, startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, google, openai, openai6 } from '../support/sdk.ts';

let sim: Sim;
let gateway: TestGateway;
/** A replica with frequent heartbeats. */
let eager: TestGateway;
let keys: Record<string, string>;
const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply(setupWithChatOnly(sim.url));
  eager = await startGateway({ database: gateway.database, env: { HEARTBEAT_MS: '100' } });
});
after(async () => {
  await eager.stop();
  await gateway.stop();
  await sim.close();
});

const WEATHER = {
  name: 'get_weather',
  description: 'Weather of a city',
  schema: { type: 'object' as const, properties: { city: { type: 'string' as const } }, required: ['city'] },
};
const PROMPT = 'Use get_weather for "Paris".';

for (const [name, sdk] of [
  ['openai 7', openai],
  ['openai 6', openai6],
] as const) {
  for (const group of ['openai', 'chat-only'] as const) {
    describe(`${name} on a key of the ${group} group`, () => {
      const client = () => sdk(gateway.url, key(group)) as OpenAI;

      test(`G 1 r2: ${name} creates a response on the ${group} group`, async () => {
        const response = await client().responses.create({ model: 'demo-responses', input: 'hello there' });
        assert.match(response.output_text, /simulated/i);
        assert.ok((response.usage?.input_tokens ?? 0) > 0);
      });

      test(`${name} completes a responses stream on the ${group} group`, async () => {
        const final = await client()
          .responses.stream({ model: 'demo-responses', input: 'hello there' })
          .finalResponse();
        assert.equal(final.status, 'completed');
        assert.match(final.output_text, /simulated/i);
      });

      test(`${name} calls a tool and continues with its result on the ${group} group`, async () => {
        const tools = [
          {
            type: 'function' as const,
            name: WEATHER.name,
            description: WEATHER.description,
            parameters: WEATHER.schema,
            strict: false,
          },
        ];
        const first = await client().responses.create({ model: 'demo-responses', input: PROMPT, tools });
        const callItem = first.output.find((item) => item.type === 'function_call') ?? assert.fail('no call');
        const second = await client().responses.create({
          model: 'demo-responses',
          tools,
          input: [
            { role: 'user', content: PROMPT },
            ...first.output,
            { type: 'function_call_output', call_id: callItem.call_id, output: 'sunny' },
          ] as OpenAI.Responses.ResponseInput,
        });
        assert.match(second.output_text, /sunny/);
      });

      test(`${name} chat works unary and streamed, with usage on the ${group} group`, async () => {
        const done = await client().chat.completions.create({
          model: 'demo-responses',
          messages: [{ role: 'user', content: 'hello' }],
        });
        assert.match(done.choices[0]?.message.content ?? '', /simulated/i);
        const stream = client().chat.completions.stream({
          model: 'demo-responses',
          messages: [{ role: 'user', content: 'hello' }],
          stream_options: { include_usage: true },
        });
        const final = await stream.finalChatCompletion();
        assert.equal(final.choices[0]?.finish_reason, 'stop');
        assert.ok((final.usage?.total_tokens ?? 0) > 0);
      });

      test(`${name} gets provider errors with their status on the ${group} group`, async () => {
        await assert.rejects(
          client().responses.create({ model: 'demo-responses@status=422', input: 'x' }),
          (error: unknown) => error instanceof Error && 'status' in error && error.status === 422,
        );
        await assert.rejects(
          client().responses.create({ model: 'nope', input: 'x' }),
          (error: unknown) => error instanceof Error && 'code' in error && error.code === 'model_not_found',
        );
      });

      test(`G 4.4: ${name} reads, continues and deletes stored responses on the ${group} group`, async () => {
        const first = await client().responses.create({ model: 'demo-responses', input: 'keep this' });
        assert.equal((await client().responses.retrieve(first.id)).id, first.id);
        const more = await client().responses.create({
          model: 'demo-responses',
          input: 'and this',
          previous_response_id: first.id,
        });
        assert.ok(more.output_text);
        await client().responses.delete(first.id);
        await assert.rejects(
          client().responses.retrieve(first.id),
          (error: unknown) => error instanceof Error && 'status' in error && error.status === 404,
        );
      });

      test(`G 4.10: ${name} lists and reads models on the ${group} group`, async () => {
        const ids = (await client().models.list()).data.map((model) => model.id);
        assert.ok(ids.includes('demo-responses'));
        assert.equal((await client().models.retrieve('demo-responses')).id, 'demo-responses');
      });
    });
  }

  describe(`${name} on a responses-style key`, () => {
    const client = () => sdk(gateway.url, key('openai')) as OpenAI;

    test(`G 4.5: ${name} gets the same embeddings as base64 and as floats`, async () => {
      const result = await client().embeddings.create({ model: 'demo-embedding', input: ['a', 'b'], dimensions: 8 });
      assert.equal(result.data.length, 2);
      assert.equal(result.data[0]?.embedding.length, 8);
      // By default the SDK requests base64 and decodes it.
      const clear = await client().embeddings.create({
        model: 'demo-embedding',
        input: ['a', 'b'],
        dimensions: 8,
        encoding_format: 'float',
      });
      const numbers = (list: typeof result) => list.data.map(({ embedding }) => [...Float32Array.from(embedding)]);
      assert.deepEqual(numbers(result), numbers(clear));
    });

    test(`G 1 r4, G 4.8: ${name} generates and edits images`, async () => {
      const generated = await client().images.generate({ model: 'demo-image', prompt: 'a lamp', size: '1024x1024' });
      const png = Buffer.from(generated.data?.[0]?.b64_json ?? '', 'base64');
      assert.equal(png.subarray(1, 4).toString(), 'PNG');
      const edited = await client().images.edit({
        image: new File([png], 'lamp.png', { type: 'image/png' }),
        prompt: 'brighter',
        model: 'demo-image',
      });
      assert.ok(edited.data?.[0]?.b64_json);
    });

    test(`G 4.9 r3, G 7 r1: ${name} gets 400 for an image size above the pixel budget`, async () => {
      const draw = (more: object) => client().images.generate({ model: 'demo-image', prompt: 'a lamp', ...more });
      const isRejected = (message: RegExp) => (error: unknown) =>
        error instanceof Error && 'status' in error && error.status === 400 && message.test(error.message);
      await assert.rejects(draw({ size: '3328x2496' }), isRejected(/pixel budget/));
      await assert.rejects(draw({ background: 'transparent', output_format: 'jpeg' }), isRejected(/transparent/i));
      const largest = await draw({ size: '3840x2160' });
      assert.ok(largest.data?.[0]?.b64_json);
    });

    test(`G 6: ${name} gets partial images, and heartbeats between them`, async () => {
      const client = sdk(eager.url, key('openai')) as OpenAI;
      const body = { model: 'demo-image@gap=300', prompt: 'a hill', stream: true as const, partial_images: 2 };
      const events = [];
      for await (const event of await client.images.generate(body)) events.push(event);
      assert.deepEqual(
        events.map(({ type }) => type),
        ['image_generation.partial_image', 'image_generation.partial_image', 'image_generation.completed'],
      );
      const last = events.at(-1);
      assert.ok(last?.type === 'image_generation.completed' && last.usage.total_tokens > 0);
      const raw = await fetch(`${eager.url}/v1/images/generations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key('openai')}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      assert.match(await raw.text(), /partial_image.*\n\n: hb\n\n.*event: image_generation\.completed/s);
    });
  });
}

test('G 4.10: one model list is readable by the OpenAI and Anthropic SDKs', async () => {
  for (const group of ['openai', 'claude', 'gemini']) {
    const known = (await openai(gateway.url, key(group)).models.list()).data;
    const listed = [];
    for await (const model of anthropic(gateway.url, key(group)).models.list()) listed.push(model);
    assert.deepEqual(known.map(({ id }) => id).sort(), listed.map(({ id }) => id).sort());
    assert.ok(known.every(({ object, created }) => object === 'model' && typeof created === 'number'));
    assert.ok(listed.every(({ type, display_name }) => type === 'model' && display_name.length > 0));
  }
});

describe('the messages SDK on a messages-style key', () => {
  const client = () => anthropic(gateway.url, key('claude'));
  const body = (content: string, more: object = {}) => ({
    model: 'demo-messages',
    max_tokens: 1000,
    messages: [{ role: 'user' as const, content }],
    ...more,
  });

  test('G 1 r2: @anthropic-ai/sdk creates, streams and counts a message', async () => {
    const message = await client().messages.create(body('hello'));
    assert.equal(message.stop_reason, 'end_turn');
    const final = await client().messages.stream(body('hello')).finalMessage();
    assert.deepEqual(
      final.content.map((block) => block.type),
      ['text'],
    );
    assert.ok(
      (await client().messages.countTokens({ model: 'demo-messages', messages: [{ role: 'user', content: 'hello' }] }))
        .input_tokens > 0,
    );
  });

  test('@anthropic-ai/sdk calls a tool', async () => {
    const message = await client().messages.create(
      body(PROMPT, { tools: [{ name: WEATHER.name, description: WEATHER.description, input_schema: WEATHER.schema }] }),
    );
    assert.equal(message.stop_reason, 'tool_use');
    assert.deepEqual(message.content.find((block) => block.type === 'tool_use')?.input, { city: 'Paris' });
  });

  test('G 6: @anthropic-ai/sdk abort in a stream aborts the upstream call', async () => {
    sim.journal.clear();
    const stream = client().messages.stream(body('hello', { model: 'demo-messages@events=100000;gap=40' }));
    for await (const event of stream) if (event.type === 'content_block_delta') break;
    stream.abort();
    const entry = await sim.journal.waitFor((seen) => seen.aborted);
    assert.ok(entry.aborted);
  });

  test('@anthropic-ai/sdk throws its error classes', async () => {
    await assert.rejects(client().messages.create(body('x', { model: 'nope' })), Anthropic.NotFoundError);
    await assert.rejects(
      client().messages.create(body('x', { model: 'demo-messages@status=400' })),
      Anthropic.BadRequestError,
    );
    await assert.rejects(
      anthropic(gateway.url, 'dg-wrong-key-of-some-length').messages.create(body('x')),
      Anthropic.AuthenticationError,
    );
  });

  test('@anthropic-ai/sdk lists models page by page', async () => {
    const ids: string[] = [];
    for await (const model of client().models.list({ limit: 1 })) ids.push(model.id);
    assert.ok(ids.includes('demo-messages'));
    assert.equal(new Set(ids).size, ids.length);
  });
});

describe('the native SDK on a generate-content-style key', () => {
  const client = () => google(gateway.url, key('gemini'));

  test('G 1 r2, G 4.6 r1, r2, r3: @google/genai generates, streams and counts content', async () => {
    const response = await client().models.generateContent({ model: 'demo-generate', contents: 'hello' });
    assert.match(response.text ?? '', /simulated/i);
    let text = '';
    for await (const chunk of await client().models.generateContentStream({
      model: 'demo-generate',
      contents: 'hello',
    }))
      text += chunk.text ?? '';
    assert.equal(text, response.text);
    assert.ok(
      ((await client().models.countTokens({ model: 'demo-generate', contents: 'hello' })).totalTokens ?? 0) > 0,
    );
  });

  test('@google/genai reaches the upstream model of an alias', async () => {
    sim.journal.clear();
    await client().models.generateContent({ model: 'alias-x', contents: 'hello' });
    assert.equal(sim.journal.requests.at(-1)?.path, '/v1beta/models/demo-generate:generateContent');
  });

  test('@google/genai throws its error class', async () => {
    await assert.rejects(
      client().models.generateContent({ model: 'nope', contents: 'x' }),
      (error: unknown) => error instanceof GoogleError && error.status === 404,
    );
  });

  test('G 4.6 r4: @google/genai lists and reads models', async () => {
    const names: string[] = [];
    for await (const model of await client().models.list({ config: { pageSize: 1 } })) names.push(model.name ?? '');
    assert.ok(names.includes('models/demo-generate'));
    assert.equal((await client().models.get({ model: 'demo-generate' })).name, 'models/demo-generate');
  });

  test('G 4.6: @google/genai works with the version v1', async () => {
    const v1 = new GoogleGenAI({ apiKey: key('gemini'), apiVersion: 'v1', httpOptions: { baseUrl: gateway.url } });
    sim.journal.clear();
    const { text } = await v1.models.generateContent({ model: 'alias-x', contents: 'hello' });
    assert.match(text ?? '', /simulated/i);
    assert.equal(sim.journal.requests.at(-1)?.path, '/v1beta/models/demo-generate:generateContent');
    let streamed = '';
    for await (const chunk of await v1.models.generateContentStream({ model: 'alias-x', contents: 'hello' }))
      streamed += chunk.text ?? '';
    assert.equal(streamed, text);
    assert.ok(((await v1.models.countTokens({ model: 'alias-x', contents: 'hello' })).totalTokens ?? 0) > 0);
    const names: string[] = [];
    for await (const model of await v1.models.list({ config: { pageSize: 1 } })) names.push(model.name ?? '');
    assert.ok(names.includes('models/demo-generate'));
    const { name, supportedActions } = await v1.models.get({ model: 'demo-generate' });
    assert.equal(name, 'models/demo-generate');
    assert.ok(supportedActions?.includes('generateContent'));
    await assert.rejects(
      v1.models.get({ model: 'nope' }),
      (error: unknown) => error instanceof GoogleError && /NOT_FOUND/.test(error.message),
    );
  });
});

test('G 4.7: GET /v1/models has the shape of the SDK family that the credential header names', async () => {
  const list = async (headers: Record<string, string>) =>
    (await (await fetch(`${gateway.url}/v1/models`, { headers })).json()) as Record<string, unknown> & {
      models: { supportedGenerationMethods: string[] }[];
    };
  const bearer = { authorization: `Bearer ${key('gemini')}` };
  assert.ok('data' in (await list(bearer)));
  assert.ok('data' in (await list({ ...bearer, 'x-goog-api-key': 'of-another-service' })));
  assert.ok('data' in (await list({ 'x-api-key': key('gemini') })));
  assert.ok('models' in (await list({ 'x-goog-api-key': key('gemini') })));
  const { models } = await list({ 'x-goog-api-key': key('claude') });
  assert.deepEqual(models[0]?.supportedGenerationMethods, [], 'a messages key can call no native method');
});

test('G 7 r3: GET /v1/models reports errors in the format of the SDK family that asks', async () => {
  const response = await fetch(`${gateway.url}/v1/models`, { headers: { 'x-goog-api-key': 'dg-wrong' } });
  assert.equal(response.status, 401);
  assert.equal(((await response.json()) as { error: { status: string } }).error.status, 'UNAUTHENTICATED');
});

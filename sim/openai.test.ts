import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { CALLED, defined, PERSON, QUESTION, TIME, WEATHER } from './fixtures.ts';
import { type Sim, startSim } from './index.ts';

// The official clients validate the shape of every response.

let sim: Sim;
let openai: OpenAI;
let openai6: OpenAI6;

before(async () => {
  sim = await startSim();
  openai = new OpenAI({ apiKey: 'sk-any', baseURL: `${sim.url}/v1`, maxRetries: 0 });
  openai6 = new OpenAI6({ apiKey: 'sk-any', baseURL: `${sim.url}/v1`, maxRetries: 0 });
});

after(() => sim.close());

for (const [name, client] of [
  ['openai 7', () => openai],
  ['openai 6', () => openai6 as unknown as OpenAI],
] as const) {
  describe(`chat completions with ${name}`, () => {
    const model = 'demo-responses';
    const tools = [WEATHER, TIME].map((tool) => ({
      type: 'function' as const,
      function: { name: tool.name, description: tool.description, parameters: tool.schema },
    }));

    test('streams the same reply that it returns, with usage', async () => {
      const body = { model, messages: [{ role: 'user' as const, content: `hi ${name}` }] };
      const unary = await client().chat.completions.create({ ...body, reasoning_effort: 'low' });
      const stream = client().chat.completions.stream({ ...body, stream_options: { include_usage: true } });
      const streamed = await stream.finalChatCompletion();
      assert.equal(streamed.choices[0]?.message.content, unary.choices[0]?.message.content);
      assert.equal(streamed.choices[0]?.finish_reason, 'stop');
      assert.ok(defined(defined(unary.usage).completion_tokens_details?.reasoning_tokens) > 0);
      assert.equal(streamed.usage?.prompt_tokens_details?.cached_tokens, 3);
    });

    test('calls tools in a stream and quotes their results', async () => {
      const question = [{ role: 'user' as const, content: QUESTION }];
      const first = await client().chat.completions.stream({ model, tools, messages: question }).finalChatCompletion();
      const { message, finish_reason } = defined(first.choices[0]);
      const call = defined(message.tool_calls?.[0]);
      assert.equal(finish_reason, 'tool_calls');
      assert.deepEqual(call.type === 'function' && JSON.parse(call.function.arguments), CALLED);
      const result = { role: 'tool' as const, tool_call_id: call.id, content: 'sunny' };
      const second = await client().chat.completions.create({ model, tools, messages: [...question, message, result] });
      assert.match(defined(second.choices[0]?.message.content), /get_weather returned: "sunny"/);
      await assert.rejects(
        client().chat.completions.create({ model, messages: [...question, message] }),
        /did not have response/,
      );
    });

    test('applies stop sequences, limits, formats and refusals', async () => {
      const ask = async (content: string, more: object) => {
        const done = await client().chat.completions.create({ model, messages: [{ role: 'user', content }], ...more });
        return defined(done.choices[0]);
      };
      assert.equal((await ask('x', { stop: ['simulated'] })).message.content, 'This is a ');
      assert.equal((await ask('x', { max_completion_tokens: 2 })).finish_reason, 'length');
      assert.match(defined((await ask('please refuse', {})).message.refusal), /declined/);
      const response_format = { type: 'json_schema', json_schema: { name: 'person', schema: PERSON } };
      assert.equal((await ask('It is Ada', { response_format })).message.content, '{"name":"Ada","age":1}');
    });
  });

  describe(`responses with ${name}`, () => {
    const model = 'demo-responses';
    const tools = [WEATHER, TIME].map((tool) => ({
      type: 'function' as const,
      name: tool.name,
      description: tool.description,
      parameters: tool.schema,
      strict: false,
    }));

    test('streams the same reply that it returns', async () => {
      const unary = await client().responses.create({ model, input: 'hello', instructions: name });
      const streamed = await client().responses.stream({ model, input: 'hello', instructions: name }).finalResponse();
      assert.equal(unary.output_text, 'This is a simulated answer from demo-responses. You said: "hello".');
      assert.equal(streamed.output_text, unary.output_text);
      assert.equal(streamed.status, 'completed');
      assert.equal(streamed.usage?.input_tokens_details.cached_tokens, 4);
    });

    test('sends all events in order, with sequence numbers', async () => {
      const stream = await client().responses.create({
        model,
        input: 'x',
        stream: true,
        reasoning: { effort: 'low', summary: 'auto' },
      });
      const events = [];
      for await (const event of stream) events.push(event);
      assert.deepEqual(
        events.map((event) => event.sequence_number),
        [...events.keys()],
      );
      const order = events.map((event) => event.type).filter((type, index, all) => type !== all[index - 1]);
      assert.deepEqual(order, [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.reasoning_summary_part.added',
        'response.reasoning_summary_text.delta',
        'response.reasoning_summary_text.done',
        'response.reasoning_summary_part.done',
        'response.output_item.done',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ]);
    });

    test('calls tools and continues the stored response', async () => {
      const input = 'explain, then use get_weather and get_time in Oslo';
      const first = await client()
        .responses.stream({ model, tools, input: input.replace('then ', '') })
        .finalResponse();
      const calls = first.output.filter((item) => item.type === 'function_call');
      assert.deepEqual(
        first.output.map((item) => item.type),
        ['message', 'function_call', 'function_call'],
      );
      assert.deepEqual(JSON.parse(defined(calls[0]).arguments), { ...CALLED, city: 'Oslo' });
      const outputs = calls.map((call) => ({
        type: 'function_call_output' as const,
        call_id: call.call_id,
        output: 'fine',
      }));
      const second = await client().responses.create({ model, tools, previous_response_id: first.id, input: outputs });
      assert.match(second.output_text, /get_weather returned: "fine".*get_time returned: "fine"/);
      await assert.rejects(client().responses.create({ model, input: outputs }), /No tool call found/);
      const lost = client().responses.create({ model, input: 'x', previous_response_id: 'resp_none' });
      await assert.rejects(lost, { code: 'previous_response_not_found' });
    });

    test('makes one call per step for one tool, then another', async () => {
      const input = 'use get_weather, then get_time';
      const first = await client().responses.create({ model, tools, input });
      const call = defined(first.output[0]);
      assert.ok(call.type === 'function_call' && first.output.length === 1 && call.name === 'get_weather');
      const output = { type: 'function_call_output' as const, call_id: call.call_id, output: 'fine' };
      const second = await client().responses.create({ model, tools, previous_response_id: first.id, input: [output] });
      assert.ok(second.output[0]?.type === 'function_call' && second.output[0].name === 'get_time');
    });

    test('returns encrypted reasoning, refusals, truncated text and custom tool calls', async () => {
      const hidden = await client().responses.create({ model, input: 'x', reasoning: { effort: 'high' } });
      const [item] = hidden.output;
      assert.ok(item?.type === 'reasoning' && item.encrypted_content && item.summary.length === 0);
      const strict = { model: `${model}@strict`, store: false };
      const mine = client().responses.create({ ...strict, input: [item, { role: 'user', content: 'more' }] });
      assert.equal((await mine).status, 'completed');
      const foreign = client().responses.create({ ...strict, input: [{ ...item, encrypted_content: 'eA==' }] });
      await assert.rejects(foreign, { code: 'invalid_encrypted_content' });
      const refused = await client().responses.stream({ model, input: 'please refuse' }).finalResponse();
      assert.match(JSON.stringify(refused.output), /"type":"refusal"/);
      const cut = await client()
        .responses.stream({ model, input: 'y'.repeat(200), max_output_tokens: 16 })
        .finalResponse();
      assert.deepEqual([cut.status, cut.incomplete_details?.reason], ['incomplete', 'max_output_tokens']);
      const custom = { type: 'custom' as const, name: 'run_code' };
      const free = await client()
        .responses.stream({ model, tools: [custom], input: 'run_code "print(1)"' })
        .finalResponse();
      assert.ok(free.output[0]?.type === 'custom_tool_call' && free.output[0].input === 'print(1)');
    });

    test('reads, lists, deletes, cancels, counts and compacts stored responses', async () => {
      const created = await client().responses.create({ model, input: 'keep me' });
      assert.deepEqual((await client().responses.retrieve(created.id)).output, created.output);
      const items = await client().responses.inputItems.list(created.id);
      assert.match(JSON.stringify(items.data), /keep me/);
      await assert.rejects(client().responses.cancel(created.id), /synchronous/);
      await client().responses.delete(created.id);
      await assert.rejects(client().responses.retrieve(created.id), { status: 404 });
      const queued = await client().responses.create({ model, input: 'later', background: true });
      assert.equal(queued.status, 'queued');
      assert.equal((await client().responses.cancel(queued.id)).status, 'cancelled');
      assert.equal((await client().responses.inputTokens.count({ model, input: '12345678' })).input_tokens, 2);
      const compacted = await client().responses.compact({ model, input: 'long story' });
      assert.equal(compacted.output.at(-1)?.type, 'compaction');
    });
  });
}

describe('embeddings, images, models', () => {
  test('returns unit vectors in both encodings', async () => {
    const ask = { model: 'demo-embedding', input: ['one', 'two'], dimensions: 8 };
    const packed = await openai.embeddings.create(ask);
    const floats = await openai.embeddings.create({ ...ask, encoding_format: 'float' });
    assert.deepEqual(packed.data, floats.data);
    const [one, two] = floats.data.map((entry) => entry.embedding);
    assert.notDeepEqual(one, two);
    assert.ok(Math.abs(Math.hypot(...defined(one)) - 1) < 1e-6);
    assert.equal((await openai.embeddings.create({ model: 'm', input: 'x' })).data[0]?.embedding.length, 256);
  });

  test('returns valid PNGs, unary, streamed and edited', async () => {
    const model = 'demo-image';
    const unary = await openai.images.generate({ model, prompt: 'a hill', n: 2, size: '1536x1024' });
    const png = Buffer.from(defined(unary.data?.[0]?.b64_json), 'base64');
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20), unary.data?.length], [1536, 1024, 2]);
    assert.ok(defined(unary.usage).output_tokens > 0);
    const stream = await openai.images.generate({ model, prompt: 'a hill', stream: true, partial_images: 2 });
    const types = [];
    for await (const event of stream) types.push(event.type);
    assert.deepEqual(types, [
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
    ]);
    const image = new File([new Uint8Array(png)], 'hill.png', { type: 'image/png' });
    const edited = await openai.images.edit({ model, prompt: 'greener', image });
    assert.equal(edited.usage?.input_tokens_details.image_tokens, 200);
    await assert.rejects(
      openai.images.generate({ model, prompt: 'x', size: '3840x3840' }),
      /exceeds the current pixel budget/,
    );
  });

  test('lists the models of each provider', async () => {
    const list = await openai.models.list();
    assert.deepEqual(
      list.data.map((entry) => entry.id),
      ['demo-responses', 'demo-image', 'demo-embedding'],
    );
    assert.equal((await openai.models.retrieve('demo-image')).object, 'model');
    await assert.rejects(openai.models.retrieve('nothing'), { status: 404, code: 'model_not_found' });
  });
});

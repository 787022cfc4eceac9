import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { CALLED, defined, PERSON, QUESTION, TIME, WEATHER } from './fixtures.ts';
import { type Sim, startSim } from './index.ts';

// The official client validates the shape of every response.

let sim: Sim;
let anthropic: Anthropic;

before(async () => {
  sim = await startSim();
  anthropic = new Anthropic({ apiKey: 'sk-any', baseURL: sim.url, maxRetries: 0 });
});

after(() => sim.close());

describe('messages', () => {
  const model = 'demo-messages';
  const tools = [WEATHER, TIME].map(({ name, description, schema }) => ({ name, description, input_schema: schema }));
  const user = (content: string) => ({ role: 'user' as const, content });

  test('streams the same reply that it returns', async () => {
    const body = { model, max_tokens: 200, messages: [user('hello there')] };
    const unary = await anthropic.messages.create(body);
    const streamed = await anthropic.messages.stream(body).finalMessage();
    const [block] = unary.content;
    assert.ok(block?.type === 'text');
    assert.equal(block.text, 'This is a simulated answer from demo-messages. You said: "hello there".');
    assert.equal(streamed.content[0]?.type === 'text' && streamed.content[0].text, block.text);
    assert.equal(unary.stop_reason, 'end_turn');
    assert.equal(unary.usage.cache_read_input_tokens, 0);
    assert.equal(streamed.usage.cache_read_input_tokens, 3);
    assert.match(defined(unary._request_id), /^req_/);
  });

  test('calls a tool and quotes its result', async () => {
    const asked = [user(QUESTION)];
    const stream = anthropic.messages.stream({ model, max_tokens: 200, tools, messages: asked });
    const first = await stream.finalMessage();
    const call = defined(first.content.find((block) => block.type === 'tool_use'));
    assert.equal(first.stop_reason, 'tool_use');
    assert.deepEqual(call.input, CALLED);
    const result = { type: 'tool_result' as const, tool_use_id: call.id, content: 'sunny' };
    const messages = [
      ...asked,
      { role: 'assistant' as const, content: first.content },
      { role: 'user' as const, content: [result] },
    ];
    const second = await anthropic.messages.create({ model, max_tokens: 200, tools, messages });
    assert.match(JSON.stringify(second.content), /get_weather returned: \\"sunny\\"/);
    await assert.rejects(
      anthropic.messages.create({ model, max_tokens: 200, messages: messages.slice(0, 2).concat(user('so?')) }),
      /without `tool_result` blocks immediately after/,
    );
  });

  test('makes parallel calls unless they are disabled', async () => {
    const messages = [user('use get_weather and get_time for "Rome"')];
    const both = await anthropic.messages.create({ model, max_tokens: 200, tools, messages });
    assert.deepEqual(
      both.content.map((block) => block.type === 'tool_use' && block.name),
      ['get_weather', 'get_time'],
    );
    const twice = [user('please call `get_weather` in parallel for Paris and New York')];
    const cities = await anthropic.messages.create({ model, max_tokens: 200, tools, messages: twice });
    assert.deepEqual(
      cities.content.map((block) => block.type === 'tool_use' && block.input),
      [CALLED, { ...CALLED, city: 'New York' }],
    );
    const tool_choice = { type: 'auto' as const, disable_parallel_tool_use: true };
    const one = await anthropic.messages.create({ model, max_tokens: 200, tools, tool_choice, messages });
    assert.equal(one.content.length, 1);
    const none = await anthropic.messages.create({
      model,
      max_tokens: 200,
      tools,
      tool_choice: { type: 'none' },
      messages,
    });
    assert.equal(none.content[0]?.type, 'text');
    const forced = { type: 'tool' as const, name: 'get_time' };
    const named = await anthropic.messages.create({
      model,
      max_tokens: 200,
      tools,
      tool_choice: forced,
      messages: [user('hi')],
    });
    assert.equal(named.content[0]?.type === 'tool_use' && named.content[0].name, 'get_time');
  });

  test('returns thinking with a signature that strict mode verifies', async () => {
    const body = { model, max_tokens: 2000, thinking: { type: 'adaptive' as const }, messages: [user('think hard')] };
    const message = await anthropic.messages.stream(body).finalMessage();
    const [thinking, text] = message.content;
    assert.ok(thinking?.type === 'thinking' && thinking.thinking !== '' && thinking.signature !== '');
    assert.equal(text?.type, 'text');
    assert.ok(defined(message.usage.output_tokens_details).thinking_tokens > 0);
    const replay = (signature: string) =>
      anthropic.messages.create({
        ...body,
        model: `${model}@strict`,
        messages: [...body.messages, { role: 'assistant', content: [{ ...thinking, signature }] }, user('go on')],
      });
    await replay(thinking.signature);
    await assert.rejects(replay('bm90IG1pbmU='), /Invalid `signature` in `thinking` block/);
  });

  test('applies stop sequences, limits, formats and refusals', async () => {
    const ask = (content: string, more: object) =>
      anthropic.messages.create({ model, max_tokens: 200, messages: [user(content)], ...more });
    const stopped = await ask('x', { stop_sequences: ['answer'] });
    assert.deepEqual([stopped.stop_reason, stopped.stop_sequence], ['stop_sequence', 'answer']);
    const short = await ask('x', { max_tokens: 3 });
    assert.deepEqual([short.stop_reason, short.usage.output_tokens], ['max_tokens', 3]);
    const refused = await ask('please refuse', {});
    assert.deepEqual([refused.stop_reason, refused.content.length], ['refusal', 0]);
    const formed = await ask('It is Ada', { output_config: { format: { type: 'json_schema', schema: PERSON } } });
    assert.deepEqual(JSON.parse(formed.content[0]?.type === 'text' ? formed.content[0].text : ''), {
      name: 'Ada',
      age: 1,
    });
    const cached = await ask('fresh words', { cache_control: { type: 'ephemeral' } });
    assert.equal(cached.usage.cache_creation_input_tokens, 3);
  });

  test('counts tokens and lists models', async () => {
    const counted = await anthropic.messages.countTokens({ model, messages: [user('12345678')] });
    assert.equal(counted.input_tokens, 2);
    const list = await anthropic.models.list();
    assert.deepEqual(
      list.data.map((entry) => entry.id),
      [model],
    );
  });
});

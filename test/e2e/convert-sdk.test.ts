/** Converted calls through the official SDKs, streamed and unary. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type OpenAI from 'openai';
import { type Sim, startSim } from '../../sim/index.ts';
import { setupWithChatOnly, startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, openai, openai6 } from '../support/sdk.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;
const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply(setupWithChatOnly(sim.url));
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' as const } }, required: ['city'] };
const PROMPT = 'Use get_weather for "Paris".';
const MODEL = {
  openai: 'demo-responses',
  'chat-only': 'demo-responses',
  claude: 'demo-messages',
  gemini: 'demo-generate',
} as const;

for (const group of ['openai', 'chat-only', 'gemini'] as const) {
  describe(`the messages SDK on the ${group} group`, () => {
    const client = () => anthropic(gateway.url, key(group));
    const body = (content: string, more: object = {}) => ({
      model: MODEL[group],
      max_tokens: 1000,
      messages: [{ role: 'user' as const, content }],
      ...more,
    });

    test(`G 4.2: @anthropic-ai/sdk gets the same message streamed and unary on the ${group} group`, async () => {
      const whole = await client().messages.create(body('hello there', { system: 'Be brief.' }));
      const streamed = await client()
        .messages.stream(body('hello there', { system: 'Be brief.' }))
        .finalMessage();
      assert.equal(whole.stop_reason, 'end_turn');
      assert.equal(whole.model, MODEL[group]);
      assert.deepEqual(streamed.content, whole.content);
      assert.match(JSON.stringify(whole.content), /simulated/i);
      assert.ok(whole.usage.input_tokens + (whole.usage.cache_read_input_tokens ?? 0) > 0);
    });

    test(`@anthropic-ai/sdk gets a tool call with its arguments and continues with the result on the ${group} group`, async () => {
      const tools = [{ name: 'get_weather', description: 'Weather of a city', input_schema: SCHEMA }];
      for (const message of [
        await client().messages.create(body(PROMPT, { tools })),
        await client().messages.stream(body(PROMPT, { tools })).finalMessage(),
      ]) {
        assert.equal(message.stop_reason, 'tool_use');
        const use = message.content.find((block) => block.type === 'tool_use') ?? assert.fail('no tool_use');
        assert.deepEqual(use.input, { city: 'Paris' });
        const next = await client().messages.create({
          model: MODEL[group],
          max_tokens: 1000,
          tools,
          messages: [
            { role: 'user', content: PROMPT },
            { role: 'assistant', content: message.content },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'sunny' }] },
          ],
        });
        assert.match(JSON.stringify(next.content), /sunny/);
      }
    });

    test(`POST /v1/messages returns no citations as an empty list on the ${group} group`, async () => {
      // The official type requires the member, and @ai-sdk/anthropic 3 rejects a response with `citations: null`.
      const whole = await client().messages.create(body('hello there'));
      const [{ text } = { text: '' }] = whole.content as { text: string }[];
      assert.deepEqual(whole.content, [{ type: 'text', text, citations: [] }]);
      for await (const event of client().messages.stream(body('hello there')))
        if (event.type === 'content_block_start')
          assert.deepEqual(event.content_block, { type: 'text', text: '', citations: [] });
    });

    test(`G 4.1: @anthropic-ai/sdk can read dropped fields in x-gateway-dropped on the ${group} group`, async () => {
      const { response } = await client()
        .messages.create(body('hi', { top_k: 5 }))
        .withResponse();
      assert.equal(response.headers.get('x-gateway-dropped'), group === 'gemini' ? null : 'top_k');
      assert.match(response.headers.get('x-gateway-converted') ?? '', /^messages->/);
    });
  });
}

for (const [name, sdk] of [
  ['openai 7', openai],
  ['openai 6', openai6],
] as const) {
  for (const group of ['chat-only', 'claude', 'gemini'] as const) {
    describe(`${name} on the ${group} group`, () => {
      const client = () => sdk(gateway.url, key(group)) as OpenAI;

      test(`${name} gets the same chat completion streamed and unary on the ${group} group`, async () => {
        const body = {
          model: MODEL[group],
          messages: [
            { role: 'system' as const, content: 'Be brief.' },
            { role: 'user' as const, content: 'hello there' },
          ],
        };
        const whole = await client().chat.completions.create(body);
        const streamed = await client()
          .chat.completions.stream({ ...body, stream_options: { include_usage: true } })
          .finalChatCompletion();
        assert.equal(streamed.choices[0]?.message.content, whole.choices[0]?.message.content);
        assert.equal(whole.choices[0]?.finish_reason, 'stop');
        assert.ok((streamed.usage?.prompt_tokens ?? 0) > 0);
      });

      test(`${name} chat calls a tool and continues with the result on the ${group} group`, async () => {
        const tools = [
          {
            type: 'function' as const,
            function: { name: 'get_weather', description: 'Weather of a city', parameters: SCHEMA },
          },
        ];
        const first = await client().chat.completions.create({
          model: MODEL[group],
          tools,
          messages: [{ role: 'user', content: PROMPT }],
        });
        const message = first.choices[0]?.message ?? assert.fail();
        const call = message.tool_calls?.[0] ?? assert.fail('no call');
        assert.equal(first.choices[0]?.finish_reason, 'tool_calls');
        const second = await client().chat.completions.create({
          model: MODEL[group],
          tools,
          messages: [
            { role: 'user', content: PROMPT },
            message,
            { role: 'tool', tool_call_id: call.id, content: 'sunny' },
          ],
        });
        assert.match(second.choices[0]?.message.content ?? '', /sunny/);
      });

      test(`${name} gets the same response streamed and unary on the ${group} group`, async () => {
        const body = { model: MODEL[group], instructions: 'Be brief.', input: 'hello there' };
        const whole = await client().responses.create(body);
        const streamed = await client().responses.stream(body).finalResponse();
        assert.equal(whole.status, 'completed');
        assert.equal(streamed.output_text, whole.output_text);
        assert.match(whole.output_text, /simulated/i);
      });

      test(`${name} responses call a tool and continue with the result on the ${group} group`, async () => {
        const tools = [
          {
            type: 'function' as const,
            name: 'get_weather',
            description: 'Weather of a city',
            parameters: SCHEMA,
            strict: false,
          },
        ];
        const first = await client().responses.stream({ model: MODEL[group], input: PROMPT, tools }).finalResponse();
        const call = first.output.find((item) => item.type === 'function_call') ?? assert.fail('no call');
        assert.deepEqual(JSON.parse(call.arguments), { city: 'Paris' });
        const second = await client().responses.create({
          model: MODEL[group],
          tools,
          input: [
            { role: 'user', content: PROMPT },
            ...first.output,
            { type: 'function_call_output', call_id: call.call_id, output: 'sunny' },
          ] as OpenAI.Responses.ResponseInput,
        });
        assert.match(second.output_text, /sunny/);
      });
    });
  }
}

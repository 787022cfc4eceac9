/** Tool loops of client libraries: the AI SDK with each of its providers, and the tool runners of the official SDKs. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { generateText, isStepCount, jsonSchema, type LanguageModel, Output, streamText, tool } from 'ai';
import Anthropic0 from 'anthropic-0';
import { betaTool as betaTool0 } from 'anthropic-0/helpers/beta/json-schema';
import type OpenAI from 'openai';
import { type Sim, startSim } from '../../sim/index.ts';
import { setupWithChatOnly, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { anthropic, openai, openai6 } from '../support/sdk.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;
const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

before(async () => {
  (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply(setupWithChatOnly(sim.url));
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const GROUPS = ['openai', 'chat-only', 'claude', 'gemini'] as const;
const PATH = {
  type: 'object' as const,
  properties: { path: { type: 'string' as const } },
  required: ['path' as const],
  additionalProperties: false,
};
/** The second reply calls a tool again, so that opaque values of the first must be sent back. */
const ASK = 'Use read_file, then edit_file for "src/lamp.ts".';
const sentBodies = (): string[] => sim.journal.requests.map(({ body }) => body?.toString() ?? '');

// ---------------------------------------------------------------- AI SDK

interface Provider {
  readonly name: string;
  readonly groups: readonly string[];
  model(group: string): LanguageModel;
  readonly options: Parameters<typeof generateText>[0]['providerOptions'];
}

const settings = (group: string, version = 'v1') => ({ baseURL: `${gateway.url}/${version}`, apiKey: key(group) });
/** The simulator rejects damaged opaque values of this model. A chat-only server has none, but shows what it thinks. */
const modelOn = (group: string): string => (group === 'chat-only' ? 'demo-text@server=vllm' : 'demo-text@strict');
const THINKS = { forceReasoning: true, reasoningEffort: 'high', reasoningSummary: 'auto' };

const PROVIDERS: readonly Provider[] = [
  {
    name: '@ai-sdk/anthropic',
    groups: GROUPS,
    model: (group) => createAnthropic(settings(group))(modelOn(group)),
    options: {
      anthropic: { thinking: { type: 'enabled', budgetTokens: 2_000 }, structuredOutputMode: 'outputFormat' },
    },
  },
  {
    name: '@ai-sdk/openai for responses',
    groups: GROUPS,
    model: (group) => createOpenAI(settings(group)).responses(modelOn(group)),
    options: { openai: { ...THINKS, store: false } },
  },
  {
    name: '@ai-sdk/openai for responses that are stored',
    groups: GROUPS,
    model: (group) => createOpenAI(settings(group)).responses(modelOn(group)),
    options: { openai: { ...THINKS, store: true } },
  },
  {
    name: '@ai-sdk/openai for chat',
    groups: GROUPS,
    model: (group) => createOpenAI(settings(group)).chat(modelOn(group)),
    options: { openai: { reasoningEffort: 'high', forceReasoning: true } },
  },
  {
    name: '@ai-sdk/google',
    groups: ['gemini'],
    model: (group) => createGoogle(settings(group, 'v1beta'))(modelOn(group)),
    options: { google: { thinkingConfig: { includeThoughts: true, thinkingLevel: 'high' } } },
  },
];

const aiTools = {
  read_file: tool({
    description: 'Gives a file.',
    inputSchema: jsonSchema<{ path: string }>(PATH),
    execute: async ({ path }) => `content of ${path}`,
  }),
  edit_file: tool({
    description: 'Changes a file.',
    inputSchema: jsonSchema<{ path: string }>(PATH),
    execute: async () => ({ changed: true }),
  }),
};

for (const { name, groups, model, options: providerOptions } of PROVIDERS) {
  for (const group of groups) {
    describe(`${name} on the ${group} group`, () => {
      const options = (prompt: string) => ({
        model: model(group),
        maxRetries: 0,
        ...(providerOptions && { providerOptions }),
        prompt,
      });

      test(`${name} generates the same text unary and streamed on the ${group} group`, async () => {
        const whole = await generateText({ ...options('hello there'), instructions: 'Be brief.' });
        assert.match(whole.text, /simulated answer/);
        assert.equal(whole.finishReason, 'stop');
        assert.ok((whole.usage.inputTokens ?? 0) > 0 && (whole.usage.outputTokens ?? 0) > 0);
        const streamed = streamText({
          ...options('hello there'),
          instructions: 'Be brief.',
          onError: ({ error }) => assert.fail(String(error)),
        });
        assert.equal(await streamed.text, whole.text);
        assert.equal(await streamed.finishReason, 'stop');
        assert.equal((await streamed.usage).outputTokens, whole.usage.outputTokens);
      });

      longTest(`${name} runs a loop of three steps with two tools on the ${group} group`, async () => {
        sim.journal.clear();
        const { steps, text } = await generateText({ ...options(ASK), tools: aiTools, stopWhen: isStepCount(5) });
        assertLoop(steps, text);
        assert.equal(sim.journal.requests.length, 3, 'no retry');
      });

      test(`${name} runs a streamed loop of three steps with two tools on the ${group} group`, async () => {
        sim.journal.clear();
        const errors: unknown[] = [];
        const result = streamText({
          ...options(ASK),
          tools: aiTools,
          stopWhen: isStepCount(5),
          onError: ({ error }) => void errors.push(error),
        });
        const parts: string[] = [];
        for await (const part of result.stream) parts.push(part.type);
        assert.deepEqual(errors, []);
        assert.ok(!parts.includes('error'));
        assertLoop(await result.steps, await result.text);
        assert.ok(parts.includes('tool-input-delta') && parts.includes('tool-result'));
        assert.equal(sim.journal.requests.length, 3);
      });

      test(`${name} generates an object of the given schema on the ${group} group`, async () => {
        const schema = jsonSchema<{ name: string; age: number }>({
          type: 'object',
          properties: { name: { type: 'string' }, age: { type: 'number' } },
          required: ['name', 'age'],
          additionalProperties: false,
        });
        const { output } = await generateText({ ...options('Describe "Ada".'), output: Output.object({ schema }) });
        assert.equal(output.name, 'Ada');
        assert.equal(typeof output.age, 'number');
      });
    });
  }
}

function assertLoop(steps: readonly { toolCalls: readonly { toolName: string; input: unknown }[] }[], text: string) {
  const calls = steps.map(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName));
  assert.deepEqual(calls, [['read_file'], ['edit_file'], []]);
  assert.deepEqual(steps[0]?.toolCalls[0]?.input, { path: 'src/lamp.ts' });
  assert.match(text, /content of src\/lamp\.ts/);
}

for (const group of ['chat-only', 'claude', 'gemini']) {
  test(`AI SDK item references are expanded for the ${group} group`, async () => {
    sim.journal.clear();
    const model = createOpenAI(settings(group)).responses(modelOn(group));
    await generateText({ model, prompt: ASK, tools: aiTools, stopWhen: isStepCount(5), maxRetries: 0 });
    assert.equal(sentBodies().length, 3);
    assert.ok(sentBodies().every((body) => !body.includes('item_reference')));
    assert.match(sentBodies()[2] ?? '', /read_file.*edit_file/s);
  });
}

// ---------------------------------------------------------------- tool runners

for (const [name, sdk] of [
  ['openai 7', openai],
  ['openai 6', openai6],
] as const) {
  for (const group of GROUPS) {
    describe(`the helpers of ${name} on the ${group} group`, () => {
      const client = () => sdk(gateway.url, key(group)) as OpenAI;
      const functions = ['read_file', 'edit_file'].map((one) => ({
        type: 'function' as const,
        function: {
          name: one,
          description: 'A tool.',
          parameters: PATH,
          parse: JSON.parse,
          function: ({ path }: { path: string }) => `${one} of ${path}`,
        },
      }));

      test(`${name} runTools runs all tool calls, streamed and unary, on the ${group} group`, async () => {
        const body = { model: 'demo-text', messages: [{ role: 'user' as const, content: ASK }], tools: functions };
        const whole = await client().chat.completions.runTools(body).finalContent();
        const streamed = await client()
          .chat.completions.runTools({ ...body, stream: true })
          .finalContent();
        assert.match(whole ?? '', /read_file of src\/lamp\.ts.*edit_file of/);
        assert.equal(streamed, whole);
      });

      test(`${name} responses.stream emits text and tool arguments as they arrive on the ${group} group`, async () => {
        const seen: string[] = [];
        const stream = client().responses.stream({
          model: 'demo-text',
          input: 'Explain, and use read_file for "a.ts".',
          reasoning: { effort: 'high', summary: 'auto' },
          tools: [{ type: 'function', name: 'read_file', description: 'A tool.', parameters: PATH, strict: true }],
        });
        stream.on('response.output_text.delta', ({ delta }) => void seen.push(delta));
        stream.on('response.function_call_arguments.delta', ({ delta }) => void seen.push(delta));
        const final = await stream.finalResponse();
        assert.equal(seen.join(''), 'I will use read_file.{"path":"a.ts"}');
        const call = final.output.find((item) => item.type === 'function_call') ?? assert.fail('no call');
        assert.deepEqual(call.parsed_arguments, { path: 'a.ts' });
      });

      test(`${name} responses.parse and chat.completions.parse return structured output on the ${group} group`, async () => {
        const format = { type: 'json_schema' as const, name: 'file', strict: true, schema: PATH };
        const response = await client().responses.parse({
          model: 'demo-text',
          input: 'Describe "lamp".',
          text: { format },
        });
        assert.deepEqual(JSON.parse(response.output_text), { path: 'lamp' });
        const { choices } = await client().chat.completions.parse({
          model: 'demo-text',
          messages: [{ role: 'user', content: 'Describe "lamp".' }],
          response_format: { type: 'json_schema', json_schema: { name: 'file', strict: true, schema: PATH } },
        });
        assert.deepEqual(JSON.parse(choices[0]?.message.content ?? ''), { path: 'lamp' });
      });
    });
  }
}

const textIn = (content: readonly { type: string; text?: string }[] | undefined): string =>
  (content ?? []).map(({ type, text }) => (type === 'text' ? text : '')).join('');

for (const group of GROUPS) {
  const body = {
    model: modelOn(group),
    max_tokens: 8_000,
    thinking: { type: 'enabled' as const, budget_tokens: 2_000 },
    messages: [{ role: 'user' as const, content: ASK }],
  };
  const toolOf = (name: string) => ({
    name,
    description: 'A tool.',
    inputSchema: PATH,
    run: ({ path }: { path: string }) => `${name} of ${path}`,
  });

  describe(`the helpers of @anthropic-ai/sdk on the ${group} group`, () => {
    const tools = ['read_file', 'edit_file'].map((name) => betaTool(toolOf(name)));
    test(`@anthropic-ai/sdk 1.x toolRunner runs all tools, streamed and unary, on the ${group} group`, async () => {
      const client = anthropic(gateway.url, key(group));
      const whole = await client.beta.messages.toolRunner({ ...body, tools });
      assert.match(JSON.stringify(whole.content), /edit_file of src\/lamp\.ts/);
      const runner = client.beta.messages.toolRunner({ ...body, tools, stream: true });
      const responses = [];
      for await (const stream of runner) responses.push(await stream.finalMessage());
      assert.equal(textIn(responses.at(-1)?.content), textIn(whole.content));
      assert.equal(responses.length, 3);
    });

    longTest(`@anthropic-ai/sdk 0.x toolRunner runs all tools, streamed and unary, on the ${group} group`, async () => {
      const client = new Anthropic0({ baseURL: gateway.url, apiKey: key(group), maxRetries: 0 });
      const old = ['read_file', 'edit_file'].map((name) => betaTool0(toolOf(name)));
      const whole = await client.beta.messages.toolRunner({ ...body, tools: old });
      assert.match(JSON.stringify(whole.content), /edit_file of src\/lamp\.ts/);
      const runner = client.beta.messages.toolRunner({ ...body, tools: old, stream: true });
      const responses = [];
      for await (const stream of runner) responses.push(await stream.finalMessage());
      assert.equal(responses.length, 3);
    });

    test(`@anthropic-ai/sdk 0.x and 1.x emit text, thinking and tool input as they arrive on the ${group} group`, async () => {
      const plain = [{ name: 'read_file', description: 'A tool.', input_schema: PATH }];
      const ask = {
        ...body,
        tools: plain,
        messages: [{ role: 'user' as const, content: 'Explain, and use read_file for "a.ts".' }],
      };
      for (const client of [
        anthropic(gateway.url, key(group)),
        new Anthropic0({ baseURL: gateway.url, apiKey: key(group), maxRetries: 0 }) as unknown as ReturnType<
          typeof anthropic
        >,
      ]) {
        const seen = { text: '', thinking: '', json: '' };
        const stream = client.messages
          .stream(ask)
          .on('text', (text) => {
            seen.text += text;
          })
          .on('thinking', (text) => {
            seen.thinking += text;
          })
          .on('inputJson', (text) => {
            seen.json += text;
          });
        const message = await stream.finalMessage();
        assert.equal(seen.text, 'I will use read_file.');
        assert.match(seen.thinking, /The user wrote/);
        assert.deepEqual(JSON.parse(seen.json), { path: 'a.ts' });
        const kinds = message.content.map(({ type }) => type);
        // The signature of a generate-content call travels in a thinking block next to the call.
        assert.deepEqual(kinds, ['thinking', 'text', ...(group === 'gemini' ? ['thinking'] : []), 'tool_use']);
        const whole = await client.messages.create({ ...ask, stream: false });
        assert.deepEqual(
          whole.content.map(({ type }) => type),
          kinds,
        );
      }
    });
  });
}

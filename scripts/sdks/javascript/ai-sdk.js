/** Checks of a provider of the AI SDK, through the package ai. `AI_SDK_PROVIDER` names the provider. */
import assert from 'node:assert/strict';
import { APICallError, generateText, jsonSchema, streamText, tool } from 'ai';
import { assertSimulated, check, group, key, PNG, PROMPT, SCHEMA, TOOL, url, WRONG_KEY } from './checks.js';

globalThis.AI_SDK_LOG_WARNINGS = false;

/** Each gives the models of a provider by a name for the output. */
const PROVIDERS = {
  openai({ createOpenAI }, apiKey) {
    const provider = createOpenAI({ baseURL: `${url}/v1`, apiKey });
    return { responses: provider.responses('demo-responses'), chat: provider.chat('demo-responses') };
  },
  anthropic({ createAnthropic }, apiKey) {
    return { messages: createAnthropic({ baseURL: `${url}/v1`, apiKey })('demo-messages') };
  },
  google({ createGoogle, createGoogleGenerativeAI }, apiKey) {
    const create = createGoogle ?? createGoogleGenerativeAI;
    return Object.fromEntries(
      ['v1', 'v1beta'].map((version) => [version, create({ baseURL: `${url}/${version}`, apiKey })('demo-generate')]),
    );
  },
};

const name = process.env.AI_SDK_PROVIDER;
const library = await import(`@ai-sdk/${name}`);
const isStatus = (status) => (error) => APICallError.isInstance(error) && error.statusCode === status;

for (const [dialect, model] of Object.entries(PROVIDERS[name](library, key))) {
  // Other groups have no endpoints of this dialect.
  if (name === 'google' && group !== 'generate') {
    await check(`${dialect}: unsupported group`, () =>
      assert.rejects(generateText({ model, prompt: 'hello', maxRetries: 0 }), isStatus(404)),
    );
  } else await checkModel(dialect, model);
}

for (const [dialect, model] of Object.entries(PROVIDERS[name](library, WRONG_KEY))) {
  await check(`${dialect}: wrong key`, () => assert.rejects(generateText({ model, prompt: 'hello' }), isStatus(401)));
}

async function checkModel(dialect, model) {
  await check(`${dialect}: text`, async () => {
    const { text, usage } = await generateText({ model, prompt: 'hello' });
    assertSimulated(text);
    assert.ok(usage.outputTokens > 0);
  });

  await check(`${dialect}: stream`, async () => {
    let failure;
    const { textStream } = streamText({
      model,
      prompt: 'hello',
      onError({ error }) {
        failure = error;
      },
    });
    let text = '';
    for await (const delta of textStream) text += delta;
    assert.ifError(failure);
    assertSimulated(text);
  });

  await check(`${dialect}: tool`, async () => {
    const weather = tool({ description: 'Weather', inputSchema: jsonSchema(SCHEMA), execute: async () => 'sunny' });
    const { steps, text } = await generateText({
      model,
      prompt: PROMPT,
      tools: { [TOOL]: weather },
      stopWhen: ({ steps }) => steps.length === 3,
    });
    assert.deepEqual(steps[0].toolCalls[0].input, { city: 'Paris' });
    assert.match(text, /sunny/);
  });

  await check(`${dialect}: image`, async () => {
    const content = [
      { type: 'text', text: 'hello' },
      { type: 'file', data: PNG, mediaType: 'image/png' },
    ];
    assertSimulated((await generateText({ model, messages: [{ role: 'user', content }] })).text);
  });
}

/**
 * What the official SDKs get from an account at a cloud, the only one of their key: for each kind of account, each dialect and each of six
 * abilities. docs/guides/README.md has the same table, and this test fails when it is stale.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { AZURE, BEDROCK, type Sim, serviceAccountKey, startSim, VERTEX } from '../../sim/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, google, openai } from '../support/sdk.ts';

const MODEL = 'demo-x';
const PROMPT = 'hello there';
const TOOL_PROMPT = 'What is the weather in "Paris"? Use the tool get_weather.';
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };
const WEATHER = { name: 'get_weather', description: 'Weather' };

interface CloudAccount {
  readonly name: string;
  readonly style: string;
  readonly cloud: object;
  readonly secret: string;
  readonly features?: readonly string[];
}

const BEDROCK_KEY = { cloud: { kind: 'bedrock', auth: 'api-key' }, secret: BEDROCK.apiKey };
const accountsOf = (url: string): readonly CloudAccount[] => {
  const service = {
    cloud: { kind: 'vertex', auth: 'service-account', project: VERTEX.project, location: 'us' },
    secret: serviceAccountKey(url),
  };
  return [
    {
      name: 'Azure OpenAI',
      style: 'responses',
      cloud: { kind: 'azure-openai', auth: 'api-key' },
      secret: AZURE.key,
    },
    { name: "Vertex, Google's models", style: 'generate-content', ...service },
    {
      name: 'Vertex, express mode',
      style: 'generate-content',
      cloud: { kind: 'vertex', auth: 'api-key' },
      secret: VERTEX.apiKey,
    },
    { name: "Vertex, Anthropic's models", style: 'messages', ...service },
    { name: "Bedrock, Anthropic's models by InvokeModel", style: 'messages', ...BEDROCK_KEY },
    { name: 'Bedrock, Converse', style: 'messages', features: ['converse'], ...BEDROCK_KEY },
    { name: 'Bedrock, Converse', style: 'responses', ...BEDROCK_KEY },
    { name: 'Bedrock, Converse', style: 'generate-content', ...BEDROCK_KEY },
  ];
};

let sim: Sim;
let gateway: TestGateway;
let accounts: readonly CloudAccount[];
let keys: Record<string, string>;
const groupOf = (n: number): string => `cloud-${n}`;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  accounts = accountsOf(sim.url);
  const groups = accounts.map((_, n) => groupOf(n));
  keys = await gateway.apply({
    groups: accounts.map(({ style }, n) => ({ id: groupOf(n), style })),
    accounts: accounts.map(({ cloud, secret, features }, n) => ({
      id: `account-${n}`,
      group: groupOf(n),
      base_url: sim.url,
      api_key: secret,
      cloud,
      ...(features && { features }),
    })),
    models: [{ id: 'demo-*', groups }],
    users: [{ id: 'ana' }],
    keys: groups.map((group) => ({ user: 'ana', group })),
  });
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

/** What two calls show: a whole reply to a prompt with a picture, with reasoning, and a stream with a tool. */
interface Shown {
  readonly text: string;
  readonly thoughts: string;
  readonly streamedArguments: unknown;
  readonly tokens: readonly (number | null | undefined)[];
}

const DIALECTS: Readonly<Record<string, (url: string, key: string) => Promise<Shown>>> = {
  responses: async (url, key) => {
    const { responses } = openai(url, key);
    const content = [
      { type: 'input_image' as const, image_url: `data:image/png;base64,${PNG}`, detail: 'auto' as const },
      { type: 'input_text' as const, text: PROMPT },
    ];
    const input = [{ role: 'user' as const, content }];
    const whole = await responses.create({ model: MODEL, input, reasoning: { effort: 'medium', summary: 'auto' } });
    const tools = [{ type: 'function' as const, ...WEATHER, parameters: SCHEMA, strict: false }];
    const streamed = await responses.stream({ model: MODEL, input: TOOL_PROMPT, tools }).finalResponse();
    const call = streamed.output.find((item) => item.type === 'function_call');
    const thoughts = whole.output.flatMap((item) => (item.type === 'reasoning' ? item.summary : []));
    return {
      text: whole.output_text,
      thoughts: thoughts.map(({ text }) => text).join(''),
      streamedArguments: JSON.parse(call?.arguments ?? 'null'),
      tokens: [whole.usage?.output_tokens, streamed.usage?.output_tokens],
    };
  },
  'chat completions': async (url, key) => {
    const { completions } = openai(url, key).chat;
    const content = [
      { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${PNG}` } },
      { type: 'text' as const, text: PROMPT },
    ];
    const messages = [{ role: 'user' as const, content }];
    const whole = await completions.create({ model: MODEL, messages, reasoning_effort: 'medium' });
    const streamed = await completions
      .stream({
        model: MODEL,
        messages: [{ role: 'user', content: TOOL_PROMPT }],
        tools: [{ type: 'function', function: { ...WEATHER, parameters: SCHEMA } }],
        stream_options: { include_usage: true },
      })
      .finalChatCompletion();
    const [call] = streamed.choices[0]?.message.tool_calls ?? [];
    const message = whole.choices[0]?.message as { content?: string; reasoning_content?: string } | undefined;
    return {
      text: message?.content ?? '',
      thoughts: message?.reasoning_content ?? '',
      streamedArguments: JSON.parse((call?.type === 'function' && call.function.arguments) || 'null'),
      tokens: [whole.usage?.completion_tokens, streamed.usage?.completion_tokens],
    };
  },
  messages: async (url, key) => {
    const { messages } = anthropic(url, key);
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: PNG };
    const content = [
      { type: 'image' as const, source },
      { type: 'text' as const, text: PROMPT },
    ];
    const ask = { model: MODEL, max_tokens: 4_000 };
    const thinking = { type: 'adaptive' as const, display: 'summarized' as const };
    const whole = await messages.create({ ...ask, messages: [{ role: 'user', content }], thinking });
    const tools = [{ ...WEATHER, input_schema: SCHEMA }];
    const streamed = await messages
      .stream({ ...ask, messages: [{ role: 'user', content: TOOL_PROMPT }], tools })
      .finalMessage();
    const textOf = (type: 'text' | 'thinking'): string =>
      whole.content.map((block) => (block.type === type ? Object(block)[type] : '')).join('');
    return {
      text: textOf('text'),
      thoughts: textOf('thinking'),
      streamedArguments: streamed.content.find((block) => block.type === 'tool_use')?.input,
      tokens: [whole.usage.output_tokens, streamed.usage.output_tokens],
    };
  },
  'generate content': async (url, key) => {
    const { models } = google(url, key);
    const parts = [{ inlineData: { mimeType: 'image/png', data: PNG } }, { text: PROMPT }];
    const config = { thinkingConfig: { includeThoughts: true, thinkingLevel: 'HIGH' as never } };
    const whole = await models.generateContent({ model: MODEL, contents: [{ role: 'user', parts }], config });
    const tools = [{ functionDeclarations: [{ ...WEATHER, parametersJsonSchema: SCHEMA }] }];
    const chunks = await models.generateContentStream({ model: MODEL, contents: TOOL_PROMPT, config: { tools } });
    let args: unknown;
    let tokens: number | undefined;
    for await (const chunk of chunks) {
      args ??= chunk.functionCalls?.[0]?.args;
      tokens = chunk.usageMetadata?.candidatesTokenCount ?? tokens;
    }
    const shown = whole.candidates?.[0]?.content?.parts ?? [];
    return {
      text: whole.text ?? '',
      thoughts: shown.map(({ thought, text }) => (thought ? text : '')).join(''),
      streamedArguments: args,
      tokens: [whole.usageMetadata?.candidatesTokenCount, tokens],
    };
  },
};

const COLUMNS = ['unary', 'stream', 'tools', 'thinking', 'images', 'usage'] as const;

/** A row for each account and dialect that its group serves. */
async function rowsOf(account: CloudAccount, n: number): Promise<string[]> {
  const rows: string[] = [];
  for (const [dialect, call] of Object.entries(DIALECTS)) {
    // These clients need a group of their style (docs/endpoints.md).
    if (dialect === 'generate content' && account.style !== 'generate-content') continue;
    sim.journal.clear();
    const shown = await call(gateway.url, keys[groupOf(n)] ?? '');
    const works: Record<(typeof COLUMNS)[number], boolean> = {
      unary: /simulated answer/.test(shown.text),
      stream: shown.streamedArguments !== undefined,
      tools: JSON.stringify(shown.streamedArguments) === '{"city":"Paris"}',
      thinking: /simulated answer will do/.test(shown.thoughts),
      images: sim.journal.requests.some(({ body }) => body?.includes(PNG) === true),
      usage: shown.tokens.every((count) => Number(count) > 0),
    };
    const cells = COLUMNS.map((column) => (works[column] ? 'yes' : '–'));
    rows.push(`| ${[account.name, account.style, dialect, ...cells].join(' | ')} |`);
  }
  return rows;
}

test('every account at a cloud does for the official SDKs what the guide says', async () => {
  const rows: string[] = [];
  for (const [n, account] of accounts.entries()) rows.push(...(await rowsOf(account, n)));
  const page = readFileSync(new URL('../../docs/guides/README.md', import.meta.url), 'utf8');
  const shown = page.split('\n').filter((line) => accounts.some(({ name }) => line.startsWith(`| ${name} |`)));
  assert.deepEqual(shown, rows);
});

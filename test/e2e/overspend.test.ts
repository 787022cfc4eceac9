// set: all; sixty calls for each way to overspend; admission-bounds.test.ts sends some of them
/**
 * Ways to make a provider read or write more than a request seems to ask for. Each is sent sixty times at once on a wallet that does not
 * cover sixty such calls, and the provider reports as much as the request allows. No wallet may end below zero.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readBalance } from '../../src/ledger/index.ts';
import { TEXT_ONLY } from '../../src/rules/index.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { mp3File, wavFile } from '../support/media-files.ts';
import { until } from '../support/wait.ts';

const PARALLEL = 60;
const PRICES = {
  input: '1',
  output: '10',
  per_search: '0.01',
  tiers: { priority: { multiplier: '2' } },
};

/** What the provider reports. */
interface Report {
  readonly input?: number;
  readonly output?: number;
  readonly searches?: number;
  readonly drawn?: number;
  readonly tier?: string;
}
type Group = 'openai' | 'claude' | 'gemini';
interface Way {
  readonly about: string;
  readonly balance: string;
  /** The body, or its text where no serializer writes it so. `MODEL` is replaced. */
  readonly body: object | string;
  readonly report: Report;
  readonly api: Api;
  /** Status of the rejection, for what is rejected whatever the balance is. */
  readonly rejected?: number;
  /** A request before, whose response the way continues, and what the provider reports for it. */
  readonly first?: { readonly body: object; readonly report: Report };
}
type Api = keyof typeof APIS;

const APIS = {
  chat: { group: 'openai', path: () => '/v1/chat/completions' },
  responses: { group: 'openai', path: () => '/v1/responses' },
  embeddings: { group: 'openai', path: () => '/v1/embeddings' },
  messages: { group: 'claude', path: () => '/v1/messages' },
  generate: { group: 'gemini', path: (model: string) => `/v1beta/models/${model}:generateContent` },
} as const satisfies Record<string, { group: Group; path: (model: string) => string }>;

const URL_OF = { file: 'https://example.com/a.pdf', image: 'https://example.com/a.png' };
const user = (content: unknown) => ({ role: 'user', content });
const chat = (more: object, content: unknown = 'hi') => ({ model: 'MODEL', messages: [user(content)], ...more });
const messages = (more: object, content: unknown = 'hi') => ({
  ...{ model: 'MODEL', messages: [user(content)], max_tokens: 16 },
  ...more,
});
const responses = (more: object, content: unknown = 'hi') => ({
  ...{ model: 'MODEL', input: [user(content)], max_output_tokens: 16 },
  ...more,
});
const generate = (more: object, part: object = { text: 'hi' }) => ({
  contents: [{ role: 'user', parts: [part] }],
  generationConfig: { maxOutputTokens: 16 },
  ...more,
});
const DIGITS = Array.from({ length: 10_000 }, (_, n) => n % 10).join(' ');
const RARE = '\u9f98'.repeat(6_000);
const TEN_MINUTES = 600;

const WAYS: readonly Way[] = [
  // Fifteen that once beat the bound.
  {
    about: 'web_fetch of a long page',
    ...{ api: 'messages', balance: '0.9', report: { input: 190_000, output: 16 } },
    body: messages({ tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }),
  },
  {
    about: 'an MCP server with long results',
    ...{ api: 'responses', balance: '0.45', report: { input: 190_000, output: 16 } },
    body: responses({ tools: [{ type: 'mcp', server_label: 'a', server_url: 'https://example.com' }] }),
  },
  {
    about: 'code_interpreter with a long output',
    ...{ api: 'responses', balance: '0.45', report: { input: 190_000, output: 16 } },
    body: responses({ tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }),
  },
  {
    about: 'urlContext of a long page',
    ...{ api: 'generate', balance: '0.9', report: { input: 190_000, output: 16 } },
    body: generate({ tools: [{ urlContext: {} }] }),
  },
  {
    about: 'a stored prompt',
    ...{ api: 'responses', balance: '0.45', report: { input: 125_000, output: 16 } },
    body: responses({ prompt: { id: 'pmpt_1' } }),
  },
  {
    about: 'cached content of another user',
    ...{ api: 'generate', balance: '0.45', report: { input: 37_000, output: 16 }, rejected: 404 },
    body: generate({ cachedContent: 'cachedContents/a' }),
  },
  {
    about: 'the output limit twice inside the configuration',
    ...{ api: 'generate', balance: '0.05', report: { output: 3_600 }, rejected: 400 },
    body: '{"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"maxOutputTokens":8000,"maxOutputTokens":1}}',
  },
  {
    about: 'a video that is said to be an image',
    ...{ api: 'generate', balance: '0.45', report: { input: 150_000, output: 16 } },
    body: generate({}, { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.mp4' } }),
  },
  {
    about: 'searches with 60,000 tokens of results',
    ...{ api: 'messages', balance: '0.65', report: { input: 60_000, output: 16, searches: 5 } },
    body: messages({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
  },
  {
    about: 'a hundred searches',
    ...{ api: 'messages', balance: '2.5', report: { input: 60_000, output: 16, searches: 100 } },
    body: messages({ tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 100 }] }),
  },
  {
    about: 'an output limit as text',
    ...{ api: 'generate', balance: '0.40', report: { output: 90_000 }, rejected: 400 },
    body: generate({ generationConfig: { maxOutputTokens: '100000' } }),
  },
  {
    about: 'a number of candidates as text',
    ...{ api: 'generate', balance: '0.40', report: { output: 80_000 }, rejected: 400 },
    body: generate({ generationConfig: { maxOutputTokens: 10_000, candidateCount: '8' } }),
  },
  {
    about: 'a number of choices as text',
    ...{ api: 'chat', balance: '0.40', report: { output: 80_000 }, rejected: 400 },
    body: chat({ max_tokens: 10_000, n: '8' }),
  },
  {
    about: 'discarded choices',
    ...{ api: 'chat', balance: '1.7', report: { output: 80_000 } },
    body: chat({ max_tokens: 10_000, best_of: 8 }),
  },
  {
    about: 'text with one token for each byte',
    ...{ api: 'messages', balance: '0.05', report: { input: 19_990, output: 16 } },
    body: messages({}, DIGITS),
  },
  // Twenty-two others.
  {
    about: 'a stored response of known length',
    ...{ api: 'responses', balance: '0.06', report: { input: 9_130, output: 16 } },
    first: { body: responses({ max_output_tokens: 100 }), report: { input: 9_000, output: 100 } },
    body: responses({ previous_response_id: 'FIRST' }),
  },
  {
    about: 'a file by address',
    ...{ api: 'responses', balance: '0.45', report: { input: 150_000, output: 16 } },
    body: responses({}, [{ type: 'input_file', file_url: URL_OF.file }]),
  },
  {
    about: 'an image by address, responses',
    ...{ api: 'responses', balance: '0.05', report: { input: 16_000, output: 16 } },
    body: responses({}, [{ type: 'input_image', image_url: URL_OF.image }]),
  },
  {
    about: 'an image by address, messages',
    ...{ api: 'messages', balance: '0.02', report: { input: 5_000, output: 16 } },
    body: messages({}, [{ type: 'image', source: { type: 'url', url: URL_OF.image } }]),
  },
  {
    about: 'images by address, chat',
    ...{ api: 'chat', balance: '0.1', report: { input: 32_000, output: 16 } },
    body: chat(
      { max_tokens: 16 },
      [0, 1].map(() => ({ type: 'image_url', image_url: { url: URL_OF.image } })),
    ),
  },
  {
    about: 'an image whose type is written with escapes',
    ...{ api: 'chat', balance: '0.05', report: { input: 16_000, output: 16 } },
    body: JSON.stringify(
      chat({ max_tokens: 16 }, [{ type: 'image_url', image_url: { url: URL_OF.image } }]),
    ).replaceAll('image_url', '\\u0069mage_url'),
  },
  {
    about: 'a document by address',
    ...{ api: 'messages', balance: '0.45', report: { input: 150_000, output: 16 } },
    body: messages({}, [{ type: 'document', source: { type: 'url', url: URL_OF.file } }]),
  },
  {
    about: 'an inline document',
    ...{ api: 'chat', balance: '0.45', report: { input: 150_000, output: 16 } },
    body: chat({ max_tokens: 16 }, [{ type: 'file', file: { file_data: 'JVBERi0xLjc=' } }]),
  },
  {
    about: 'a video by address',
    ...{ api: 'generate', balance: '0.45', report: { input: 150_000, output: 16 } },
    body: generate({}, { fileData: { mimeType: 'video/mp4', fileUri: 'https://example.com/a.mp4' } }),
  },
  {
    about: 'a file of the account',
    ...{ api: 'responses', balance: '0.45', report: { input: 150_000, output: 16 }, rejected: 400 },
    body: responses({}, [{ type: 'input_file', file_id: 'file-1' }]),
  },
  {
    about: 'a foreign output limit',
    ...{ api: 'chat', balance: '0.1', report: { output: 4_000 } },
    body: chat({ max_tokens: 4_000, max_output_tokens: 0 }),
  },
  {
    about: 'two output limits',
    ...{ api: 'chat', balance: '0.05', report: { output: 4_000 }, rejected: 400 },
    body: chat({ max_tokens: 4_000, max_completion_tokens: 1 }),
  },
  {
    about: 'an output limit twice',
    ...{ api: 'messages', balance: '0.05', report: { output: 4_000 }, rejected: 400 },
    body: '{"model":"MODEL","max_tokens":4000,"max_tokens":1,"messages":[{"role":"user","content":"hi"}]}',
  },
  {
    about: 'two spellings of the configuration',
    ...{ api: 'generate', balance: '0.05', report: { output: 4_000 }, rejected: 400 },
    body: generate({ generation_config: { maxOutputTokens: 4_000 } }),
  },
  {
    about: 'eight choices without a limit',
    ...{ api: 'chat', balance: '5.2', report: { output: 8 * 32_000 } },
    body: chat({ n: 8 }),
  },
  {
    about: 'eight candidates',
    ...{ api: 'generate', balance: '0.1', report: { output: 4_000 } },
    body: generate({ generationConfig: { maxOutputTokens: 500, candidateCount: 8 } }),
  },
  {
    about: 'a fraction of a choice',
    ...{ api: 'chat', balance: '0.2', report: { output: 8_000 } },
    body: chat({ max_tokens: 1_000, n: 7.5 }),
  },
  {
    about: 'no output limit',
    ...{ api: 'responses', balance: '0.7', report: { output: 32_000 } },
    body: { model: 'MODEL', input: 'hi' },
  },
  {
    about: 'searches, chat',
    ...{ api: 'chat', balance: '0.65', report: { input: 30_000, output: 16 } },
    body: chat({ max_tokens: 16, web_search_options: {} }),
  },
  {
    about: 'searches, generate-content',
    ...{ api: 'generate', balance: '0.65', report: { output: 16, searches: 10 } },
    body: generate({ tools: [{ googleSearch: {} }] }),
  },
  {
    about: 'a more expensive tier',
    ...{ api: 'responses', balance: '0.05', report: { output: 1_000, tier: 'priority' } },
    body: responses({ max_output_tokens: 1_000, service_tier: 'priority' }),
  },
  {
    about: 'rare characters',
    ...{ api: 'messages', balance: '0.05', report: { input: 9_000, output: 16 } },
    body: messages({}, RARE),
  },
];

/** Found while the bound was made to hold. */
const MORE_WAYS: readonly Way[] = [
  {
    about: 'texts to embed, each shorter than the context',
    ...{ api: 'embeddings', balance: '1.0', report: { input: 400_000 } },
    body: { model: 'MODEL', input: Array.from({ length: 4 }, () => '1 '.repeat(50_000)) },
  },
  {
    about: 'no output limit, and a model with a large one',
    ...{ api: 'responses', balance: '2.1', report: { output: 100_000 } },
    body: { model: 'MODEL-long', input: 'hi' },
  },
  {
    about: 'several pictures of a tool',
    ...{ api: 'responses', balance: '5.5', report: { output: 16, drawn: 60_000 } },
    body: responses({ model: 'MODEL-draw', tools: [{ type: 'image_generation' }] }),
  },
  {
    about: 'two tools that search',
    ...{ api: 'generate', balance: '0.9', report: { output: 16, searches: 20 } },
    body: generate({ tools: [{ googleSearch: {} }, { enterpriseWebSearch: {} }] }),
  },
  {
    about: 'the prompt that a provider adds for tools',
    ...{ api: 'messages', balance: '0.01', report: { input: 900, output: 16 } },
    body: messages({ tools: [{ name: 'a', input_schema: { type: 'object' } }] }),
  },
  {
    about: 'an MCP server beside the tools',
    ...{ api: 'messages', balance: '0.45', report: { input: 190_000, output: 16 } },
    body: messages({ mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'a' }] }),
  },
  {
    about: 'a tool of an unknown type',
    ...{ api: 'responses', balance: '1.5', report: { input: 150_000, output: 16 } },
    body: responses({ tools: [{ type: 'deep_reading' }] }),
  },
  {
    about: 'the type of a part twice',
    ...{ api: 'responses', balance: '0.05', report: { input: 150_000, output: 16 }, rejected: 400 },
    body: `{"model":"MODEL","max_output_tokens":16,"input":[{"role":"user","content":[{"type":"input_file","file_url":"${URL_OF.file}","type":"input_text","text":"hi"}]}]}`,
  },
  {
    about: 'uses of a tool as text',
    ...{ api: 'messages', balance: '0.15', report: { searches: 100 }, rejected: 400 },
    body: messages({ tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: '100' }] }),
  },
  {
    about: 'ten minutes of speech at a low rate',
    ...{ api: 'generate', balance: '0.05', report: { input: TEN_MINUTES * 32, output: 16 } },
    body: generate({}, { inlineData: { mimeType: 'audio/mp3', data: mp3File(TEN_MINUTES, 8).toString('base64') } }),
  },
  {
    about: 'audio that claims to be a second long',
    ...{ api: 'chat', balance: '0.01', report: { input: 60 * 32, output: 16 } },
    body: chat({ max_tokens: 16 }, [
      { type: 'input_audio', input_audio: { format: 'wav', data: wavFile(60, 1).toString('base64') } },
    ]),
  },
];

const ALL = [...WAYS, ...MORE_WAYS];
const nameOf = (n: number): string => `way-${n + 1}`;
const keyOf = (n: number): string => `the-key-of-the-user-${nameOf(n)}`;

let gateway: TestGateway;
let upstream: Canned;
const results = new Map<number, { statuses: number[]; balance: bigint }>();

before(async () => {
  upstream = await startCanned();
  upstream.respondWith((response, { target, body }) => {
    const text = body.toString();
    const n = Number(/way-(\d+)/.exec(target + text)?.[1]) - 1;
    const way = ALL[n] as Way;
    const isFirst = way.first !== undefined && !text.includes('previous_response_id');
    const report = isFirst ? (way.first?.report ?? {}) : way.report;
    return jsonResponse(JSON.stringify(REPLIES[way.api](report, isFirst ? `resp_${n}` : `resp_${n}_${++replies}`)))(
      response,
      { target, body } as never,
    );
  });
  gateway = await startGateway({ setup: basicSetup(upstream.url) });
  const groups = ['openai', 'claude', 'gemini'];
  // Stated, so that only the request decides (abilities.test.ts has what models do by themselves).
  const capabilities = TEXT_ONLY;
  await gateway.apply({
    models: [
      { id: '*-long', groups, prices: PRICES, context: 200_000, max_output: 100_000, capabilities },
      { id: '*-draw', groups, prices: { ...PRICES, image_output: '40' }, context: 200_000, capabilities },
      { id: 'way-*', groups, prices: PRICES, context: 200_000, capabilities },
    ],
    users: ALL.map(({ balance }, n) => ({ id: nameOf(n), balance })),
    keys: ALL.map(({ api }, n) => ({ user: nameOf(n), group: APIS[api].group, key: keyOf(n) })),
  });
  let admitted = 0;
  for (const [n, way] of ALL.entries()) {
    const statuses = await flood(n, way);
    admitted += statuses.filter((status) => status === 200).length + (way.first ? 1 : 0);
    results.set(n, { statuses, balance: 0n });
  }
  const { db } = gateway.context.database;
  await until('all charges', async () => {
    const { count } = await db
      .selectFrom('usage_records')
      .select((select) => select.fn.countAll<bigint>().as('count'))
      .executeTakeFirstOrThrow();
    return Number(count) >= admitted ? true : undefined;
  });
  for (const [n, result] of results) result.balance = (await readBalance(db, nameOf(n))).available;
});
after(() => gateway.stop().finally(() => upstream.close()));

let replies = 0;
const REPLIES: Readonly<Record<Api, (report: Report, id: string) => object>> = {
  chat: ({ input = 10, output = 0 }, id) => ({
    ...{ id, object: 'chat.completion', choices: [] },
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  }),
  embeddings: ({ input = 10 }) => ({ object: 'list', data: [], usage: { prompt_tokens: input, total_tokens: input } }),
  responses: ({ input = 10, output = 0, searches = 0, drawn = 0, tier }, id) => ({
    ...{ id, object: 'response', status: 'completed', service_tier: tier },
    output: Array.from({ length: searches }, (_, n) => ({ type: 'web_search_call', id: `ws_${n}` })),
    usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
    ...(drawn > 0 && { tool_usage: { image_gen: { input_tokens: 0, output_tokens: drawn, total_tokens: drawn } } }),
  }),
  messages: ({ input = 10, output = 0, searches = 0 }, id) => ({
    ...{ id, type: 'message', role: 'assistant', content: [], stop_reason: 'end_turn' },
    usage: { input_tokens: input, output_tokens: output, server_tool_use: { web_search_requests: searches } },
  }),
  generate: ({ input = 10, output = 0, searches = 0 }) => ({
    candidates: [
      {
        finishReason: 'STOP',
        content: { parts: [{ text: 'x' }] },
        groundingMetadata: { webSearchQueries: Array.from({ length: searches }, (_, n) => `q${n}`) },
      },
    ],
    usageMetadata: { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: input + output },
  }),
};

async function flood(n: number, { api, body, first }: Way): Promise<number[]> {
  const text = (typeof body === 'string' ? body : JSON.stringify(body)).replace('"FIRST"', `"resp_${n}"`);
  if (first) assert.equal(await send(n, api, JSON.stringify(first.body)), 200);
  return Promise.all(Array.from({ length: PARALLEL }, () => send(n, api, text)));
}

async function send(n: number, api: Api, text: string): Promise<number> {
  const response = await fetch(gateway.url + APIS[api].path(nameOf(n)), {
    method: 'POST',
    headers: { authorization: `Bearer ${keyOf(n)}`, 'content-type': 'application/json' },
    body: text.replace('MODEL', nameOf(n)),
  });
  await response.arrayBuffer();
  return response.status;
}

describe('no wallet is overspent by', () => {
  for (const [n, { about, rejected, balance }] of ALL.entries())
    test(`${n + 1}: ${about}`, (context) => {
      const { statuses, balance: left } = results.get(n) ?? assert.fail();
      const admitted = statuses.filter((status) => status === 200).length;
      context.diagnostic(`${admitted} admitted, ${balance} -> ${Number(left) / 1e9}`);
      assert.ok(left >= 0n, `${admitted} admitted, ${balance} -> ${Number(left) / 1e9}`);
      const refusal = rejected ?? 402;
      assert.deepEqual(
        statuses.filter((status) => status !== 200 && status !== refusal),
        [],
      );
      assert.ok(rejected === undefined ? admitted > 0 && admitted < PARALLEL : admitted === 0, `${admitted} admitted`);
    });
});

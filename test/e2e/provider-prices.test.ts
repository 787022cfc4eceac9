/** Prices as providers have them, from the report of a provider to the charge and its lines. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { CallPrice } from '../../src/schemas/index.ts';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

let provider: Canned;
let gateway: TestGateway;
const keys: Record<string, string> = {};

const PRICES = {
  input: '3',
  cached_input: '0.3',
  cached_audio_input: '1',
  cache_write: '3.75',
  cache_write_1h: '6',
  audio_input: '10',
  video_input: '20',
  output: '15',
  citation: '2',
  per_search: '0.01',
  per_file_search: '0.0025',
  per_fetch: '0.001',
  per_request: '0.005',
  per_audio_hour: '0.36',
  steps: [{ above: 200_000, input: '6', cached_input: '0.6', output: '22.5' }],
  tiers: { batch: { multiplier: '0.5' } },
};

before(async () => {
  provider = await startCanned();
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
  const models = [{ id: 'm', groups: ['openai', 'claude', 'gemini'], context: 1_000_000, prices: PRICES }];
  Object.assign(keys, await gateway.apply({ ...basicSetup(provider.url), models }));
});
after(async () => {
  await gateway?.stop();
  await provider?.close();
});

const messages = [{ role: 'user', content: 'hi' }];
const openai = { group: 'openai', path: '/v1/responses', body: { model: 'm', input: 'hi' } };
const chat = { group: 'openai', path: '/v1/chat/completions', body: { model: 'm', messages } };
const claude = { group: 'claude', path: '/v1/messages', body: { model: 'm', max_tokens: 100, messages } };
const gemini = {
  group: 'gemini',
  path: '/v1beta/models/m:generateContent',
  body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
};

const messagesReply = (usage: object) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  usage,
});
const responsesReply = (output: readonly object[], usage: object) => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'm',
  output,
  usage,
});
const chatReply = (usage: object) => ({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hello' } }],
  usage,
});
const generateReply = (usageMetadata: object) => ({
  candidates: [{ content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP' }],
  usageMetadata,
});

interface Sent {
  readonly group: string;
  readonly path: string;
  readonly body: object;
}

/** The lines of the charge as an operator reads them, and its amount. */
async function priced({ group, path, body }: Sent, reply: object): Promise<CallPrice['charge']> {
  provider.respondWith(jsonResponse(JSON.stringify(reply)));
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const id = response.headers.get('x-request-id') ?? '';
  return until('the call in the request log', async () => {
    const found = await fetch(`${gateway.url}/admin/v1/requests/${id}`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    if (found.status !== 200) return undefined;
    return ((await found.json()) as { pricing?: CallPrice }).pricing?.charge ?? undefined;
  });
}

const amounts = (charge: CallPrice['charge']) =>
  Object.fromEntries((charge?.lines ?? []).map(({ part, amount }) => [part, amount]));
const REQUEST = { request: '0.005' };

test('a long prompt is charged by its step, with cache writes by lifetime, searches and fetched pages', async () => {
  const usage = {
    input_tokens: 40_000,
    cache_read_input_tokens: 180_000,
    cache_creation_input_tokens: 40_000,
    cache_creation: { ephemeral_5m_input_tokens: 30_000, ephemeral_1h_input_tokens: 10_000 },
    output_tokens: 1_200,
    server_tool_use: { web_search_requests: 2, web_fetch_requests: 3 },
  };
  const charge = await priced(claude, messagesReply(usage));
  assert.deepEqual([charge?.above, charge?.tier], [200_000, null]);
  assert.deepEqual(amounts(charge), {
    input: '0.24',
    cached_input: '0.108',
    // The step has no rates of its own for these.
    cache_write: '0.1125',
    cache_write_1h: '0.06',
    output: '0.027',
    search: '0.02',
    fetch: '0.003',
    ...REQUEST,
  });
  const batch = await priced(claude, messagesReply({ ...usage, service_tier: 'batch' }));
  assert.deepEqual([batch?.tier, batch?.charge], ['batch', '0.28775']);
  // Two iterations of 150,000 tokens are not one prompt of 300,000.
  const iteration = { input_tokens: 150_000, output_tokens: 10 };
  const twice = await priced(claude, messagesReply({ ...iteration, iterations: [iteration, iteration] }));
  assert.deepEqual([twice?.above, amounts(twice).input], [null, '0.9']);
});

test('cached audio and videos of a generate-content reply have their own rates', async () => {
  const charge = await priced(
    gemini,
    generateReply({
      promptTokenCount: 10_000,
      cachedContentTokenCount: 4_000,
      candidatesTokenCount: 100,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 3_000 },
        { modality: 'AUDIO', tokenCount: 5_000 },
        { modality: 'VIDEO', tokenCount: 2_000 },
      ],
      cacheTokensDetails: [
        { modality: 'TEXT', tokenCount: 1_000 },
        { modality: 'AUDIO', tokenCount: 3_000 },
      ],
    }),
  );
  assert.deepEqual(amounts(charge), {
    input: '0.006',
    cached_input: '0.0003',
    cached_audio_input: '0.003',
    audio_input: '0.02',
    video_input: '0.04',
    output: '0.0015',
    ...REQUEST,
  });
});

test('searches in files, native and converted, and time, sources and searches of chat servers are charged', async () => {
  const found = [
    { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['a'], results: null },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'a' } },
    { type: 'file_search_call', id: 'fs_2', status: 'completed', queries: ['b'], results: null },
  ];
  const reply = responsesReply(found, { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 });
  const expected = { input: '0.003', output: '0.0015', search: '0.01', file_search: '0.005', ...REQUEST };
  assert.deepEqual(amounts(await priced(openai, reply)), expected);
  const converted = { ...claude, group: 'openai' };
  assert.deepEqual(amounts(await priced(converted, reply)), expected);
  const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
  const more = { prompt_audio_seconds: 90, citation_tokens: 500, num_search_queries: 3 };
  assert.deepEqual(amounts(await priced(chat, chatReply({ ...usage, ...more }))), {
    input: '0.003',
    output: '0.0015',
    citation: '0.001',
    search: '0.03',
    audio_second: '0.009',
    ...REQUEST,
  });
});

test('the calculator has the steps and the tier of a price', async () => {
  const query = 'group=claude&model=m&input_tokens=260000&cached_input_tokens=180000&output_tokens=1200&tier=batch';
  const response = await fetch(`${gateway.url}/admin/v1/quote?${query}`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  const { charge } = (await response.json()) as CallPrice;
  assert.deepEqual([charge?.tier, charge?.above, charge?.charge], ['batch', 200_000, '0.31']);
});

/**
 * Members, parts and tools that make a provider read or write more than a request seems to ask for, and that no list of such members had.
 * Each is sent thirty times at once on a wallet that covers small calls only. No wallet may end below zero.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readBalance } from '../../src/ledger/index.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const PARALLEL = 30;
const BALANCE = '0.05';
const PRICES = { input: '1', output: '10', per_search: '0.01' };

type Api = keyof typeof APIS;
const APIS = {
  chat: { group: 'openai', path: '/v1/chat/completions' },
  responses: { group: 'openai', path: '/v1/responses' },
  embeddings: { group: 'openai', path: '/v1/embeddings' },
  messages: { group: 'claude', path: '/v1/messages' },
  generate: { group: 'gemini', path: '/v1beta/models/MODEL:generateContent' },
} as const;

/** What the provider reports: tokens read, tokens written. */
type Report = readonly [input: number, output: number];
const LONG: Report = [100_000, 16];
const WORDY: Report = [10, 8_000];

interface Way {
  readonly about: string;
  readonly api: Api;
  /** Beside the members of a small request. */
  readonly more?: object;
  /** In place of its text. */
  readonly content?: unknown;
  readonly report: Report;
}
const way = (api: Api, about: string, more: object, report: Report = LONG): Way => ({ api, about, more, report });
const part = (api: Api, about: string, content: object, report: Report = LONG): Way => ({
  ...{ api, about, content: [content], report },
});
const URL = 'https://example.com/a.mp4';
const MCP = { type: 'mcp', server_label: 'a', server_url: 'https://example.com' };
const SEARCH = { type: 'web_fetch_20250910', name: 'web_fetch' };

const WAYS: readonly Way[] = [
  way('chat', 'openrouter: a plugin that searches', { plugins: [{ id: 'web' }] }),
  way('chat', 'xai: search_parameters', { search_parameters: { mode: 'on' } }),
  way('chat', 'qwen: enable_search', { enable_search: true }),
  way('chat', 'llama.cpp: n_predict beside max_tokens', { n_predict: 8_000 }, WORDY),
  part('chat', 'mistral: a document by address', { type: 'document_url', document_url: URL }),
  part('chat', 'qwen: frames of a video', { type: 'video', video: [URL] }),
  way('generate', 'tools as an object, googleSearch', { tools: { googleSearch: {} } }, [50_000, 900]),
  way('generate', 'tools as an object, urlContext', { tools: { urlContext: {} } }),
  way('responses', 'a namespace that holds an MCP server', { tools: [{ type: 'namespace', name: 'n', tools: [MCP] }] }),
  way(
    'generate',
    'a picture longer than the limit',
    { generationConfig: { maxOutputTokens: 700, responseModalities: ['IMAGE'] } },
    [10, 1_990],
  ),
  // Found in the types of the SDKs and in the documentation of servers.
  way('messages', 'a hosted tool that a message adds', {
    messages: [
      {
        role: 'system',
        content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition: SEARCH } }],
      },
      { role: 'user', content: 'hi' },
    ],
  }),
  way('messages', 'a thread that goes on', { thread: { type: 'continue', previous_message_id: 'msg_1' } }),
  way('messages', 'skills of a container', { container: { skills: [{ type: 'anthropic', skill_id: 'pptx' }] } }),
  way('messages', 'an MCP server as an object', { mcp_servers: { type: 'url', url: URL, name: 'a' } }),
  way('messages', 'a toolset of an MCP server', { tools: [{ type: 'mcp_toolset', mcp_server_name: 'a' }] }),
  way('messages', 'a member of next year', { deep_reading: { enabled: true } }),
  way('messages', 'a member of next year inside the thinking', { thinking: { type: 'enabled', swarm: 40 } }, WORDY),
  way('messages', 'a tool of next year', { tools: [{ type: 'video_editor_20270101', name: 'v' }] }),
  way('messages', 'a new member of a known tool', {
    tools: [{ type: 'bash_20250124', name: 'bash', runs_at: 'provider' }],
  }),
  part('messages', 'a part of next year', { type: 'film', source: { type: 'url', url: URL } }),
  part('messages', 'a source of next year', { type: 'image', source: { type: 'album', url: URL } }),
  way('responses', 'tools that the input adds', {
    input: [
      { type: 'additional_tools', role: 'developer', tools: [MCP] },
      { role: 'user', content: 'hi' },
    ],
  }),
  way('responses', 'reasoning in several runs', { reasoning: { mode: 'pro' } }, WORDY),
  way('responses', 'a stored prompt with files', { prompt: { id: 'p', variables: { f: { type: 'input_file' } } } }),
  way('responses', 'a moving picture', { tools: [{ type: 'image_generation', frame_count: 60 }] }, [10, 60_000]),
  part('responses', 'a part of another dialect', { type: 'video_url', video_url: { url: URL } }),
  way('responses', 'a tool as an object', { tools: MCP }),
  way('chat', 'groq: a browser that the provider runs', { tools: [{ type: 'browser_search' }] }),
  way('chat', 'groq: compound models', { compound_custom: { tools: { enabled_tools: ['visit_website'] } } }),
  way('chat', 'moonshot: a search as a built-in function', {
    tools: [{ type: 'builtin_function', function: { name: '$web_search' } }],
  }),
  way('chat', 'zai: a search as a tool', { tools: [{ type: 'web_search', web_search: { enable: true } }] }),
  way('chat', 'qwen: thinking beside the limit', { enable_thinking: true }, WORDY),
  way('chat', 'ollama: options', { options: { num_predict: 8_000 } }, WORDY),
  way('chat', 'ollama: num_predict without an end', { num_predict: -1 }, WORDY),
  way('chat', 'google: extra_body', { extra_body: { google: { cached_content: 'cachedContents/1' } } }),
  way('chat', 'vllm: options of the media processor', { mm_processor_kwargs: { max_pixels: 9_000_000 } }),
  way('chat', 'qwen: pictures in full resolution', { vl_high_resolution_images: true }),
  way(
    'chat',
    'a prediction that is not used',
    { prediction: { type: 'content', content: 'x '.repeat(4_000) } },
    [10, 8_000],
  ),
  part('chat', 'zai: a file by address', { type: 'file_url', file_url: { url: URL } }),
  part('chat', 'qwen: a video by address', { type: 'video_url', video_url: { url: URL } }),
  part('chat', 'more pixels for a picture', { type: 'image_url', image_url: { url: URL }, max_pixels: 99_999_999 }),
  way('chat', 'a known member in the wrong shape', { temperature: { search: true } }),
  way('generate', 'a model that the provider selects', {
    generationConfig: {
      maxOutputTokens: 16,
      modelSelectionConfig: { featureSelectionPreference: 'PRIORITIZE_QUALITY' },
    },
  }),
  way('generate', 'a reply that is continued by itself', { automaticContinuation: true }, WORDY),
  way('generate', 'tools in the other spelling', { tools: [{ url_context: {} }] }),
  way('generate', 'a picture of so many tokens', {
    contents: [
      { parts: [{ inlineData: { mimeType: 'image/png', data: '' }, mediaResolution: { numTokens: 90_000 } }] },
    ],
  }),
  way(
    'generate',
    'a film as reply',
    { generationConfig: { maxOutputTokens: 16, responseFormat: { video: {} } } },
    WORDY,
  ),
  way('embeddings', 'a picture to embed', { input: [{ type: 'image_url', image_url: { url: URL } }] }),
  way('embeddings', 'messages to embed', { messages: [{ role: 'user', content: 'hi' }] }),
];

/** Small requests that every wallet of this size pays for, with members that the tables call harmless. */
const HARMLESS: readonly Way[] = [
  way('chat', 'sampling of other servers', { top_k: 40, min_p: 0.1, repetition_penalty: 1.1 }, [10, 16]),
  way('chat', 'a template', { chat_template_kwargs: { enable_thinking: false, anything: { goes: 1 } } }, [10, 16]),
  way(
    'messages',
    'metadata, caching and thinking',
    {
      ...{ metadata: { user_id: 'u' }, cache_control: { type: 'ephemeral' }, thinking: { type: 'disabled' } },
    },
    [10, 16],
  ),
  way(
    'responses',
    'a function with a schema of any form',
    {
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: { video: { url: 1 } } } }],
      metadata: { deep: { er: 1 } },
    },
    [10, 16],
  ),
  way('generate', 'both spellings', { system_instruction: { parts: [{ text: 'a' }] }, labels: { a: 'b' } }, [10, 16]),
  way('embeddings', 'a dimension', { dimensions: 256, encoding_format: 'float' }, [10, 0]),
];

const ALL = [...WAYS, ...HARMLESS];
const nameOf = (n: number): string => `way-${n + 1}`;
const keyOf = (n: number): string => `the-key-of-the-user-${nameOf(n)}`;

function bodyOf({ api, content, more }: Way, model: string): object {
  if (api === 'generate')
    return { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { maxOutputTokens: 16 }, ...more };
  if (api === 'embeddings') return { model, input: 'hi', ...more };
  const turns = [{ role: 'user', content: content ?? 'hi' }];
  return api === 'responses'
    ? { model, input: turns, max_output_tokens: 16, ...more }
    : { model, messages: turns, max_tokens: 16, ...more };
}

let gateway: TestGateway;
let upstream: Canned;
const results = new Map<number, { statuses: number[]; balance: bigint }>();

before(async () => {
  upstream = await startCanned();
  upstream.respondWith((response, request) => {
    const text = request.target + request.body.toString();
    const { api, report } = ALL[Number(/way-(\d+)/.exec(text)?.[1]) - 1] ?? assert.fail(text);
    return jsonResponse(JSON.stringify(replyOf(api, report)))(response, request);
  });
  gateway = await startGateway({ setup: basicSetup(upstream.url) });
  const groups = ['openai', 'claude', 'gemini'];
  await gateway.apply({
    models: [{ id: 'way-*', groups, prices: PRICES, context: 200_000 }],
    users: ALL.map((_, n) => ({ id: nameOf(n), balance: BALANCE })),
    keys: ALL.map(({ api }, n) => ({ user: nameOf(n), group: APIS[api].group, key: keyOf(n) })),
  });
  let admitted = 0;
  for (const [n, one] of ALL.entries()) {
    const statuses = await Promise.all(Array.from({ length: PARALLEL }, () => send(n, one)));
    admitted += statuses.filter((status) => status === 200).length;
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
after(() => gateway?.stop().finally(() => upstream.close()));

let replies = 0;
function replyOf(api: Api, [input, output]: Report): object {
  const total = input + output;
  const id = `reply_${++replies}`;
  if (api === 'generate')
    return {
      candidates: [{ finishReason: 'STOP', content: { parts: [{ text: 'x' }] } }],
      usageMetadata: { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: total },
    };
  if (api === 'messages')
    return {
      ...{ id, type: 'message', role: 'assistant', content: [], stop_reason: 'end_turn' },
      usage: { input_tokens: input, output_tokens: output },
    };
  if (api === 'responses')
    return {
      ...{ id, object: 'response', status: 'completed', output: [] },
      usage: { input_tokens: input, output_tokens: output, total_tokens: total },
    };
  return {
    ...{ id, object: 'chat.completion', choices: [], data: [] },
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: total },
  };
}

async function send(n: number, one: Way): Promise<number> {
  const response = await fetch(gateway.url + APIS[one.api].path.replace('MODEL', nameOf(n)), {
    method: 'POST',
    headers: { authorization: `Bearer ${keyOf(n)}`, 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf(one, nameOf(n))),
  });
  await response.arrayBuffer();
  return response.status;
}

describe('no wallet is overspent by', () => {
  for (const [n, { about, api }] of WAYS.entries())
    test(`${n + 1}: ${api}, ${about}`, () => {
      const { statuses, balance } = results.get(n) ?? assert.fail();
      const admitted = statuses.filter((status) => status === 200).length;
      assert.ok(balance >= 0n, `${admitted} admitted, ${BALANCE} -> ${Number(balance) / 1e9}`);
      assert.deepEqual(
        statuses.filter((status) => status !== 200 && status !== 402),
        [],
      );
    });
});

describe('a small wallet still pays for', () => {
  for (const [n, { about, api }] of HARMLESS.entries())
    test(`${api}, ${about}`, () => {
      const { statuses } = results.get(WAYS.length + n) ?? assert.fail();
      assert.deepEqual(new Set(statuses), new Set([200]));
    });
});

describe('a group that rejects what it does not know', () => {
  test('names the member in the dialect of the caller, and sends nothing', async () => {
    await gateway.apply({
      groups: [
        { id: 'openai', style: 'responses', unknown_members: 'reject' },
        { id: 'claude', style: 'messages', unknown_members: 'reject' },
      ],
    });
    const before = upstream.requests.length;
    const messages = await post('/v1/messages', 'claude', {
      model: 'way-1',
      max_tokens: 16,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', voice: 'x' }] }],
    });
    assert.equal(messages.status, 400);
    const { type, error } = (await messages.json()) as { type: string; error: { message: string } };
    assert.equal(type, 'error');
    assert.match(error.message, /^messages\[0\]\.content\[0\]\.voice: this gateway does not know it/);
    const chat = await post('/v1/chat/completions', 'openai', { model: 'way-1', messages: [], deep: 1 });
    const rejection = (await chat.json()) as { error: { param: string; code: string } };
    assert.deepEqual([chat.status, rejection.error.param], [400, 'deep']);
    // Converted, where the member reaches no provider.
    const converted = await post('/v1/chat/completions', 'claude', {
      model: 'way-1',
      messages: [{ role: 'user', content: 'hi' }],
      deep: 1,
    });
    assert.equal(converted.status, 400);
    assert.equal(upstream.requests.length, before);
  });
});

const post = (path: string, group: string, body: object): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${keyOf(ALL.findIndex(({ api }) => APIS[api].group === group))}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  });

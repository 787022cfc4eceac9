/**
 * Members, parts and tools that make a provider read or write more than a request seems to ask for, and that no list of such members had.
 * Each is sent thirty times at once on a wallet that covers small calls only. No wallet may end below zero.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readBalance } from '../../src/ledger/index.ts';
import { TEXT_ONLY } from '../../src/rules/index.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import {
  APIS,
  type Api,
  FILM_URL,
  HARMLESS,
  type Report,
  TRIED_FIRST,
  TRIED_LATER,
  type Way,
} from '../support/dear-requests.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const PARALLEL = 30;
const BALANCE = '0.05';
const PRICES = { input: '1', output: '10', per_search: '0.01' };

const IMAGES: ReadonlySet<Api> = new Set(['pictures', 'edits', 'form']);
const TRIED = [...TRIED_FIRST, ...TRIED_LATER];
const ALL = [...TRIED, ...HARMLESS];
const nameOf = (n: number): string => `way-${n + 1}`;
const keyOf = (n: number): string => `the-key-of-the-user-${nameOf(n)}`;

function bodyOf({ api, content, more }: Way, model: string): object {
  if (api === 'generate')
    return { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { maxOutputTokens: 16 }, ...more };
  if (IMAGES.has(api))
    return {
      model,
      prompt: 'hi',
      size: '1024x1024',
      quality: 'low',
      ...(api === 'edits' && { images: [{ image_url: FILM_URL }] }),
      ...more,
    };
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
    // Stated, so that what a member can cost is seen alone.
    models: [{ id: 'way-*', groups, prices: PRICES, context: 200_000, capabilities: TEXT_ONLY }],
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

const PNG = Buffer.from('\x89PNG\r\n\x1a\n....', 'latin1');
function formOf(body: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) form.append(name, String(value));
  form.append('image', new Blob([PNG], { type: 'image/png' }), 'a.png');
  return form;
}

let replies = 0;
function replyOf(api: Api, [input, output]: Report): object {
  const total = input + output;
  const id = `reply_${++replies}`;
  if (api === 'generate')
    return {
      candidates: [{ finishReason: 'STOP', content: { parts: [{ text: 'x' }] } }],
      usageMetadata: { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: total },
    };
  if (IMAGES.has(api))
    return {
      created: 1,
      data: [{ b64_json: '' }],
      usage: { input_tokens: input, output_tokens: output, total_tokens: total },
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
  const isForm = one.api === 'form';
  const body = bodyOf(one, nameOf(n));
  const response = await fetch(gateway.url + APIS[one.api].path.replace('MODEL', nameOf(n)), {
    method: 'POST',
    headers: { authorization: `Bearer ${keyOf(n)}`, ...(!isForm && { 'content-type': 'application/json' }) },
    body: isForm ? formOf(body) : JSON.stringify(body).replaceAll('MODEL', nameOf(n)),
  });
  await response.arrayBuffer();
  return response.status;
}

describe('no wallet is overspent by', () => {
  for (const [n, { about, api }] of TRIED.entries())
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
      const { statuses } = results.get(TRIED.length + n) ?? assert.fail();
      assert.deepEqual(new Set(statuses), new Set([200]));
    });
});

test('a form with known fields reserves its pictures only', async () => {
  const key = 'the-key-of-a-painter-with-few-cents';
  await gateway.apply({
    users: [{ id: 'painter', balance: '0.02' }],
    keys: [{ user: 'painter', group: 'openai', key }],
  });
  const fields = {
    model: 'way-50',
    prompt: 'hi',
    size: '1024x1024',
    quality: 'low',
    input_fidelity: 'low',
    style: 'vivid',
  };
  const response = await fetch(`${gateway.url}/v1/images/edits`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: formOf(fields),
  });
  assert.equal(response.status, 200, await response.text());
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
    for (const [path, body] of [
      ['/v1/images/generations', { complexity: 'high' }],
      ['/v1/images/edits', { images: [{ image_url: FILM_URL }], complexity: 'high' }],
    ] as const) {
      const drawn = await post(path, 'openai', { model: 'way-1', prompt: 'hi', ...body });
      const { error } = (await drawn.json()) as { error: { param: string } };
      assert.deepEqual([drawn.status, error.param], [400, 'complexity']);
    }
    const form = await fetch(`${gateway.url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keyOf(0)}` },
      body: formOf({ model: 'way-1', prompt: 'hi', complexity: 'high' }),
    });
    assert.match(await form.text(), /complexity: this gateway does not know it/);
    const svg = { model: 'way-1', prompt: 'hi', svg: { model: 'way-2' } };
    assert.match(await (await post('/v1/images/generations', 'openai', svg)).text(), /svg\.model: /);
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

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import OpenAI from 'openai';
import { defined } from './fixtures.ts';
import { type Sim, startSim } from './index.ts';

let sim: Sim;

before(async () => {
  sim = await startSim();
});

beforeEach(() => sim.journal.clear());

after(() => sim.close());

interface Dialect {
  path: string;
  body: Record<string, unknown>;
  headers?: Record<string, string>;
}

const STREAM = { stream: true };
const DIALECTS: Record<string, Dialect> = {
  messages: {
    path: '/v1/messages',
    body: { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'a few words here' }] },
    headers: { 'anthropic-version': '2023-06-01' },
  },
  chat: {
    path: '/v1/chat/completions',
    body: { model: 'm', messages: [{ role: 'user', content: 'a few words here' }] },
  },
  responses: {
    path: '/v1/responses',
    body: { model: 'm', input: 'a few words here' },
  },
  generate: {
    path: '/v1beta/models/m:streamGenerateContent?alt=sse',
    body: { contents: [{ parts: [{ text: 'a few words here' }] }] },
  },
};

function send(
  name: string,
  fault: string,
  more: { body?: object; key?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  const { path, body, headers } = defined(DIALECTS[name]);
  const key: Record<string, string> = more.key === '' ? {} : { authorization: `Bearer ${more.key ?? 'sk-any'}` };
  return fetch(sim.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...key, ...headers, 'x-sim': fault },
    body: JSON.stringify({ ...body, ...(name !== 'generate' && STREAM), ...more.body }),
    ...(more.signal && { signal: more.signal }),
  });
}

async function read(name: string, fault: string, more?: Parameters<typeof send>[2]): Promise<[number, string]> {
  const response = await send(name, fault, more);
  return [response.status, await response.text()];
}

describe('credentials', () => {
  test('are required, and invalid ones are rejected', async () => {
    for (const name of Object.keys(DIALECTS)) {
      assert.equal((await read(name, '', { key: '' }))[0], 401);
      assert.equal((await read(name, '', { key: 'sk-bad' }))[0], 401);
      assert.equal((await read(name, '', { key: 'sk-forbidden' }))[0], 403);
      assert.equal((await read(name, '', { key: 'sk-broke' }))[0], 429);
    }
    assert.match((await read('chat', '', { key: 'sk-broke' }))[1], /"code":"insufficient_quota"/);
    assert.match((await read('generate', '', { key: 'sk-broke' }))[1], /PerDay/);
    const [status, text] = await read('generate', 'bad_key');
    assert.ok(status === 400 && text.includes('API_KEY_INVALID'));
  });
});

describe('faults', () => {
  test('refuse given fields with the message of the provider', async () => {
    const cases = [
      ['responses', 'include', { include: ['reasoning.encrypted_content'] }, 'Encrypted content is not supported'],
      ['responses', 'reasoning.effort:none', { reasoning: { effort: 'none' } }, "Supported values are: 'low'"],
      ['chat', 'stream_options', { stream_options: {} }, "Unsupported parameter: 'stream_options'"],
      ['messages', 'max_tokens>50', { max_tokens: 99 }, 'max_tokens: 99 > 50'],
      ['messages', 'thinking.type:adaptive', { thinking: { type: 'adaptive' } }, 'adaptive thinking is not supported'],
      ['messages', 'top_k', { top_k: 1 }, 'top_k: Extra inputs are not permitted'],
      [
        'generate',
        'generationConfig.thinkingConfig.thinkingLevel:MINIMAL',
        { generation_config: { thinking_config: { thinking_level: 'MINIMAL' } } },
        'Thinking level MINIMAL is not supported',
      ],
      ['generate', 'generationConfig.seed', { generationConfig: { seed: 1 } }, 'Unknown name \\"seed\\"'],
    ] as const;
    for (const [name, refuse, body, words] of cases) {
      const [status, text] = await read(name, `refuse=other+${refuse}`, { body });
      assert.equal(status, 400, refuse);
      assert.ok(text.includes(words), text);
    }
    assert.equal((await read('messages', 'refuse=max_tokens>50', { body: { max_tokens: 50 } }))[0], 200);
    assert.equal((await read('responses', 'refuse=include:x', { body: { include: ['y'] } }))[0], 200);
    assert.equal((await read('responses', 'refuse=a/b'))[0], 400);
  });

  test('return a status in the dialect of the path', async () => {
    const busy = await send('chat', 'fault=429');
    assert.deepEqual([busy.status, busy.headers.get('retry-after')], [429, '12']);
    assert.match(await busy.text(), /Please try again in 12s\./);
    assert.match((await read('messages', 'status=529'))[1], /"type":"overloaded_error"/);
    assert.match((await read('generate', 'fault=429; retry_after=3'))[1], /"retryDelay":"3s"/);
    assert.match((await read('responses', 'context_too_long'))[1], /"code":"context_length_exceeded"/);
    assert.match((await read('messages', 'context_too_long'))[1], /prompt is too long/);
    assert.match((await read('generate', 'context_too_long'))[1], /exceeds the maximum number of tokens/);
    assert.equal((await read('chat', '', { body: { model: 'm@fault=503' } }))[0], 503);
    assert.equal((await read('chat', 'nonsense'))[0], 400);
  });

  test('repeat the credential and the host', async () => {
    const [status, text] = await read('responses', 'leak', { key: 'sk-secret' });
    assert.ok(status === 400 && text.includes('sk-secret') && text.includes(sim.url));
  });

  test('change sizes and usage', async () => {
    const openai = new OpenAI({ apiKey: 'k', baseURL: `${sim.url}/v1`, maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: 'x' }];
    const big = await openai.chat.completions.create({ model: 'm@big=100000', messages });
    assert.equal(big.choices[0]?.message.content?.length, 100_000);
    const text = await (await send('messages', 'events=20000')).text();
    assert.equal(text.split('"text_delta"').length - 1, 20_000);
    const odd = async (usage: string) =>
      (await openai.chat.completions.create({ model: `m@usage=${usage}`, messages })).usage;
    assert.ok(defined(await odd('negative')).prompt_tokens < 0);
    assert.equal(defined(await odd('huge')).total_tokens, 1e18);
    assert.equal(defined(await odd('zero')).completion_tokens, 0);
    assert.equal(await odd('missing'), undefined);
  });

  test('apply to the next requests only when queued', async () => {
    sim.next({ status: 500 });
    sim.next('fault=503');
    const statuses = [];
    for (let index = 0; index < 3; index++) statuses.push((await read('responses', ''))[0]);
    assert.deepEqual(statuses, [500, 503, 200]);
  });
});

describe('journal', () => {
  test('records requests byte for byte', async () => {
    await read('messages', '', { body: { unknown: 'field' } });
    const entry = await sim.journal.waitFor((one) => one.finished);
    assert.equal(entry.path, '/v1/messages');
    assert.equal(JSON.parse(defined(entry.body).toString()).unknown, 'field');
    assert.equal(entry.headers['anthropic-version'], '2023-06-01');
    assert.ok(entry.rawHeaders.some(([, value]) => value === 'Bearer sk-any'));
    assert.ok(entry.eventsSent > 5 && entry.bytesSent > 500 && entry.status === 200);
    const shown = await (await fetch(`${sim.url}/sim/journal`)).text();
    assert.ok(shown.includes('/v1/messages') && !shown.includes('sk-any') && !shown.includes('few words'));
  });

  test('keeps only the hash of a large body', async () => {
    await read('responses', '', { body: { input: 'x'.repeat(1 << 20) } });
    const entry = defined(sim.journal.requests[0]);
    assert.ok(entry.body === undefined && entry.bodyLength > 1 << 20 && /^[0-9a-f]{64}$/.test(entry.bodySha256));
  });

  test('records that a client disconnected', async () => {
    const leave = new AbortController();
    const response = await send('responses', 'silent_mid', { signal: leave.signal });
    await sim.journal.waitFor((entry) => entry.eventsSent > 3);
    leave.abort();
    const entry = await sim.journal.waitFor((one) => one.aborted);
    assert.ok(entry.abortedAt && !entry.finished);
    await assert.rejects(response.text());
    const hung = new AbortController();
    const never = assert.rejects(send('chat', 'hang', { signal: hung.signal }));
    await sim.journal.waitFor((one) => one.path === '/v1/chat/completions' && one.complete);
    hung.abort();
    await never;
    await sim.journal.waitFor((one) => one.path === '/v1/chat/completions' && one.aborted);
  });

  test('shows that a slow reader pauses the stream', async () => {
    const leave = new AbortController();
    const response = await send('chat', 'events=200000', { signal: leave.signal });
    const entry = defined(sim.journal.requests[0]);
    // Reads nothing until all buffers are full.
    for (let seen = 0; seen === 0 || seen !== entry.eventsSent; ) {
      seen = entry.eventsSent;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    assert.ok(entry.eventsSent > 0 && entry.eventsSent < 200_000);
    leave.abort();
    await assert.rejects(response.text());
    await sim.journal.waitFor((one) => one.aborted);
  });
});

test('a malformed request gets a 400 in its dialect, and the server keeps running', async () => {
  const post = async (path: string, body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(sim.url + path, { method: 'POST', body, headers: { 'x-api-key': 'k', ...headers } });
    return [response.status, await response.text()] as const;
  };
  const version = { 'anthropic-version': '2023-06-01' };
  const bodies = [
    '',
    '{',
    'null',
    '[]',
    '{"model":1}',
    '{"model":"m","messages":7,"input":7,"contents":7,"max_tokens":1}',
  ];
  for (const path of ['/v1/messages', '/v1/chat/completions', '/v1/responses', '/v1beta/models/m:generateContent']) {
    for (const body of bodies) assert.equal((await post(path, body, version))[0], 400, `${path} ${body}`);
  }
  assert.match(
    (await post('/v1/messages', '{', version))[1],
    /^\{"type":"error","error":\{"type":"invalid_request_error"/,
  );
  assert.match((await post('/v1beta/models/m:generateContent', '{'))[1], /"status":"INVALID_ARGUMENT"/);
  for (const body of ['x', '--b\r\n\r\nx', '--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\nx']) {
    const [status] = await post('/v1/images/edits', body, { 'content-type': 'multipart/form-data; boundary=b' });
    assert.equal(status, 400);
  }
  assert.equal((await post('/v1/nothing', '{}'))[0], 404);
  assert.equal((await read('chat', ''))[0], 200);
});

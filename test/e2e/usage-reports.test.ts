/** Charges follow what providers report: usage that the client did not ask for, errors in streams, clients that disconnect. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { estimateTokens } from '../../src/core/index.ts';
import { type Canned, jsonResponse, type Script, sseResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

const PRICES = { input: '1', output: '10' };
let gateway: TestGateway;
let upstream: Canned;
let users = 0;

before(async () => {
  upstream = await startCanned();
  gateway = await startGateway({ setup: basicSetup(upstream.url) });
  await gateway.apply({ models: [{ id: 'demo-*', groups: ['openai', 'claude', 'gemini'], prices: PRICES }] });
});
after(() => gateway.stop().finally(() => upstream.close()));

interface Caller {
  readonly keys: Readonly<Record<string, string>>;
  readonly records: () => Promise<{ nanos: bigint; estimated: boolean }[]>;
}
async function newCaller(): Promise<Caller> {
  const user = `user-${++users}`;
  const keys = await gateway.apply({
    users: [{ id: user, balance: '10' }],
    keys: ['openai', 'claude', 'gemini'].map((group) => ({ user, group })),
  });
  const records = () =>
    gateway.context.database.db
      .selectFrom('usage_records')
      .select(['nanos', 'estimated'])
      .where('user_id', '=', user)
      .orderBy('id')
      .where('fault', 'is', null)
      .execute();
  return { keys, records };
}

const post = (path: string, key: string | undefined, body: object, signal?: AbortSignal): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });

const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;
const USAGE_CHUNK = `data: ${JSON.stringify({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [],
  usage: { prompt_tokens: 700, completion_tokens: 900, total_tokens: 1600 },
})}\n\n`;
const CHAT = { model: 'demo-x', messages: [{ role: 'user', content: 'hi' }], stream: true };
/** Reports usage only when it is asked for, as providers do. */
const chatStream: Script = (response, { body }) => {
  const asked = JSON.parse(String(body)).stream_options?.include_usage === true;
  return sseResponse(
    chunk({ content: 'hello' }),
    ...(asked ? [USAGE_CHUNK] : []),
    'data: [DONE]\n\n',
  )(response, upstream.last);
};

describe('usage of native chat streams', () => {
  test('is asked for, charged exactly, and hidden from a client that did not ask', async () => {
    const { keys, records } = await newCaller();
    upstream.respondWith(chatStream);
    const text = await (await post('/v1/chat/completions', keys.openai, CHAT)).text();
    assert.equal(text, `${chunk({ content: 'hello' })}data: [DONE]\n\n`);
    const [record] = await until('the record', async () => ((await records()).length > 0 ? records() : undefined));
    assert.deepEqual(record, { nanos: 700_000n + 9_000_000n, estimated: false });
  });

  test('is delivered to a client that asks, with its other options', async () => {
    const { keys } = await newCaller();
    upstream.respondWith(chatStream);
    const body = { ...CHAT, stream_options: { include_usage: true, include_obfuscation: false } };
    const sent = JSON.stringify(body);
    const text = await (await post('/v1/chat/completions', keys.openai, body)).text();
    assert.ok(text.includes('"prompt_tokens":700'));
    assert.equal(String(upstream.last.body), sent, 'the body is unchanged');
  });

  test('is hidden however the stream is cut into chunks', async () => {
    const { keys } = await newCaller();
    const whole = `${chunk({ content: 'a' })}${chunk({ content: 'b' })}${USAGE_CHUNK}data: [DONE]\n\n`;
    for (const size of [1, 7, 100, 333]) {
      const pieces = whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
      upstream.respondWith(async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const piece of pieces) {
          response.write(piece);
          await new Promise((resolve) => setImmediate(resolve));
        }
        response.end();
      });
      const text = await (await post('/v1/chat/completions', keys.openai, CHAT)).text();
      assert.equal(text, whole.replace(USAGE_CHUNK, ''), `chunks of ${size}`);
    }
  });

  test('a provider that rejects the option gets the request without it, and is not asked again', async () => {
    const { keys } = await newCaller();
    const fresh = await gateway.apply({
      groups: [{ id: 'old', style: 'responses' }],
      accounts: [{ id: 'old1', group: 'old', base_url: `${upstream.url}/v1`, api_key: 'sk-old' }],
      models: [{ id: 'demo-*', groups: ['old'], prices: PRICES }],
      keys: [{ user: 'ana', group: 'old' }],
    });
    assert.ok(keys.openai);
    upstream.respondWith((response, received) =>
      String(received.body).includes('stream_options')
        ? jsonResponse('{"error":{"message":"Unknown field: stream_options"}}', 400)(response, received)
        : sseResponse(chunk({ content: 'hello' }), 'data: [DONE]\n\n')(response, received),
    );
    const before = upstream.requests.length;
    for (let n = 0; n < 2; n += 1) {
      const text = await (await post('/v1/chat/completions', fresh.old, CHAT)).text();
      assert.ok(text.includes('hello'));
    }
    assert.equal(upstream.requests.length - before, 3);
    // Requests that were on their way together are all sent again without the option.
    await gateway.apply({
      accounts: [{ id: 'old1', group: 'old', base_url: `${upstream.url}/v1`, api_key: 'sk-new' }],
    });
    const replies = await Promise.all(Array.from({ length: 8 }, () => post('/v1/chat/completions', fresh.old, CHAT)));
    assert.deepEqual(
      replies.map(({ status }) => status),
      Array.from({ length: 8 }, () => 200),
    );
  });

  test('the SDK sees a stream without usage', async () => {
    const { keys } = await newCaller();
    upstream.respondWith(chatStream);
    const client = openai(gateway.url, keys.openai ?? '');
    const chunks = await Array.fromAsync(
      await client.chat.completions.create({
        model: 'demo-x',
        messages: [{ role: 'user', content: 'hi' }],
        stream: true,
      }),
    );
    assert.deepEqual(
      chunks.map(({ choices }) => choices.length),
      [1],
    );
  });
});

const START = `event: message_start\ndata: ${JSON.stringify({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    usage: { input_tokens: 5_000, output_tokens: 1 },
  },
})}\n\n`;
const TEXT = (text: string): string =>
  `event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\nevent: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })}\n\n`;
const MESSAGE = { model: 'demo-x', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }], stream: true };
const FAILED = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n';

describe('failed calls cost nothing, on every path', () => {
  for (const [about, group, path, body, script] of [
    ['native messages stream', 'claude', '/v1/messages', MESSAGE, sseResponse(START, TEXT('hello'), FAILED)],
    [
      'converted messages stream',
      'claude',
      '/v1/responses',
      { model: 'demo-x', input: 'hi', stream: true },
      sseResponse(START, TEXT('hello'), FAILED),
    ],
    [
      'native responses stream',
      'openai',
      '/v1/responses',
      { model: 'demo-x', input: 'hi', stream: true },
      sseResponse(
        'event: response.failed\ndata: {"type":"response.failed","response":{"id":"r","status":"failed","usage":{"input_tokens":5000,"output_tokens":9}}}\n\n',
      ),
    ],
    [
      'native chat stream',
      'openai',
      '/v1/chat/completions',
      CHAT,
      sseResponse(chunk({ content: 'a' }), 'data: {"error":{"message":"x"}}\n\n'),
    ],
    [
      'native generate stream',
      'gemini',
      '/v1beta/models/demo-x:streamGenerateContent?alt=sse',
      { contents: [{ parts: [{ text: 'hi' }] }] },
      sseResponse(
        'data: {"error":{"code":503,"status":"UNAVAILABLE","message":"x"},"usageMetadata":{"promptTokenCount":9}}\n\n',
      ),
    ],
    [
      'native chat with an error body',
      'openai',
      '/v1/chat/completions',
      { ...CHAT, stream: false },
      jsonResponse('{"error":{"message":"x"}}'),
    ],
  ] as const)
    test(about, async () => {
      const { keys, records } = await newCaller();
      upstream.respondWith(script);
      await (await post(path, keys[group], body)).text();
      // A call that is charged shows that earlier ones were not.
      upstream.respondWith(
        jsonResponse('{"id":"m","type":"message","content":[],"usage":{"input_tokens":7,"output_tokens":0}}'),
      );
      await (await post('/v1/messages', keys.claude, { ...MESSAGE, stream: false })).text();
      const rows = await until('the later record', async () => ((await records()).length > 0 ? records() : undefined));
      assert.deepEqual(
        rows.map(({ nanos }) => nanos),
        [7_000n],
      );
    });

  const DELTA =
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}\n\n';
  const COMPLETED = JSON.stringify({
    type: 'response.completed',
    response: { id: 'resp_1', status: 'completed', output: [], usage: { input_tokens: 5_000, output_tokens: 9 } },
  });
  const FINISHED = JSON.stringify({
    candidates: [{ index: 0, finishReason: 'STOP', content: { role: 'model', parts: [{ text: 'hello' }] } }],
    usageMetadata: { promptTokenCount: 5_000, candidatesTokenCount: 9, totalTokenCount: 5_009 },
  });
  for (const [dialect, group, path, body, events] of [
    [
      'messages',
      'claude',
      '/v1/messages',
      MESSAGE,
      `${START}${TEXT('hello')}${DELTA}event: message_stop\ndata: {"type":"message_stop"}\n\n`,
    ],
    [
      'chat',
      'openai',
      '/v1/chat/completions',
      { ...CHAT, stream_options: { include_usage: true } },
      `${chunk({ content: 'hello' })}${USAGE_CHUNK.replace('700', '5000').replace('900', '9')}data: [DONE]\n\n`,
    ],
    [
      'responses',
      'openai',
      '/v1/responses',
      { model: 'demo-x', input: 'hi', stream: true },
      `event: response.completed\ndata: ${COMPLETED}\n\n`,
    ],
    [
      'generate',
      'gemini',
      '/v1beta/models/demo-x:streamGenerateContent?alt=sse',
      { contents: [{ parts: [{ text: 'hi' }] }] },
      `data: ${FINISHED}\n\n`,
    ],
  ] as const)
    test(`a ${dialect} stream whose terminal event has passed is complete, although its last chunk is missing`, async () => {
      const { keys, records } = await newCaller();
      upstream.respondWith((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(events, () => response.destroy());
      });
      const response = await post(path, keys[group], body);
      assert.equal(await response.text(), events, 'nothing is appended');
      const [record] = await until('the record', async () => ((await records()).length > 0 ? records() : undefined));
      assert.deepEqual(record, { nanos: 5_000_000n + 90_000n, estimated: false });
    });
});

describe('a client that disconnects', () => {
  for (const [about, path, body] of [
    ['native', '/v1/messages', { ...MESSAGE, max_tokens: 1_000 }],
    ['converted', '/v1/responses', { model: 'demo-x', input: 'hi', stream: true }],
  ] as const)
    test(`pays the reported input and an estimate of its output (${about})`, async () => {
      const { keys, records } = await newCaller();
      upstream.respondWith((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(START + TEXT('the word usage, and more of it '.repeat(20)));
      });
      const abort = new AbortController();
      const response = await post(path, keys.claude, body, abort.signal);
      const reader = response.body?.getReader();
      let seen = '';
      while (!seen.includes('the word usage')) seen += Buffer.from((await reader?.read())?.value ?? []).toString();
      abort.abort();
      const [record] = await until('the record', async () => ((await records()).length > 0 ? records() : undefined));
      assert.equal(record?.estimated, true);
      const output = Number((record?.nanos ?? 0n) - 5_000_000n) / 10_000;
      assert.ok(output > 100 && output < 250, `${output} tokens for 620 characters`);
    });

  test('after the end of the text leaves the provider a moment for its report, and pays an estimate without one', async () => {
    const impatient = await startGateway({ database: gateway.database, env: { USAGE_WAIT_MS: '200' } });
    try {
      const { keys, records } = await newCaller();
      const closed = Promise.withResolvers<void>();
      const finish = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
      upstream.respondWith((response) => {
        response.on('close', closed.resolve);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(chunk({ content: 'hello' }) + chunk({}, finish));
      });
      const abort = new AbortController();
      const response = await fetch(`${impatient.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys.openai}`, 'content-type': 'application/json' },
        body: JSON.stringify(CHAT),
        signal: abort.signal,
      });
      const reader = response.body?.getReader();
      let seen = '';
      while (!seen.includes('"stop"')) seen += Buffer.from((await reader?.read())?.value ?? []).toString();
      abort.abort();
      await closed.promise;
      const [record] = await until('the record', async () => ((await records()).length > 0 ? records() : undefined));
      assert.equal(record?.estimated, true);
      const line = await until('the log line', () => impatient.log.find(({ msg }) => msg === 'request.completed'));
      assert.deepEqual([line.outcome, line.estimated], ['client_closed', true]);
      assert.ok(Number(line.cost) > 0, 'the log line shows the charge');
    } finally {
      await impatient.stop();
    }
  });

  test('before the response pays an estimate of its input', async () => {
    const { keys, records } = await newCaller();
    const received = Promise.withResolvers<void>();
    upstream.respondWith(() => received.resolve());
    const abort = new AbortController();
    const body = { ...MESSAGE, stream: false, messages: [{ role: 'user', content: 'word '.repeat(800) }] };
    const response = post('/v1/messages', keys.claude, body, abort.signal);
    await received.promise;
    abort.abort();
    await assert.rejects(response);
    const [record] = await until('the record', async () => ((await records()).length > 0 ? records() : undefined));
    assert.equal(record?.estimated, true);
    const tokens = Number(record?.nanos ?? 0n) / 1_000;
    assert.ok(Math.abs(tokens - estimateTokens('word '.repeat(800))) < 10, `${tokens} tokens`);
  });
});

test('a usage object without counts is not a report', async () => {
  const { keys, records } = await newCaller();
  upstream.respondWith(
    jsonResponse(
      '{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"hello there"}],"usage":{}}',
    ),
  );
  await (await post('/v1/messages', keys.claude, { ...MESSAGE, stream: false })).text();
  const [record] = await until('the record', async () => ((await records()).length > 0 ? records() : undefined));
  assert.ok(record?.estimated && record.nanos > 0n);
});

describe('a provider that reports no usage', () => {
  const chars = 'hello '.repeat(100);
  const MODEL_REPLY = { candidates: [{ index: 0, finishReason: 'STOP', content: { parts: [{ text: chars }] } }] };
  for (const stream of [false, true])
    test(`leaves an estimate that the client reads and pays${stream ? ' (stream)' : ''}`, async () => {
      const { keys, records } = await newCaller();
      const text = JSON.stringify(MODEL_REPLY);
      upstream.respondWith(stream ? sseResponse(`data: ${text}\n\n`) : jsonResponse(text));
      const response = await post('/v1/responses', keys.gemini, { model: 'demo-x', input: 'hi', stream });
      const body = await response.text();
      const last = stream
        ? (body.match(/^data: .*response\.completed.*$/m)?.[0].slice(6) ?? '{}')
        : `{"response":${body}}`;
      const { usage } = JSON.parse(last).response as { usage: { input_tokens: number; output_tokens: number } };
      assert.equal(usage.output_tokens, estimateTokens(chars));
      assert.ok(usage.input_tokens > 0);
      const [record] = await until('the record', async () => ((await records()).length > 0 ? records() : undefined));
      const nanos = BigInt(usage.input_tokens * 1_000 + usage.output_tokens * 10_000);
      assert.deepEqual(record, { nanos, estimated: true });
    });
});

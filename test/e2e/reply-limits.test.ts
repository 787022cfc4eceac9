// set: all; replies at the limit of their items
/** Replies of a provider with very many items: converted in linear time, and beyond the limit the provider's fault. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { REPLY_LIMITS } from '../../src/rules/index.ts';
import { type Canned, jsonResponse, sseResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';

let upstream: Canned;
let gateway: TestGateway;
let key: string;

before(async () => {
  upstream = await startCanned();
  gateway = await startGateway();
  key = (await gateway.apply(basicSetup(upstream.url))).claude ?? '';
});
after(async () => {
  await gateway.stop();
  await upstream.close();
});

type Block = Readonly<Record<string, unknown>>;
const TEXT: Block = { type: 'text', text: 'a' };
const call = (_: unknown, n: number): Block => ({ type: 'tool_use', id: `toolu_${n}`, name: 'find', input: {} });
const USAGE = { input_tokens: 1, output_tokens: 1 };
const HEAD = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' };

const unary = (content: readonly Block[]): string =>
  JSON.stringify({ ...HEAD, content, stop_reason: 'end_turn', usage: USAGE });
const streamed = (content: readonly Block[]): string =>
  [
    { type: 'message_start', message: { ...HEAD, content: [], usage: USAGE } },
    ...content.flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: USAGE },
    { type: 'message_stop' },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');

const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses' } as const;
const send = async (client: keyof typeof PATHS, stream: boolean): Promise<{ status: number; text: string }> => {
  const input = client === 'chat' ? { messages: [{ role: 'user', content: 'hi' }] } : { input: 'hi' };
  const response = await fetch(`${gateway.url}${PATHS[client]}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-messages', stream, ...input }),
  });
  return { status: response.status, text: await response.text() };
};

for (const client of ['chat', 'responses'] as const) {
  test(`a reply with as many calls as the limit allows reaches a ${client} client`, async () => {
    const content = Array.from({ length: REPLY_LIMITS.items }, call);
    upstream.respondWith(jsonResponse(unary(content)));
    const whole = await send(client, false);
    assert.equal(whole.status, 200);
    const body = JSON.parse(whole.text);
    const calls = client === 'chat' ? body.choices[0].message.tool_calls : body.output;
    assert.equal(calls.length, REPLY_LIMITS.items);
    assert.match(JSON.stringify(calls.at(-1)), new RegExp(`_${REPLY_LIMITS.items - 1}_gw`));
  });

  test(`the same reply in one body reaches a ${client} client that asked for a stream`, async () => {
    upstream.respondWith(jsonResponse(unary(Array.from({ length: REPLY_LIMITS.items }, call))));
    const { status, text } = await send(client, true);
    assert.equal(status, 200);
    assert.match(text, new RegExp(`_${REPLY_LIMITS.items - 1}_gw`));
    assert.match(text, client === 'chat' ? /\[DONE\]\s*$/ : /event: response\.completed\n.*\s*$/);
  });

  for (const [about, content] of [
    ['calls', Array.from({ length: REPLY_LIMITS.items + 1 }, call)],
    ['text blocks', Array(REPLY_LIMITS.items + 1).fill(TEXT) as Block[]],
  ] as const)
    test(`a reply with one more of its ${about} is 502 for a ${client} client, and an error in a stream`, async () => {
      upstream.respondWith(jsonResponse(unary(content)));
      const whole = await send(client, false);
      assert.equal(whole.status, 502);
      assert.match(whole.text, /"code":"upstream_error"/);
      assert.match(whole.text, /more than 5000 items and parts/);
      upstream.respondWith(sseResponse(streamed(content)));
      const { text } = await send(client, true);
      assert.match(text, /more than 5000 items and parts/);
      assert.doesNotMatch(text, /\[DONE\]|response\.completed/);
    });

  test(`a reply of more text than the limit is 502 for a ${client} client, and one of a large picture is not`, async () => {
    const text = 'a'.repeat(REPLY_LIMITS.textBytes);
    upstream.respondWith(jsonResponse(unary([{ type: 'text', text }])));
    const refused = await send(client, false);
    assert.equal(refused.status, 502);
    assert.match(refused.text, /more than 4 MiB of text/);
    const data = { type: 'base64', media_type: 'image/png', data: text };
    upstream.respondWith(jsonResponse(unary([TEXT, { type: 'image', source: data }])));
    assert.equal((await send(client, false)).status, 200);
  });

  test(`a reply with hundreds of thousands of text blocks is 502 for a ${client} client`, async () => {
    upstream.respondWith(jsonResponse(unary(Array(140_000).fill(TEXT) as Block[])));
    const { status, text } = await send(client, false);
    assert.equal(status, 502);
    assert.match(text, /cannot be converted: The body has more than 100000 values/);
  });
}

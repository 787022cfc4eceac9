/** Calls of tools that a messages provider runs, for clients of other dialects: in the reply, in the header, and in the next request. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { readVectors } from '../support/dialects/codecs.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { openai } from '../support/sdk.ts';

const vector = readVectors('messages').find(({ name }) => name === 'messages-hosted-tools.json');
const UNARY = (vector?.unary ?? { content: [] }) as { content: { type: string }[] };
const HOSTED = UNARY.content.filter(({ type }) => type !== 'text');
const STREAM = (vector?.events ?? [])
  .map(({ event, data }) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  .join('');
const ITEM_TYPES = [
  'code_interpreter_call',
  'code_interpreter_call',
  'web_search_call',
  'mcp_call',
  'tool_search_call',
  'tool_search_output',
  'message',
];

let provider: Server;
let gateway: TestGateway;
let keys: Record<string, string>;
let received: { messages: { role: string; content: { type: string }[] }[] }[] = [];

before(async () => {
  provider = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    received.push(body);
    const [type, text] = body.stream ? ['text/event-stream', STREAM] : ['application/json', JSON.stringify(UNARY)];
    response.writeHead(200, { 'content-type': type }).end(text);
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  gateway = await startGateway();
  keys = await gateway.apply(basicSetup(`http://127.0.0.1:${(provider.address() as AddressInfo).port}`));
});
after(async () => {
  await gateway.stop();
  provider.close();
});
beforeEach(() => {
  received = [];
});

const client = () => openai(gateway.url, keys.claude ?? '');
const MODEL = 'demo-messages';

const post = (path: string, body: object): Promise<Response> =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.claude}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, ...body }),
  });

test('x-gateway-dropped names hosted calls that a chat client does not get', async () => {
  const response = await post('/v1/chat/completions', { messages: [{ role: 'user', content: 'go' }] });
  assert.equal(
    response.headers.get('x-gateway-dropped'),
    'reply.code_execution,reply.web_fetch,reply.mcp,reply.tool_search,reply.citations,reply.container',
  );
  const stream = await post('/v1/chat/completions', { stream: true, messages: [{ role: 'user', content: 'go' }] });
  assert.equal(stream.headers.get('x-gateway-dropped'), null, 'the head precedes the reply');
  const text = await stream.text();
  assert.match(text, /^: x-gateway-dropped: reply\.code_execution,reply\.web_fetch,.*reply\.container$/m);
  assert.match(text, /data: \[DONE\]\n\n$/);
});

for (const isStream of [false, true])
  test(`a responses client gets its own items for hosted calls, ${isStream ? 'streamed' : 'unary'}`, async () => {
    const request = { model: MODEL, input: 'go' };
    const { output } = isStream
      ? await client().responses.stream(request).finalResponse()
      : await client().responses.create(request);
    assert.deepEqual(
      output.map(({ type }) => type).filter((type) => type !== 'reasoning'),
      ITEM_TYPES,
    );
  });

test('the provider gets its own blocks back in their place, resent or by previous_response_id', async () => {
  const first = await client().responses.create({ model: MODEL, input: 'go' });
  await client().responses.create({ model: MODEL, input: 'on', previous_response_id: first.id });
  const resent = [{ role: 'user' as const, content: 'go' }, ...first.output, { role: 'user' as const, content: 'on' }];
  await client().responses.create({ model: MODEL, input: resent as never, store: false });
  for (const { messages } of received.slice(1)) {
    const history = messages[1]?.content ?? [];
    assert.deepEqual(history.slice(0, HOSTED.length), HOSTED);
    assert.deepEqual(
      history.slice(HOSTED.length).map(({ type }) => type),
      ['text'],
    );
  }
});

test('hosted calls reach another provider as text when the client returns them without the opaque value', async () => {
  const first = await client().responses.create({ model: MODEL, input: 'go' });
  const items = first.output.filter(({ type }) => type !== 'reasoning');
  const input = [{ role: 'user' as const, content: 'go' }, ...items, { role: 'user' as const, content: 'on' }];
  await client().responses.create({ model: MODEL, input: input as never, store: false });
  const history = received[1]?.messages[1]?.content ?? [];
  assert.ok(history.every(({ type }) => type === 'text'));
  assert.match(JSON.stringify(history), /print\(6\*7\).*42.*no such file.*file text.*get_weather.*The page says 42/);
});

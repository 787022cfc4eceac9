/** Converted calls to a messages provider that stops with `pause_turn`: the gateway continues the turn in further rounds. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

/** A server tool call and its result, after which the provider pauses once. */
const SEARCH = [
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'pears' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: [
      {
        type: 'web_search_result',
        url: 'https://pears.example/',
        title: 'Pears',
        encrypted_content: 'E',
        page_age: null,
      },
    ],
  },
];
const ROUNDS = [
  {
    content: [{ type: 'text', text: 'Let me look. ' }, ...SEARCH],
    stop_reason: 'pause_turn',
    usage: { input_tokens: 10, output_tokens: 5, server_tool_use: { web_search_requests: 1 } },
  },
  {
    content: [{ type: 'text', text: 'Pears are green.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 20, output_tokens: 7 },
  },
];

let provider: Server;
let gateway: TestGateway;
let keys: Record<string, string>;
let received: { messages: { role: string; content: unknown }[]; stream?: boolean }[] = [];
let failSecond = false;
let hangSecond = false;

const head = (n: number) => ({
  id: `msg_round${n}`,
  type: 'message',
  role: 'assistant',
  model: 'demo-messages',
  stop_sequence: null,
});

function streamOf(round: (typeof ROUNDS)[number], n: number): string {
  const events: object[] = [
    {
      type: 'message_start',
      message: {
        ...head(n),
        content: [],
        stop_reason: null,
        usage: { input_tokens: round.usage.input_tokens, output_tokens: 1 },
      },
    },
  ];
  for (const [index, block] of round.content.entries()) {
    const isText = 'text' in block;
    events.push({ type: 'content_block_start', index, content_block: isText ? { type: 'text', text: '' } : block });
    if (isText) events.push({ type: 'content_block_delta', index, delta: { type: 'text_delta', text: block.text } });
    events.push({ type: 'content_block_stop', index });
  }
  events.push(
    { type: 'message_delta', delta: { stop_reason: round.stop_reason, stop_sequence: null }, usage: round.usage },
    { type: 'message_stop' },
  );
  return events
    .map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

before(async () => {
  provider = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString());
      received.push(body);
      const n = received.length - 1;
      const round = ROUNDS[n];
      if (hangSecond && n === 1) return;
      if (!round || (failSecond && n === 1))
        return void response
          .writeHead(500, { 'content-type': 'application/json' })
          .end('{"type":"error","error":{"type":"api_error","message":"no"}}');
      if (body.stream)
        return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(streamOf(round, n));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...head(n), ...round }));
    });
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
  failSecond = false;
  hangSecond = false;
});

const client = () => openai(gateway.url, keys.claude ?? '');
const request = {
  model: 'demo-messages',
  input: 'Tell me about pears.',
  tools: [{ type: 'web_search' as const }],
  store: false,
};

for (const isStream of [false, true]) {
  test(`pause_turn is continued, and the client gets one ${isStream ? 'stream' : 'unary response'} with the usage of both rounds`, async () => {
    const response = isStream
      ? await client().responses.stream(request).finalResponse()
      : await client().responses.create(request);
    assert.equal(response.status, 'completed');
    assert.match(response.output_text, /Let me look\..*Pears are green\./s);
    assert.equal(response.output.filter((item) => item.type === 'web_search_call').length, 1);
    assert.equal(new Set(response.output.map((item) => item.id)).size, response.output.length);
    assert.equal(response.usage?.input_tokens, 30);
    assert.equal(response.usage?.output_tokens, 12);
    assert.equal(received.length, 2);
    const last = received[1]?.messages.at(-1);
    assert.equal(last?.role, 'assistant');
    assert.match(JSON.stringify(last?.content), /srvtoolu_1/, 'the provider gets its blocks back');
  });
}

test('pause_turn is continued for chat clients', async () => {
  const done = await client().chat.completions.create({
    model: 'demo-messages',
    messages: [{ role: 'user', content: 'pears?' }],
    web_search_options: {},
  });
  assert.equal(done.choices[0]?.finish_reason, 'stop');
  assert.match(done.choices[0]?.message.content ?? '', /Let me look\..*Pears are green\./s);
});

test("a failing second round ends the stream with the dialect's error event", async () => {
  failSecond = true;
  const events: string[] = [];
  for await (const event of await client().responses.create({ ...request, stream: true })) events.push(event.type);
  assert.equal(events.at(-1), 'response.failed');
  assert.ok(events.includes('response.output_text.delta'));
});

interface Tokens {
  readonly input: number;
  readonly output: number;
}

/** The recorded usage of the key's user, once all calls of this file are recorded. */
async function recorded(): Promise<Tokens> {
  const headers = { authorization: `Bearer ${keys.claude}` };
  return until('all records', async () => {
    const { total } = (await (await fetch(`${gateway.url}/v1/usage`, { headers })).json()) as {
      total: { requests: number; input_tokens: number; output_tokens: number };
    };
    const calls = gateway.log.filter(({ msg, op }) => msg === 'request.completed' && String(op).endsWith('.create'));
    return total.requests === calls.length ? { input: total.input_tokens, output: total.output_tokens } : undefined;
  });
}

/** Asserts that the first round was charged, and of the second `more` input tokens at most. */
async function assertFirstRoundCharged(before: Tokens, calls: number, more = 0): Promise<void> {
  await until('the end of the call', () => doneCalls() > calls);
  const after = await recorded();
  const second = after.input - before.input - 10;
  assert.ok(second >= Math.min(1, more) && second <= more, `${second} tokens of the second round`);
  assert.equal(after.output - before.output, 5);
}
const doneCalls = (): number => gateway.log.filter(({ msg }) => msg === 'request.completed').length;

for (const isStream of [false, true]) {
  test(`a client disconnect in the second round of ${isStream ? 'a stream' : 'a unary call'} is charged for the first, and for the input of the second`, async () => {
    const before = await recorded();
    const calls = doneCalls();
    hangSecond = true;
    const abort = new AbortController();
    const running = isStream
      ? client().responses.stream(request, { signal: abort.signal }).finalResponse()
      : client().responses.create(request, { signal: abort.signal });
    const rejected = assert.rejects(Promise.resolve(running));
    await until('the second round', () => received.length === 2);
    abort.abort();
    await rejected;
    // The estimate counts the request and what a provider adds to the prompt for its tools.
    await assertFirstRoundCharged(before, calls, 1_000);
  });
}

test('a stream that fails in its second round is charged for the first', async () => {
  const before = await recorded();
  const calls = doneCalls();
  failSecond = true;
  assert.equal((await client().responses.stream(request).finalResponse()).status, 'failed');
  await assertFirstRoundCharged(before, calls);
});

/** The responses WebSocket on groups without upstream WebSockets: every turn goes over HTTP. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { type Sim, startSim } from '../../sim/index.ts';
import { markKeyRevoked } from '../../src/access/keys/index.ts';
import { jsonResponse, sseResponse, startCanned } from '../support/canned.ts';
import { setupWithChatOnly, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { frameText, ResponsesSocketClient, withoutWebSocket } from '../support/websocket.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;
const MODEL: Record<string, string> = {
  openai: 'demo-responses',
  'chat-only': 'demo-responses',
  claude: 'demo-messages',
  gemini: 'demo-generate',
};

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply(withoutWebSocket(setupWithChatOnly(sim.url)));
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const connect = (group: string, path?: string): Promise<ResponsesSocketClient> =>
  new ResponsesSocketClient(gateway.url, keys[group] ?? '', path).open();

for (const group of ['openai', 'chat-only', 'claude', 'gemini']) {
  test(`G 4.10: WebSocket turn on the ${group} group continues the previous one with only its new input`, async () => {
    const client = await connect(group);
    const first = await client.turn({ model: MODEL[group], input: 'remember the word apple', store: false });
    assert.equal(first.type, 'response.completed');
    assert.match(frameText(first), /simulated/);
    assert.deepEqual(
      client.frames.map((frame) => frame.sequence_number),
      client.frames.map((_, n) => n),
    );
    sim.journal.clear();
    const second = await client.turn({
      model: MODEL[group],
      previous_response_id: first.response?.id,
      input: 'and pear',
      store: false,
    });
    assert.equal(second.type, 'response.completed');
    const sent = sim.journal.requests.at(-1)?.body?.toString() ?? '';
    assert.match(sent, /apple/);
    assert.match(sent, /pear/);
    client.socket.close();
  });
}

test('G 4.1 r1: WebSocket on the root alias works', async () => {
  const client = await connect('claude', '/responses');
  assert.equal((await client.turn({ model: 'demo-messages', input: 'hi' })).type, 'response.completed');
  client.socket.close();
});

test('G 4.10: WebSocket turn with an unknown previous response fails, and the connection stays usable', async () => {
  const client = await connect('claude');
  const frame = await client.turn({ model: 'demo-messages', input: 'hi', previous_response_id: 'resp_unknown' });
  assert.equal(frame.status, 400);
  assert.equal(frame.error?.code, 'previous_response_not_found');
  assert.equal((await client.turn({ model: 'demo-messages', input: 'hi' })).type, 'response.completed');
  client.socket.close();
});

test('G 4.10: WebSocket generate: false calls no provider and can be continued', async () => {
  const client = await connect('gemini');
  sim.journal.clear();
  const warm = await client.turn({ model: 'demo-generate', input: 'the word is plum', generate: false });
  assert.equal(warm.type, 'response.completed');
  assert.equal(sim.journal.requests.length, 0);
  await client.turn({ model: 'demo-generate', input: 'go on', previous_response_id: warm.response?.id });
  assert.match(sim.journal.requests.at(-1)?.body?.toString() ?? '', /plum/);
  client.socket.close();
});

test('G 4.10: WebSocket chain from a stored response keeps the whole history', async () => {
  const first = await connect('claude');
  const stored = await first.turn({ model: 'demo-messages', input: 'the word is quince' });
  first.socket.close();
  const client = await connect('claude');
  const second = await client.turn({
    model: 'demo-messages',
    input: 'and medlar',
    previous_response_id: stored.response?.id,
  });
  await client.turn({ model: 'demo-messages', input: 'go on', previous_response_id: second.response?.id });
  const sent = sim.journal.requests.at(-1)?.body?.toString() ?? '';
  assert.match(sent, /quince[\s\S]*medlar[\s\S]*go on/);
  client.socket.close();
});

test('G 4.10: WebSocket chain that is not stored ends with its connection', async () => {
  const first = await connect('claude');
  const stored = await first.turn({ model: 'demo-messages', input: 'the word is fig', store: false });
  first.socket.close();
  const client = await connect('claude');
  const chained = { model: 'demo-messages', input: 'on', previous_response_id: stored.response?.id, store: false };
  const rejected = await client.turn(chained);
  assert.deepEqual([rejected.status, rejected.error?.code], [400, 'previous_response_not_found']);
  const whole = [
    { role: 'user', content: 'the word is fig' },
    ...((stored.response?.output ?? []) as object[]),
    { role: 'user', content: 'on' },
  ];
  const again = await client.turn({ model: 'demo-messages', input: whole, store: false });
  assert.equal(again.type, 'response.completed');
  client.socket.close();
});

const GENERATED = JSON.stringify({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Yes' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
});
const MESSAGES = [
  { type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 3 } } },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);

for (const [style, stream] of [
  ['generate-content', [`data: ${GENERATED}\n\n`]],
  ['messages', MESSAGES],
] as const)
  test(`G 4.10: all lanes of a WebSocket reach a ${style} provider at the same time`, async () => {
    const LANES = 8;
    const provider = await startCanned();
    try {
      const id = `lanes-${style}`;
      const made = await gateway.apply({
        groups: [{ id, style }],
        accounts: [{ id, group: id, base_url: provider.url, api_key: 'k' }],
        models: [{ id: 'lanes', groups: [id], free: true }],
        keys: [{ user: 'ana', group: id }],
      });
      const all = Promise.withResolvers<void>();
      provider.respondWith(async (response, request) => {
        if (provider.requests.length === LANES) all.resolve();
        await all.promise;
        await sseResponse(...stream)(response, request);
      });
      const client = await new ResponsesSocketClient(gateway.url, made[id] ?? '').open();
      for (let n = 0; n < LANES; n++) client.create({ model: 'lanes', input: 'hi', stream_id: `lane${n}` });
      const ended = (): number => client.frames.filter(({ type }) => type === 'response.completed').length;
      await client.until(() => ended() === LANES);
      client.socket.close();
    } finally {
      await provider.close();
    }
  });

test('G 4.10: a WebSocket turn that its provider answers with one JSON body has the frames of a response, or an error', async () => {
  const provider = await startCanned();
  try {
    const made = await gateway.apply({
      groups: [{ id: 'plain', style: 'responses' }],
      accounts: [
        { id: 'plain', group: 'plain', base_url: `${provider.url}/v1`, api_key: 'k', features: ['responses', 'chat'] },
      ],
      models: [{ id: 'plain', groups: ['plain'], free: true }],
      keys: [{ user: 'ana', group: 'plain' }],
    });
    const client = await new ResponsesSocketClient(gateway.url, made.plain ?? '').open();
    const content = [{ type: 'output_text', text: 'fig', annotations: [] }];
    const output = [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }];
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const response = { id: 'resp_1', object: 'response', status: 'completed', model: 'plain', output, usage };
    provider.respondWith(jsonResponse(JSON.stringify(response)));
    const last = await client.turn({ model: 'plain', input: 'hi' });
    assert.deepEqual([last.type, frameText(last)], ['response.completed', 'fig']);
    assert.deepEqual(
      client.frames.map(({ type }) => type.replace('response.', '')),
      ['created', 'in_progress', 'output_item.added', 'output_item.done', 'completed'],
    );
    provider.respondWith(jsonResponse('{"hello": "there"}'));
    const failed = await client.turn({ model: 'plain', input: 'hi' });
    assert.deepEqual([failed.type, failed.status, failed.error?.code], ['error', 502, 'upstream_error']);
    client.socket.close();
  } finally {
    await provider.close();
  }
});

test('G 4.10: WebSocket turns of one lane run in order, lanes run side by side and are named', async () => {
  const client = await connect('claude');
  for (const lane of ['a', 'b'])
    client.send({ type: 'response.create', stream_id: lane, model: 'demo-messages@gap=5', input: `hello ${lane}` });
  client.send({ type: 'response.create', stream_id: 'a', model: 'demo-messages', input: 'second' });
  await client.until(
    ({ type }) =>
      type === 'response.completed' &&
      client.frames.filter((frame) => frame.type === 'response.completed').length === 3,
  );
  const order = client.frames.map((frame) => frame.stream_id).join('');
  assert.match(order, /ab+a|ba+b/, 'lanes are interleaved');
  const onA = client.frames.filter((frame) => frame.stream_id === 'a').map((frame) => frame.type);
  assert.ok(onA.indexOf('response.completed') < onA.lastIndexOf('response.created'), 'in order');
  client.frames.length = 0;
  await client.turn({ model: 'demo-messages', input: 'no lane' });
  assert.ok(
    client.frames.length > 0 && client.frames.every((frame) => !('stream_id' in frame)),
    'no stream_id without a lane',
  );
  client.socket.close();
});

longTest('G 4.10: WebSocket turns that wait hold at most 64 MiB; one more is rejected, others continue', async () => {
  const client = await connect('claude');
  const model = 'demo-messages@silent_mid';
  client.create({ model, input: 'first', stream_id: 'busy' });
  await client.until(({ type }) => type === 'response.output_text.delta');
  const input = 'x'.repeat(25 * 2 ** 20);
  for (const n of [1, 2, 3]) client.create({ model, input, stream_id: 'busy', metadata: { n: String(n) } });
  const rejected = await client.until(({ type }) => type === 'error');
  assert.deepEqual([rejected.status, rejected.error?.code], [429, 'websocket_queue_limit_reached']);
  assert.match(rejected.error?.message ?? '', /64 MiB/);
  assert.equal(rejected.stream_id, 'busy');
  client.create({ model: 'demo-messages', input: 'hi', stream_id: 'idle' });
  await client.until(({ type, stream_id }) => type === 'response.completed' && stream_id === 'idle');
  assert.equal(client.frames.filter(({ type }) => type === 'error').length, 1);
  client.socket.close();
});

test('G 4.10: WebSocket errors end only their request', async () => {
  const client = await connect('openai');
  const expectError = async (send: () => void, code: string): Promise<void> => {
    client.frames.length = 0;
    send();
    assert.equal((await client.until(({ type }) => type === 'error')).error?.code, code);
  };
  await expectError(() => client.send('not json'), 'invalid_json');
  await expectError(() => client.socket.send(Buffer.from([1, 2, 3])), 'invalid_json');
  await expectError(() => client.send({ type: 'response.cancel' }), 'invalid_value');
  await expectError(
    () => client.send({ type: 'response.create', stream_id: '', model: 'demo-responses', input: 'x' }),
    'invalid_stream_id',
  );
  await expectError(() => client.send({ type: 'response.create', model: 'nope', input: 'x' }), 'model_not_found');
  await expectError(
    () => client.send({ type: 'response.create', model: 'demo-responses', input: 'x', background: true }),
    'unsupported_parameter',
  );
  client.send({ type: 'response.steer', previous_response_id: 'r', input: 'x' });
  await client.until(({ type }) => type === 'response.steer.failed');
  for (let n = 0; n < 33; n++)
    client.send({
      type: 'response.create',
      stream_id: `lane${n}`,
      model: 'demo-responses',
      input: 'x',
      generate: false,
    });
  await client.until(({ error }) => error?.code === 'websocket_stream_limit_reached');
  assert.equal((await client.turn({ model: 'demo-responses', input: 'hi' })).type, 'response.completed');
  client.socket.close();
});

test('G 6: a WebSocket client disconnect aborts the upstream call', async () => {
  const client = await connect('claude');
  sim.journal.clear();
  client.send({ type: 'response.create', model: 'demo-messages@events=100000;gap=40', input: 'hello' });
  await client.until(({ type }) => type === 'response.output_text.delta');
  client.socket.terminate();
  await sim.journal.waitFor((entry) => entry.aborted);
});

test('G 4.10: a plain GET is 426, and a wrong key is rejected before the WebSocket handshake', async () => {
  const plain = await fetch(`${gateway.url}/v1/responses`, { headers: { authorization: `Bearer ${keys.claude}` } });
  assert.equal(plain.status, 426);
  assert.equal(plain.headers.get('upgrade'), 'websocket');
  const wrong = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: 'Bearer dg-nope' },
  });
  const [, response] = await once(wrong, 'unexpected-response');
  assert.equal(response.statusCode, 401);
});

test('G 4.10: a revoked key closes its WebSockets with 1008', async () => {
  const created = await gateway.apply({ keys: [{ user: 'ana', group: 'claude', name: 'short-lived' }] });
  const client = await new ResponsesSocketClient(gateway.url, created.claude ?? '').open();
  const row = await gateway.context.database.db
    .selectFrom('keys')
    .select('id')
    .where('name', '=', 'short-lived')
    .executeTakeFirstOrThrow();
  await markKeyRevoked(gateway.context.database.db, row.id);
  const [code] = await once(client.socket, 'close');
  assert.equal(code, 1008);
});

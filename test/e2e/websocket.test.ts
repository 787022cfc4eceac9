import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { type Sim, startSim } from '../../sim/index.ts';
import { revokeKey } from '../../src/identity/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { SocketClient, textOf, withoutSockets } from '../support/websocket.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;
const MODEL: Record<string, string> = { openai: 'demo-responses', claude: 'demo-messages', gemini: 'demo-generate' };

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply(withoutSockets(basicSetup(sim.url)));
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const connect = (group: string, path?: string): Promise<SocketClient> =>
  new SocketClient(gateway.url, keys[group] ?? '', path).open();

for (const group of ['openai', 'claude', 'gemini']) {
  test(`[S83 N18] a second turn on the ${group} group continues from the first with only its delta`, async () => {
    const client = await connect(group);
    const first = await client.turn({ model: MODEL[group], input: 'remember the word apple', store: false });
    assert.equal(first.type, 'response.completed');
    assert.match(textOf(first), /simulated/);
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

test('the root alias is the same socket', async () => {
  const client = await connect('claude', '/responses');
  assert.equal((await client.turn({ model: 'demo-messages', input: 'hi' })).type, 'response.completed');
  client.socket.close();
});

test('[S83] an unknown previous response is exactly that error, and the connection stays usable', async () => {
  const client = await connect('claude');
  const frame = await client.turn({ model: 'demo-messages', input: 'hi', previous_response_id: 'resp_unknown' });
  assert.equal(frame.status, 400);
  assert.equal(frame.error?.code, 'previous_response_not_found');
  assert.equal((await client.turn({ model: 'demo-messages', input: 'hi' })).type, 'response.completed');
  client.socket.close();
});

test('[S84] a warm-up asks nobody, and can be continued from', async () => {
  const client = await connect('gemini');
  sim.journal.clear();
  const warm = await client.turn({ model: 'demo-generate', input: 'the word is plum', generate: false });
  assert.equal(warm.type, 'response.completed');
  assert.equal(sim.journal.requests.length, 0);
  await client.turn({ model: 'demo-generate', input: 'go on', previous_response_id: warm.response?.id });
  assert.match(sim.journal.requests.at(-1)?.body?.toString() ?? '', /plum/);
  client.socket.close();
});

test('a chain that begins with a stored response keeps all of it, turn after turn', async () => {
  const first = await connect('claude');
  const told = await first.turn({ model: 'demo-messages', input: 'the word is quince' });
  first.socket.close();
  const client = await connect('claude');
  const second = await client.turn({
    model: 'demo-messages',
    input: 'and medlar',
    previous_response_id: told.response?.id,
  });
  await client.turn({ model: 'demo-messages', input: 'go on', previous_response_id: second.response?.id });
  const sent = sim.journal.requests.at(-1)?.body?.toString() ?? '';
  assert.match(sent, /quince[\s\S]*medlar[\s\S]*go on/);
  client.socket.close();
});

test('[S90] a chain that is not stored ends with its connection, and begins again with the whole input', async () => {
  const first = await connect('claude');
  const told = await first.turn({ model: 'demo-messages', input: 'the word is fig', store: false });
  first.socket.close();
  const client = await connect('claude');
  const chained = { model: 'demo-messages', input: 'on', previous_response_id: told.response?.id, store: false };
  const refused = await client.turn(chained);
  assert.deepEqual([refused.status, refused.error?.code], [400, 'previous_response_not_found']);
  const whole = [
    { role: 'user', content: 'the word is fig' },
    ...((told.response?.output ?? []) as object[]),
    { role: 'user', content: 'on' },
  ];
  const again = await client.turn({ model: 'demo-messages', input: whole, store: false });
  assert.equal(again.type, 'response.completed');
  client.socket.close();
});

test('[S85] turns on one lane follow one another, turns on two lanes run at once and carry their names', async () => {
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
  assert.ok(onA.indexOf('response.completed') < onA.lastIndexOf('response.created'), 'one after the other');
  client.frames.length = 0;
  await client.turn({ model: 'demo-messages', input: 'no lane' });
  assert.ok(client.frames.length > 0 && client.frames.every((frame) => !('stream_id' in frame)), 'no lane, no name');
  client.socket.close();
});

test('turns that wait may not hold more than their share of memory; one too many is refused, others go on', async () => {
  const client = await connect('claude');
  const model = 'demo-messages@silent_mid';
  client.create({ model, input: 'first', stream_id: 'busy' });
  await client.until(({ type }) => type === 'response.output_text.delta');
  const input = 'x'.repeat(25 * 2 ** 20);
  for (const n of [1, 2, 3]) client.create({ model, input, stream_id: 'busy', metadata: { n: String(n) } });
  const refused = await client.until(({ type }) => type === 'error');
  assert.deepEqual([refused.status, refused.error?.code], [429, 'websocket_queue_limit_reached']);
  assert.match(refused.error?.message ?? '', /64 MiB/);
  assert.equal(refused.stream_id, 'busy');
  client.create({ model: 'demo-messages', input: 'hi', stream_id: 'idle' });
  await client.until(({ type, stream_id }) => type === 'response.completed' && stream_id === 'idle');
  assert.equal(client.frames.filter(({ type }) => type === 'error').length, 1);
  client.socket.close();
});

test('[S86 S88] bad frames answer with an error frame and break nothing', async () => {
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

test('a client that vanishes in the middle of a turn frees its upstream', async () => {
  const client = await connect('claude');
  sim.journal.clear();
  client.send({ type: 'response.create', model: 'demo-messages@events=100000;gap=5', input: 'hello' });
  await client.until(({ type }) => type === 'response.output_text.delta');
  client.socket.terminate();
  await sim.journal.waitFor((entry) => entry.aborted, 2_000);
});

test('[S89] a plain GET is asked to upgrade, and a wrong key is refused before the handshake', async () => {
  const plain = await fetch(`${gateway.url}/v1/responses`, { headers: { authorization: `Bearer ${keys.claude}` } });
  assert.equal(plain.status, 426);
  assert.equal(plain.headers.get('upgrade'), 'websocket');
  const wrong = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: 'Bearer dg-nope' },
  });
  const [, response] = await once(wrong, 'unexpected-response');
  assert.equal(response.statusCode, 401);
});

test('a revoked key closes its sockets within five seconds', async () => {
  const made = await gateway.apply({ keys: [{ user: 'ana', group: 'claude', name: 'short-lived' }] });
  const client = await new SocketClient(gateway.url, made.claude ?? '').open();
  const row = await gateway.ground.database.db
    .selectFrom('keys')
    .select('id')
    .where('name', '=', 'short-lived')
    .executeTakeFirstOrThrow();
  await revokeKey(gateway.ground.database.db, row.id);
  const [code] = await once(client.socket, 'close');
  assert.equal(code, 1008);
});

/** The responses WebSocket on a responses group: turns relayed to the provider's WebSocket, and over HTTP where it has none. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, afterEach, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { ResponsesWebSocketSession } from 'openai/lib/responses/responses-websocket-session';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { type JournalEntry, type Sim, startSim } from '../../sim/index.ts';
import { WEBSOCKET } from '../../src/rules/index.ts';
import { bufferedFor } from '../support/back-pressure.ts';
import { basicSetup, type LogLine, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { until } from '../support/wait.ts';
import { type Frame, frameText, isTerminal, ResponsesSocketClient } from '../support/websocket.ts';

let sim: Sim;
/** A provider of the same style without WebSockets. */
let withoutWebSocket: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;

const account = (id: string, url: string, more: object = {}): object => ({
  id,
  group: id,
  base_url: `${url}/v1`,
  api_key: `sk-upstream-${id}`,
  ...more,
});

before(async () => {
  sim = await startSim();
  withoutWebSocket = await startSim({ websocket: false, name: 'plain' });
  gateway = await startGateway();
  const basic = basicSetup(sim.url) as { groups: object[]; accounts: object[]; models: object[]; users: object[] };
  const groups = ['no-upgrade', 'forbidden', 'unreachable', 'bad-key', 'one-slot'];
  keys = await gateway.apply({
    ...basic,
    groups: [...basic.groups, ...groups.map((id) => ({ id, style: 'responses' }))],
    accounts: [
      ...basic.accounts,
      account('no-upgrade', withoutWebSocket.url),
      account('forbidden', sim.url, { api_key: 'sk-no-socket' }),
      account('unreachable', 'http://127.0.0.1:9'),
      account('bad-key', sim.url),
      account('one-slot', sim.url, { max_concurrency: 1 }),
    ],
    models: [
      ...basic.models,
      { id: 'demo-*', groups },
      ...['priced', 'tierless'].map((id) => ({
        id,
        groups: ['openai'],
        upstream: 'demo-responses',
        prices: { input: '2', output: '10' },
      })),
    ],
    users: [...basic.users, { id: 'bob', balance: '100' }, { id: 'poor', balance: '0' }],
    keys: ['openai', 'claude', 'gemini', ...groups].map((group) => ({ user: 'ana', group, name: 'test' })),
  });
});
after(async () => {
  await gateway.stop();
  await sim.close();
  await withoutWebSocket.close();
});

const clients: ResponsesSocketClient[] = [];
const connect = (group = 'openai', key = keys[group] ?? ''): Promise<ResponsesSocketClient> => {
  const client = new ResponsesSocketClient(gateway.url, key);
  clients.push(client);
  return client.open();
};
afterEach(() => {
  for (const { socket } of clients.splice(0)) socket.terminate();
});
const keyOf = async (user: string, more: object = {}): Promise<string> =>
  (await gateway.apply({ keys: [{ user, group: 'openai', ...more }] })).openai ?? '';

const isTurn = ({ method, status, body }: JournalEntry): boolean =>
  method === 'WS' && status !== 101 && body !== undefined;
const isConnection = ({ method, status }: JournalEntry): boolean => method === 'WS' && status === 101;
const lastTurn = (): JournalEntry => sim.journal.requests.findLast(isTurn) ?? assert.fail('no turn');
/** The log lines of all turns with this model; each test uses its own model name. */
const linesOf = (model: string): LogLine[] =>
  gateway.log.filter(
    (line) => line.msg === 'request.completed' && line.op === 'responses.create' && line.model === model,
  );
const lineOf = (model: string): Promise<LogLine> => until('the log line of the turn', () => linesOf(model)[0]);

describe('relaying', () => {
  test('relayed turn: frames pass both ways byte for byte over one upstream WebSocket', async () => {
    sim.journal.clear();
    const client = await connect();
    const sent = '{ "type":"response.create",  "input":"héllo \\u0041", "model" : "demo-responses","unknown":1.50 }';
    client.send(sent);
    const first = await client.until(isTerminal);
    assert.equal(first.type, 'response.completed');
    const turn = lastTurn();
    assert.equal(turn.body?.toString(), sent);
    assert.deepEqual(client.texts, turn.frames);
    const second = await client.turn({
      model: 'demo-responses',
      input: 'again',
      previous_response_id: first.response?.id,
      store: false,
    });
    assert.equal(second.type, 'response.completed');
    assert.doesNotMatch(lastTurn().body?.toString() ?? '', /llo/, 'only the new input is sent');
    assert.equal(sim.journal.requests.filter(isConnection).length, 1);
    assert.ok(sim.journal.requests.every(({ method }) => method === 'WS'));
    const { headers } = sim.journal.requests.find(isConnection) ?? assert.fail();
    assert.equal(headers.authorization, 'Bearer sk-upstream-oa1');
    assert.equal(headers['sec-websocket-extensions'], undefined);
    client.socket.close();
    await sim.journal.waitFor((entry) => isConnection(entry) && entry.finished);
  });

  test('relayed turn: a service tier without a price is rejected by its field, and nothing is sent', async () => {
    sim.journal.clear();
    const client = await connect();
    const failed = await client.turn({ model: 'tierless', input: 'hi', service_tier: 'priority' });
    assert.match(JSON.stringify(failed), /service_tier: this tier has no price/);
    assert.equal(sim.journal.requests.filter(isTurn).length, 0);
    const served = await client.turn({ model: 'tierless', input: 'hi', service_tier: 'auto' });
    assert.equal(served.type, 'response.completed');
  });

  test('G 4.10: relayed turn: a chain that is not stored lives as long as the connection', async () => {
    const client = await connect();
    const first = await client.turn({ model: 'demo-responses', input: 'the word is fig', store: false });
    const chained = { model: 'demo-responses', input: 'on', previous_response_id: first.response?.id, store: false };
    assert.equal((await client.turn(chained)).type, 'response.completed');
    client.socket.close();
    const other = await connect();
    const rejected = await other.turn(chained);
    assert.equal(rejected.error?.code, 'previous_response_not_found');
    assert.equal((await other.turn({ ...chained, previous_response_id: undefined })).type, 'response.completed');
    other.socket.close();
  });

  test('relayed turn: generate: false goes to the provider and can be continued', async () => {
    const client = await connect();
    const warm = await client.turn({ model: 'demo-responses', input: 'the word is plum', generate: false });
    assert.deepEqual(warm.response?.output, []);
    const next = await client.turn({ model: 'demo-responses', input: 'go', previous_response_id: warm.response?.id });
    assert.equal(next.type, 'response.completed');
    client.socket.close();
  });

  test('relayed turn: an alias changes only the model in a frame, also inside a response wrapper', async () => {
    const client = await connect();
    client.send('{"type":"response.create","model":"alias-x","input":"hi","n_umber":1.0}');
    await client.until(isTerminal);
    assert.equal(
      lastTurn().body?.toString(),
      '{"type":"response.create","model":"demo-responses","input":"hi","n_umber":1.0}',
    );
    client.clear();
    client.send({ type: 'response.create', model: 'demo-other', response: { model: 'alias-y', input: 'hi' } });
    await client.until(isTerminal);
    assert.equal(JSON.parse(lastTurn().body?.toString() ?? '').model, 'demo-responses');
    client.socket.close();
  });

  test('G 4.10: relayed turn: lanes run side by side, turns of one lane in order, and frames name their lane', async () => {
    const client = await connect();
    for (const lane of ['a', 'b'])
      client.create({ stream_id: lane, model: 'demo-responses@gap=5', input: `to ${lane}` });
    client.create({ stream_id: 'a', model: 'demo-responses', input: 'second' });
    await client.until(() => client.frames.filter(isTerminal).length === 3);
    assert.match(client.frames.map((frame) => frame.stream_id).join(''), /ab+a|ba+b/);
    const onA = client.frames.filter((frame) => frame.stream_id === 'a').map((frame) => frame.type);
    assert.ok(onA.indexOf('response.completed') < onA.lastIndexOf('response.created'));
    assert.ok(client.frames.every((frame) => frame.stream_id === 'a' || frame.stream_id === 'b'));
    client.socket.close();
  });

  test('relayed turn: a steered response and its successor are one turn', async () => {
    const model = 'demo-steered@events=200;gap=5';
    const client = await connect();
    client.create({ model, input: 'long', stream_id: 's' });
    const created = await client.until(({ type }) => type === 'response.created');
    await client.until(({ type }) => type === 'response.output_text.delta');
    client.send({ type: 'response.steer', previous_response_id: created.response?.id, input: 'shorter please' });
    await client.until(({ type }) => type === 'response.steer.accepted');
    const steered = await client.until(({ type }) => type === 'response.incomplete');
    const whole = await client.until(({ type }) => type === 'response.completed');
    assert.ok(whole.response?.id !== created.response?.id);
    const line = await lineOf(model);
    const [a, b] = [steered.response?.usage, whole.response?.usage];
    assert.equal(line.tokensOut, (a?.output_tokens ?? 0) + (b?.output_tokens ?? 0));
    assert.equal(linesOf(model).length, 1);
    assert.equal(
      (await client.turn({ model: 'demo-responses', input: 'hi', stream_id: 's' })).type,
      'response.completed',
    );
    client.socket.close();
  });
});

describe('permissions of relayed turns', () => {
  test('relayed turn: models are resolved and checked as over HTTP, and the connection stays usable', async () => {
    const key = await keyOf('ana', { name: 'narrow', models: ['demo-responses'] });
    const client = await connect('openai', key);
    sim.journal.clear();
    const code = async (frame: object): Promise<string | undefined> => (await client.turn(frame)).error?.code;
    assert.equal(await code({ model: 'demo-other', input: 'x' }), 'model_not_allowed');
    assert.equal(await code({ input: 'x' }), 'invalid_request');
    assert.equal(await code({ model: 'demo-responses', input: 'x', background: true }), 'unsupported_parameter');
    client.clear();
    client.send('{"type":"response.create","model":"demo-responses","model":"demo-other","input":"x"}');
    assert.equal((await client.until(isTerminal)).error?.code, 'invalid_json');
    assert.equal(sim.journal.requests.length, 0);
    assert.equal((await client.turn({ model: 'demo-responses', input: 'x' })).type, 'response.completed');
    client.socket.close();
  });

  test('relayed turn: responses of other users can be neither continued nor steered', async () => {
    const mine = await connect();
    const stored = await mine.turn({ model: 'demo-responses', input: 'my secret' });
    mine.create({ model: 'demo-responses@events=400;gap=5', input: 'long' });
    const running = await mine.until(
      ({ type, response }) => type === 'response.created' && response?.id !== stored.response?.id,
    );
    const theirs = await connect('openai', await keyOf('bob'));
    sim.journal.clear();
    const foreign = await theirs.turn({
      model: 'demo-responses',
      input: 'x',
      previous_response_id: stored.response?.id,
    });
    assert.deepEqual(
      { status: foreign.status, error: foreign.error },
      {
        status: 400,
        error: {
          type: 'invalid_request_error',
          code: 'previous_response_not_found',
          message: `Previous response with id '${stored.response?.id}' not found.`,
          param: 'previous_response_id',
        },
      },
    );
    await theirs.turn({ model: 'demo-responses', input: 'x' });
    theirs.send({ type: 'response.steer', previous_response_id: running.response?.id, input: 'x' });
    const failed = await theirs.until(({ type }) => type === 'response.steer.failed');
    assert.equal(failed.error?.code, 'response_not_found');
    assert.equal(sim.journal.requests.filter(({ body }) => body?.includes('response.steer')).length, 0);
    mine.socket.close();
    theirs.socket.close();
    const again = await connect();
    const next = await again.turn({
      model: 'demo-responses',
      input: 'go on',
      previous_response_id: stored.response?.id,
    });
    assert.equal(next.type, 'response.completed');
    again.socket.close();
  });

  test('relayed turn: an empty balance is rejected before the provider call', async () => {
    const client = await connect('openai', await keyOf('poor'));
    sim.journal.clear();
    const frame = await client.turn({ model: 'priced', input: 'x' });
    assert.equal(frame.error?.code, 'insufficient_balance');
    assert.equal(sim.journal.requests.length, 0);
    client.socket.close();
  });
});

describe('billing of relayed turns', () => {
  test('relayed turn counts once against the limits of its key', async () => {
    const client = await connect('openai', await keyOf('ana', { name: 'slow', rpm: 2 }));
    const turn = { model: 'demo-responses', input: 'x' };
    const ends = [await client.turn(turn), await client.turn(turn), await client.turn(turn)];
    assert.deepEqual(
      ends.map(({ error }) => error?.code),
      [undefined, undefined, 'rate_limit_exceeded'],
    );
    assert.equal(ends[2]?.status, 429);
    assert.ok(ends[2]?.headers);
  });

  test('relayed turn writes one log line with usage and cost', async () => {
    const client = await connect();
    const frame = await client.turn({ model: 'priced', input: 'how much is it' });
    const line = await lineOf('priced');
    const usage = frame.response?.usage ?? assert.fail();
    assert.equal(line.tokensIn, usage.input_tokens);
    assert.equal(line.tokensOut, usage.output_tokens);
    assert.equal(Number(line.cost), (usage.input_tokens * 2 + usage.output_tokens * 10) / 1e6);
    assert.deepEqual(
      [line.model, line.account, line.stream, line.status, line.outcome, line.user, line.group],
      ['priced', 'oa1', true, 200, 'completed', 'ana', 'openai'],
    );
    await client.turn({ model: 'demo-limited@fault=429', input: 'x' });
    assert.equal((await lineOf('demo-limited@fault=429')).status, 429);
    const rejections = () =>
      gateway.log.filter(({ msg, code }) => msg === 'request.completed' && code === 'model_not_found');
    await client.turn({ model: 'nope', input: 'x' });
    assert.equal((await until('the log line', () => rejections()[0])).status, 404);
    client.socket.close();
  });
});

describe('failures of relayed turns', () => {
  test('relayed turn: provider errors are passed on without secrets', async () => {
    const client = await connect();
    const limited = await client.turn({ model: 'demo-responses@fault=429', input: 'x' });
    assert.equal(limited.status, 429);
    assert.equal(limited.error?.code, 'rate_limit_exceeded');
    assert.deepEqual(limited.headers, { 'retry-after': '12' });
    const leak = await client.turn({ model: 'demo-responses@leak', input: 'x' });
    assert.equal(leak.status, 400);
    assert.doesNotMatch(JSON.stringify(leak), /sk-upstream|127\.0\.0\.1/);
    const failed = await client.turn({ model: 'demo-responses@error_mid', input: 'x' });
    assert.equal(failed.type, 'response.failed');
    assert.equal((await client.turn({ model: 'demo-responses', input: 'x' })).type, 'response.completed');
    client.socket.close();
  });

  test('relayed turn: a rejected credential is reported as overload, and the second one parks the account', async () => {
    const client = await connect('bad-key');
    for (const time of ['first', 'second']) {
      const frame = await client.turn({ model: 'demo-responses@bad_key', input: 'x' });
      assert.deepEqual([frame.status, frame.error?.code], [503, 'server_is_overloaded'], time);
    }
    const next = await client.turn({ model: 'demo-responses', input: 'x' });
    assert.equal(next.error?.code, 'server_is_overloaded', 'the account is parked');
    client.socket.close();
  });

  for (const fault of ['reset_mid', 'eof_mid', 'reset'])
    test(`relayed turn: losing the upstream WebSocket (${fault}) fails all running turns, and the next turn reconnects`, async () => {
      const client = await connect();
      const first = await client.turn({ model: 'demo-responses', input: 'x', store: false });
      client.clear();
      client.create({ stream_id: 'a', model: 'demo-responses@events=2000;gap=5', input: 'x' });
      await client.until(({ type }) => type === 'response.output_text.delta');
      sim.journal.clear();
      client.create({ stream_id: 'b', model: `demo-responses@${fault}`, input: 'x' });
      await client.until(() => client.frames.filter(isTerminal).length === 2);
      const errors = client.frames.filter(isTerminal);
      assert.deepEqual(errors.map((frame) => frame.stream_id).sort(), ['a', 'b']);
      for (const frame of errors) {
        assert.equal(frame.status, 502);
        assert.equal(frame.error?.code, 'upstream_error');
      }
      const orphaned = await client.turn({
        model: 'demo-responses',
        input: 'x',
        previous_response_id: first.response?.id,
      });
      assert.equal(orphaned.error?.code, 'previous_response_not_found');
      assert.equal((await client.turn({ model: 'demo-responses', input: 'whole' })).type, 'response.completed');
      assert.equal(sim.journal.requests.filter(isConnection).length, 1, 'one new connection');
      client.socket.close();
    });

  test('relayed turn: a client disconnect closes the upstream WebSocket and is charged an estimate', async () => {
    const model = 'demo-left@events=100000;gap=40';
    const client = await connect();
    sim.journal.clear();
    client.create({ model, input: 'x' });
    await client.until(({ type }) => type === 'response.output_text.delta');
    client.socket.terminate();
    await sim.journal.waitFor((entry) => isTurn(entry) && entry.aborted);
    await sim.journal.waitFor((entry) => isConnection(entry) && entry.finished);
    const line = await lineOf(model);
    assert.equal(line.outcome, 'client_closed');
    assert.ok(Number(line.tokensOut) > 0);
    assert.equal(line.estimated, true);
  });

  longTest('back-pressure: a slow WebSocket client pauses the provider', async () => {
    const client = await connect();
    sim.journal.clear();
    client.socket.once('message', () => client.socket.pause());
    // The events at its end repeat the text, so that it is longer than what the kernel keeps.
    client.create({ model: 'demo-responses@big=12000000', input: 'x' });
    await sim.journal.waitFor((entry) => isTurn(entry) && entry.eventsSent > 100);
    const buffered = await bufferedFor(client.tcp, () => lastTurn().eventsSent);
    // The provider is paused when the buffer is full; one read of its connection may follow.
    assert.ok(buffered < 2 * WEBSOCKET.bufferedBytes, `${buffered} bytes`);
    client.socket.resume();
    await client.until(isTerminal);
    const deltas = client.frames.filter(({ type }) => type === 'response.output_text.delta');
    assert.equal(deltas.map(({ delta }) => delta).join('').length, 12_000_000, 'nothing is lost');
    client.socket.close();
  });
});

describe('turns over HTTP', () => {
  for (const group of ['no-upgrade', 'forbidden', 'unreachable'])
    test(`turn over HTTP when the account does not upgrade (${group})`, async () => {
      const provider = group === 'no-upgrade' ? withoutWebSocket : sim;
      provider.journal.clear();
      const client = await connect(group);
      const first = await client.turn({ model: 'demo-responses', input: 'the word is apple', store: false });
      if (group === 'unreachable') assert.equal(first.error?.code, 'upstream_error');
      else {
        assert.match(frameText(first), /simulated/);
        const chained = { input: 'and pear', previous_response_id: first.response?.id };
        await client.turn({ model: 'demo-responses', ...chained, store: false });
        const posts = provider.journal.requests.filter(({ method }) => method === 'POST');
        assert.match(posts.at(-1)?.body?.toString() ?? '', /apple[\s\S]*pear/);
        assert.equal(posts.length, 2);
        assert.equal(
          provider.journal.requests.filter(({ method }) => method === 'GET').length,
          1,
          'one upgrade request',
        );
        client.send({ type: 'response.steer', previous_response_id: first.response?.id, input: 'x' });
        const steer = await client.until(({ type }) => type === 'response.steer.failed');
        assert.equal(steer.error?.code, 'steering_not_supported');
      }
      client.socket.close();
    });

  test('turn over HTTP when the account has no free slot, which a disconnect releases', async () => {
    const [one, two] = [await connect('one-slot'), await connect('one-slot')];
    assert.equal((await one.turn({ model: 'demo-responses', input: 'x' })).type, 'response.completed');
    assert.equal((await two.turn({ model: 'demo-responses', input: 'x' })).error?.code, 'server_is_overloaded');
    one.socket.close();
    await once(one.socket, 'close');
    await until('a free slot', async () => !(await two.turn({ model: 'demo-responses', input: 'x' })).error);
    two.socket.close();
  });
});

longTest('200 idle and 200 active WebSockets open and close cleanly', async () => {
  sim.journal.clear();
  const idle = await Promise.all(Array.from({ length: 200 }, () => connect()));
  assert.equal(sim.journal.requests.length, 0, 'no upstream connection before the first turn');
  for (const client of idle) client.socket.close();
  await Promise.all(idle.map(({ socket }) => once(socket, 'close')));
  const active = await Promise.all(Array.from({ length: 200 }, () => connect()));
  const ends = await Promise.all(active.map((client) => client.turn({ model: 'demo-responses', input: 'x' })));
  assert.ok(ends.every(({ type }) => type === 'response.completed'));
  assert.equal(sim.journal.requests.filter(isConnection).length, 200, 'an account without a limit takes every turn');
  for (const client of active) client.socket.close();
  await until('every upstream socket is closed', () =>
    sim.journal.requests.filter(isConnection).every(({ finished }) => finished),
  );
});

describe('WebSocket clients of the openai package', () => {
  const MODEL: Record<string, string> = { openai: 'demo-responses', claude: 'demo-messages', gemini: 'demo-generate' };
  const sdk = (group: string): ResponsesWS =>
    new ResponsesWS(new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: keys[group] ?? '' }));

  for (const group of ['openai', 'claude', 'gemini']) {
    test(`openai ResponsesWS works on the ${group} group`, async () => {
      const ws = sdk(group);
      const model = MODEL[group] ?? '';
      ws.send({ type: 'response.create', model, input: 'hello there', store: false });
      let text = '';
      let id = '';
      const types: string[] = [];
      for await (const event of ws.stream()) {
        if (event.type !== 'message') continue;
        types.push(event.message.type);
        if (event.message.type === 'response.output_text.delta') text += event.message.delta;
        if (event.message.type !== 'response.completed') continue;
        if (id !== '') break;
        id = event.message.response.id;
        ws.send({ type: 'response.create', model, input: 'and more', previous_response_id: id, store: false });
      }
      assert.match(text, /hello there[\s\S]*and more/);
      assert.equal(types.filter((type) => type === 'response.created').length, 2);
      ws.close();
    });

    test(`openai ResponsesWebSocketSession with two lanes works on the ${group} group`, async () => {
      const ws = sdk(group);
      const session = new ResponsesWebSocketSession(ws, {
        maxLanes: 4,
        maxBufferedEvents: 1_000,
        maxBufferedBytes: 2 ** 20,
      });
      await new Promise<void>((resolve) => ws.socket.once('open', () => resolve()));
      const lanes = ['left', 'right'].map((name) => session.lane(name));
      for (const lane of lanes)
        lane.create({ model: MODEL[group] ?? '', input: `hello ${lane.streamID}`, store: false });
      const responses = await Promise.all(lanes.map((lane) => lane.finalResponse()));
      for (const [n, response] of responses.entries()) {
        assert.equal(response.status, 'completed');
        assert.match(response.output_text, new RegExp(`hello ${lanes[n]?.streamID}`));
      }
      const [left] = lanes;
      left?.create({ model: MODEL[group] ?? '', input: 'x', previous_response_id: 'resp_unknown', store: false });
      await assert.rejects(
        left?.finalResponse() ?? Promise.resolve(),
        (error: { error?: { error?: Frame['error'] } }) => {
          assert.equal(error.error?.error?.code, 'previous_response_not_found');
          return true;
        },
      );
      session.close();
      ws.close();
    });
  }
});

test('G 4.10: drain completes a relayed turn, then closes the WebSocket with 1012', async () => {
  const second = await startGateway({ database: gateway.database, env: { DRAIN_MS: '600000' } });
  const client = await new ResponsesSocketClient(second.url, keys.openai ?? '').open();
  client.create({ model: 'demo-responses@gap=20', input: 'x' });
  await client.until(({ type }) => type === 'response.output_text.delta');
  const closed = once(client.socket, 'close');
  const stopped = second.stop();
  assert.equal((await client.until(isTerminal)).type, 'response.completed');
  const [code] = await closed;
  assert.equal(code, 1012);
  await stopped;
});

/** When a reply begins (G 8): until a token, a call or a complete end has arrived, another account may serve the call, and nothing is owed. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import { DIALECTS, type Dialect, TIMEOUTS } from '../../src/rules/index.ts';
import { type Canned, startCanned } from '../support/canned.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { HeldClock } from '../support/held-clock.ts';
import { chunk, data, WIRES, type Wire } from '../support/reply-wires.ts';
import { until } from '../support/wait.ts';

const HEARTBEAT_MS = 60_321;
const STYLES: Readonly<Record<Dialect, string>> = {
  messages: 'messages',
  chat: 'responses',
  responses: 'responses',
  generate: 'generate-content',
};
const COMMENTS = ': waiting\n\n: waiting\n\n';

/** What account a sends before it closes the connection. */
const STILLBORN: Readonly<Record<string, (wire: Wire) => string | undefined>> = {
  nothing: () => '',
  comments: () => COMMENTS,
  pings: () => 'event: ping\ndata: {"type": "ping"}\n\n',
  'an announcement': ({ announced }) => announced,
  'comments and an announcement': ({ announced }) => COMMENTS + announced,
  'empty deltas': ({ announced, emptyDelta }) => announced + emptyDelta.repeat(3),
  'an end without a token and without usage': ({ announced, unreportedEnd }) =>
    unreportedEnd && announced + unreportedEnd,
  'only [DONE]': () => 'data: [DONE]\n\n',
};

const clock = new HeldClock(TIMEOUTS.stream.firstByte, HEARTBEAT_MS);
let accountA: Canned;
let accountB: Canned;
let gateway: TestGateway;
let keys: Record<string, string>;
let groups = 0;

before(async () => {
  accountA = await startCanned();
  accountB = await startCanned();
  gateway = await startGateway({ clock, env: { HEARTBEAT_MS: String(HEARTBEAT_MS) } });
});
after(async () => {
  await gateway.stop();
  await accountA.close();
  await accountB.close();
});
beforeEach(() => {
  accountA.requests.length = 0;
  accountB.requests.length = 0;
});

const sends =
  (text: string) =>
  (answer: ServerResponse): void => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.flushHeaders();
    answer.end(text);
  };

/** A group whose account a is tried first. Its own, so that cooldowns of other tests do not matter. */
async function newGroup(dialect: Dialect): Promise<string> {
  groups += 1;
  const group = `g${groups}`;
  const suffix = STYLES[dialect] === 'responses' ? '/v1' : '';
  const features = dialect === 'chat' ? { features: ['chat'] } : {};
  const account = { group, api_key: 'sk', ...features };
  keys = await gateway.apply({
    groups: [{ id: group, style: STYLES[dialect] }],
    accounts: [
      { ...account, id: `${group}-a`, base_url: `${accountA.url}${suffix}`, priority: 1 },
      { ...account, id: `${group}-b`, base_url: `${accountB.url}${suffix}`, priority: 2 },
    ],
    models: [{ id: 'demo', groups: [group], prices: { input: '1', output: '1' } }],
    users: [{ id: group, balance: '1' }],
    keys: [{ user: group, group }],
  });
  return group;
}

function post(group: string, client: Dialect, signal?: AbortSignal): Promise<Response> {
  const body = {
    messages: { model: 'demo', stream: true, max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] },
    chat: {
      model: 'demo',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'hello' }],
    },
    responses: { model: 'demo', stream: true, input: 'hello' },
    generate: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
  }[client];
  const path = {
    messages: '/v1/messages',
    chat: '/v1/chat/completions',
    responses: '/v1/responses',
    generate: '/v1beta/models/demo:streamGenerateContent?alt=sse',
  }[client];
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${keys[group]}` };
  return fetch(gateway.url + path, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) });
}

const lineOf = async (group: string) => {
  const found = () => gateway.log.filter((line) => line.msg === 'request.completed' && line.user === group);
  await until('the log line', async () => found().length > 0);
  return found().at(-1);
};
const chargedTo = async (group: string): Promise<number> => {
  await until('the record', async () => (await recordsOf(group)).length > 0);
  return (await recordsOf(group)).reduce((sum, { nanos }) => sum + Number(nanos), 0);
};
const recordsOf = (group: string) =>
  gateway.context.database.db.selectFrom('usage_records').selectAll().where('user_id', '=', group).execute();

for (const dialect of DIALECTS)
  describe(`G 8: a ${dialect} provider that sends`, () => {
    const clients: readonly Dialect[] = [dialect, dialect === 'messages' ? 'responses' : 'messages'];
    for (const client of clients) {
      const how = client === dialect ? 'natively' : `to a ${client} client`;
      for (const [what, textOf] of Object.entries(STILLBORN)) {
        const text = textOf(WIRES[dialect]);
        if (text === undefined) continue;
        test(`${what} and ends is replaced by another account, and costs nothing (${how})`, async () => {
          const group = await newGroup(dialect);
          accountA.respondWith(sends(text));
          accountB.respondWith(sends(WIRES[dialect].reply));
          const answer = await post(group, client);
          const received = await answer.text();
          assert.equal(answer.status, 200, received);
          assert.match(received, /fig/);
          assert.doesNotMatch(received, /"error":\s*\{|event: error|waiting/);
          if (client === dialect)
            assert.equal(received, WIRES[dialect].reply, 'the bytes of the account that served it');
          assert.deepEqual([accountA.requests.length, accountB.requests.length], [1, 1]);
          assert.match(JSON.stringify((await lineOf(group))?.faults), /^\["(?:truncated|failed)"\]$/);
          assert.equal(await chargedTo(group), 14_000, 'one reply is charged');
        });
      }

      test(`an empty reply that is complete and reports usage has served the call (${how})`, async () => {
        const group = await newGroup(dialect);
        accountA.respondWith(sends(WIRES[dialect].announced + WIRES[dialect].emptyEnd));
        const answer = await post(group, client);
        assert.equal(answer.status, 200, await answer.text());
        assert.equal(accountB.requests.length, 0);
      });

      test(`comments for as long as a first byte is awaited is replaced, and the client is kept alive (${how})`, async () => {
        const group = await newGroup(dialect);
        accountA.respondWith((answer) => {
          answer.writeHead(200, { 'content-type': 'text/event-stream' });
          answer.write(COMMENTS + WIRES[dialect].announced);
        });
        accountB.respondWith(sends(WIRES[dialect].reply));
        const asked = post(group, client);
        await until('the provider has responded', async () => clock.waiting(TIMEOUTS.stream.firstByte) > 0);
        if (client === dialect) {
          await until('the client waits', async () => clock.waiting(HEARTBEAT_MS) > 0);
          clock.fire(HEARTBEAT_MS);
          assert.equal((await asked).status, 200, 'the head comes before the reply');
        }
        clock.fire(TIMEOUTS.stream.firstByte);
        const received = await (await asked).text();
        assert.match(received, /fig/);
        if (client === dialect)
          assert.match(received, dialect === 'messages' ? /^event: ping/ : /^:/, 'a heartbeat first');
        assert.deepEqual((await lineOf(group))?.faults, ['timeout']);
        assert.equal(await chargedTo(group), 14_000);
      });
    }
  });

test('G 8: an account that always fails in the middle of its streams is avoided', async () => {
  const group = await newGroup('chat');
  accountA.respondWith(
    sends(
      chunk({ role: 'assistant', content: 'f' }) +
        data({ error: { message: 'overloaded', type: 'overloaded_error', code: 503 } }),
    ),
  );
  accountB.respondWith(sends(WIRES.chat.reply));
  for (let call = 0; call < 12; call += 1) await (await post(group, 'chat')).text();
  assert.ok(accountB.requests.length > 0, `${accountA.requests.length} of 12 calls stayed on the failing account`);
});

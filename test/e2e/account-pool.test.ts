/** The account pool of two servers on one database: parks, cooldowns, priorities, sessions and the queue for slots. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { ACCOUNT_QUEUE } from '../../src/rules/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import {
  type Canned,
  jsonResponse,
  type ReceivedRequest,
  type Script,
  sseResponse,
  startCanned,
} from '../support/canned.ts';
import { runHere } from '../support/cli.ts';
import { errorCode } from '../support/error-body.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { HeldClock } from '../support/held-clock.ts';
import { until } from '../support/wait.ts';

let provider: Canned;
let one: TestGateway;
let two: TestGateway;
const admin = adminApi(() => one.url);
/** How long a request waits for a slot: until the test says that the time is over. */
const QUEUE_MS = 54_321;
const clock = new HeldClock(QUEUE_MS, ACCOUNT_QUEUE.heartbeatMs);
const env = { ADMIN_TOKEN, ACCOUNT_QUEUE_MS: String(QUEUE_MS) };

before(async () => {
  provider = await startCanned();
  one = await startGateway({ env, clock });
  two = await startGateway({ env, clock, database: one.database });
});
after(async () => {
  await two?.stop();
  await one?.stop();
  await provider?.close();
});
beforeEach(() => {
  provider.requests.length = 0;
  provider.respondWith(reply);
});

// ---------------------------------------------------------------- provider and client

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
};
const sse = (data: { readonly type: string }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
/** Has content: an account that only sends the start of a message is left for another one. */
const OPENING =
  sse({ type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } } as never) +
  sse({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never) +
  sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } } as never);
const ENDING =
  sse({ type: 'content_block_stop', index: 0 } as never) +
  sse({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } } as never) +
  sse({ type: 'message_stop' });
const reply: Script = (response, request) =>
  (isStream(request) ? sseResponse(OPENING, ENDING) : jsonResponse(JSON.stringify(MESSAGE)))(response, request);
const isStream = ({ body }: ReceivedRequest): boolean => JSON.parse(body.toString()).stream === true;
const refuseKey = jsonResponse(
  JSON.stringify({
    type: 'error',
    error: { type: 'authentication_error', message: 'invalid x-api-key sk-ant-1234567890abcdef12345' },
  }),
  401,
);

const keyOf = ({ headers }: ReceivedRequest): string => String(headers['x-api-key'] ?? headers.authorization);
/** Accounts in the order of their requests. */
const used = (): string[] =>
  provider.requests.map((request) =>
    keyOf(request)
      .replace(/^.*key-/, '')
      .slice(0, 1),
  );

interface Settings {
  readonly api_key?: string;
  readonly priority?: number;
  readonly max_concurrency?: number;
}
let groups = 0;

interface Group {
  readonly id: string;
  /** Full id of the account. */
  account(letter: string): string;
  change(letter: string, settings: Settings): Promise<void>;
  send(gateway: TestGateway, options?: SendOptions): Promise<Response>;
}
interface SendOptions {
  readonly path?: string;
  readonly body?: object;
  readonly headers?: Record<string, string>;
  readonly user?: string;
  readonly signal?: AbortSignal;
}

/** A group of messages accounts a, b, ... with keys of two users. */
async function openGroup(accounts: readonly Settings[]): Promise<Group> {
  groups += 1;
  const id = `g${groups}`;
  const row = (letter: string, settings: Settings) => ({
    id: `${id}-${letter}`,
    group: id,
    base_url: provider.url,
    api_key: `key-${letter}-${id}`,
    ...settings,
  });
  const tokens: Record<string, string> = {};
  for (const user of ['ana', 'bob'])
    tokens[user] =
      (
        await one.apply({
          groups: [{ id, style: 'messages' }],
          accounts: accounts.map((settings, n) => row(String.fromCharCode(97 + n), settings)),
          models: [
            { id: 'demo', groups: [id] },
            { id: 'x-*', groups: [id] },
          ],
          users: [{ id: user }],
          keys: [{ user, group: id, name: user }],
        })
      )[id] ?? assert.fail('no key');
  await until('the second server', () => two.catalog().accounts(id).length === accounts.length);
  return {
    id,
    account: (letter) => `${id}-${letter}`,
    async change(letter, settings) {
      await one.apply({ accounts: [row(letter, settings)] });
    },
    send: (gateway, { path = '/v1/messages', body = {}, headers = {}, user = 'ana', signal } = {}) =>
      fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${tokens[user]}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'demo', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], ...body }),
        ...(signal && { signal }),
      }),
  };
}

interface ShownAccount {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
  readonly provider_code: string | null;
  readonly message: string | null;
  readonly until: string | null;
  readonly in_flight: number;
  readonly max_concurrency: number | null;
  readonly learned_concurrency: number | null;
  readonly cooldowns: readonly Record<string, unknown>[];
}
const shown = async (id: string): Promise<ShownAccount> =>
  (await admin<{ data: ShownAccount[] }>('GET', '/accounts?limit=100')).body.data.find(
    (account) => account.id === id,
  ) ?? assert.fail(`no account ${id}`);
const act = (id: string, action: string, body: object = {}) =>
  admin<ShownAccount & { ok: boolean; status: number }>('POST', `/accounts/${id}/${action}`, body);

/** A provider that answers only when the test says so. */
function holdReplies() {
  const held: (() => void)[] = [];
  provider.respondWith((response, request) => {
    if (isStream(request)) response.writeHead(200, { 'content-type': 'text/event-stream' }).write(OPENING);
    held.push(() => (isStream(request) ? response.end(ENDING) : reply(response, request)));
  });
  const release = (): void => {
    for (const answer of held.splice(0)) answer();
  };
  return { held, release };
}

// ---------------------------------------------------------------- parks

test('a credential that is rejected twice parks the account on both servers with the provider’s words, and a corrected key is used by both at once', async () => {
  const group = await openGroup([{}]);
  const id = group.account('a');
  provider.respondWith((response, request) =>
    (keyOf(request).startsWith('right') ? reply : refuseKey)(response, request),
  );
  for (let n = 0; n < 2; n += 1) assert.equal((await group.send(one)).status, 529);
  await until('the second server', () =>
    two.log.some(({ msg, account }) => msg === 'account.parked' && account === id),
  );
  provider.requests.length = 0;
  for (const gateway of [one, two]) {
    const response = await group.send(gateway);
    assert.deepEqual([response.status, response.headers.get('retry-after')], [529, '300']);
  }
  assert.equal(provider.requests.length, 0, 'no request with a dead credential');

  const account = await shown(id);
  assert.deepEqual(
    [account.state, account.reason, account.provider_code, account.message, account.until],
    ['refused_credential', 'credential', 'authentication_error', 'invalid x-api-key [redacted]', null],
  );
  const { DATABASE_URL, MASTER_KEY, DATA_DIR } = one.context.config;
  const { stdout } = await runHere(['doctor'], { env: { DATABASE_URL, MASTER_KEY, DATA_DIR } });
  assert.match(
    stdout,
    new RegExp(
      `BAD +Account +${id} is parked for .*: the provider rejects its credential, authentication_error, "invalid`,
    ),
  );
  assert.match(stdout, new RegExp(`accounts_out 1: .*${id}: credential \\(authentication_error\\)`));
  assert.match(stdout, new RegExp(`groups_without_account 1: .*${group.id}`));
  const metrics = await (await fetch(`${two.url}/metrics`)).text();
  assert.match(metrics, new RegExp(`dragoman_account_out\\{account="${id}",state="parked",cause="credential"\\} 1`));

  await group.change('a', { api_key: 'right' });
  for (const gateway of [one, two])
    await until('the corrected key', async () => (await group.send(gateway)).status === 200);
  await until('the state', async () => (await shown(id)).state === 'healthy');
});

test('a park that another server wrote for an earlier credential neither stops the account nor stays visible', async () => {
  const group = await openGroup([{}]);
  const id = group.account('a');
  await one.context.database.db
    .insertInto('account_parks')
    .values({ account_id: id, state: 'parked', cause: 'credential', identity: 'of-an-earlier-credential' })
    .execute();
  assert.equal((await group.send(one)).status, 200);
  await until('the state', async () => (await shown(id)).state === 'healthy');
  assert.equal((await group.send(two)).status, 200);
});

test('an operator’s test reports the provider’s words, and ends the park when it works', async () => {
  const group = await openGroup([{}]);
  const id = group.account('a');
  provider.respondWith(refuseKey);
  await group.send(one);
  const failed = await act(id, 'test');
  assert.deepEqual(
    [failed.status, failed.body.ok, failed.body.status, failed.body.reason, failed.body.message],
    [200, false, 401, 'credential', 'invalid x-api-key [redacted]'],
  );
  provider.respondWith(reply);
  assert.equal((await group.send(one)).status, 529, 'nothing tries a dead credential by itself');
  const worked = await act(id, 'test', { model: 'x-1' });
  assert.deepEqual([worked.body.ok, worked.body.status, worked.body.reason], [true, 200, null], worked.text);
  const { model, stream } = JSON.parse(provider.last.body.toString());
  assert.deepEqual([model, stream], ['x-1', true]);
  assert.equal((await group.send(one)).status, 200);
  await until('the second server', async () => (await group.send(two)).status === 200);
  assert.equal((await act('nothing', 'test')).status, 404);
  assert.equal((await act(id, 'test', { model: 'unknown' })).status, 404);
});

test('an account parked by hand finishes its work and takes no new calls on any server, until it is resumed', async () => {
  const group = await openGroup([{}]);
  const id = group.account('a');
  const { held, release } = holdReplies();
  const running = await group.send(two, { body: { stream: true } });
  await until('the load', async () => (await shown(id)).in_flight === 1);
  const parked = await act(id, 'park', { reason: 'moving to another region' });
  assert.deepEqual([parked.body.state, parked.body.reason], ['parked', 'moving to another region']);
  assert.equal((await group.send(one)).status, 529);
  await until('the second server', () =>
    two.log.some(({ msg, account }) => msg === 'account.parked' && account === id),
  );
  assert.equal((await group.send(two)).status, 529);
  assert.equal(held.length, 1);
  release();
  assert.match(await running.text(), /message_stop/);
  // A changed credential does not undo what an operator decided.
  await group.change('a', { api_key: 'key-a-new' });
  assert.equal((await group.send(one)).status, 529);

  provider.respondWith(reply);
  assert.equal((await act(id, 'resume')).body.state, 'healthy');
  assert.equal((await group.send(one)).status, 200);
  await until('the second server', async () => (await group.send(two)).status === 200);
  const audit = await admin<{ data: { action: string; before: object; after: object }[] }>(
    'GET',
    `/audit?subject=account:${id}`,
  );
  assert.deepEqual(
    audit.body.data.map(({ action }) => action),
    ['account.resumed', 'account.changed', 'account.parked'],
  );
  assert.equal((await act('nothing', 'park')).status, 404);
});

test('a draining account takes no new conversations', async () => {
  const group = await openGroup([{}, { priority: 1 }]);
  assert.equal((await act(group.account('a'), 'drain')).body.state, 'draining');
  assert.equal((await group.send(one)).status, 200);
  assert.deepEqual(used(), ['b']);
  await act(group.account('a'), 'resume');
});

// ---------------------------------------------------------------- cooldowns

test('a cooldown holds on both servers and survives a restart, and a resume ends it', async () => {
  const group = await openGroup([{}]);
  const limited = JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } });
  provider.respondWith(jsonResponse(limited, 429, { 'retry-after': '600' }));
  assert.equal((await group.send(one)).status, 429);
  provider.respondWith(reply);
  await until('the second server', async () => (await group.send(two)).status === 429);
  await two.stop();
  two = await startGateway({ env, clock, database: one.database });
  provider.requests.length = 0;
  const response = await group.send(two);
  assert.equal(response.status, 429);
  assert.ok(Number(response.headers.get('retry-after')) > 500);
  assert.equal(provider.requests.length, 0);
  const [cooldown] = (await shown(group.account('a'))).cooldowns;
  assert.deepEqual(
    [cooldown?.state, cooldown?.model, cooldown?.reason, cooldown?.message],
    ['out', 'demo', 'rate_limited', 'slow down'],
  );
  await act(group.account('a'), 'resume');
  assert.equal((await group.send(one)).status, 200);
  await until('the second server', async () => (await group.send(two)).status === 200);
});

test('an account is ejected after five failures, not after one, and an only account is still used', async () => {
  const group = await openGroup([{}, { priority: 1 }]);
  const failing: Script = jsonResponse('{"type":"error","error":{"type":"api_error","message":"no"}}', 500);
  provider.respondWith((response, request) =>
    (keyOf(request).startsWith('key-a') ? failing : reply)(response, request),
  );
  for (let n = 0; n < 6; n++) assert.equal((await group.send(one)).status, 200);
  assert.deepEqual(used().join(''), `${'ab'.repeat(5)}b`);
  await until('the second server', async () => {
    provider.requests.length = 0;
    await group.send(two);
    return used().join('') === 'b';
  });
  const alone = await openGroup([{}]);
  provider.respondWith(failing);
  for (let n = 0; n < 6; n++) assert.equal((await alone.send(one)).status, 502);
  const account = await until('the report', async () => {
    const found = await shown(alone.account('a'));
    return found.cooldowns.length > 0 ? found : undefined;
  });
  assert.deepEqual([account.state, account.cooldowns[0]?.state], ['healthy', 'in_use']);
  provider.respondWith(reply);
  assert.equal((await alone.send(one)).status, 200);
});

// ---------------------------------------------------------------- choice

test('requests spill over to the next priority while the better one is full', async () => {
  const group = await openGroup([{ max_concurrency: 1 }, { priority: 1 }]);
  const { release } = holdReplies();
  const running = await group.send(one, { body: { stream: true } });
  const spilled = await group.send(one, { body: { stream: true } });
  assert.deepEqual(used(), ['a', 'b']);
  await until('the full account', async () => (await shown(group.account('a'))).state === 'full');
  release();
  await Promise.all([running.text(), spilled.text()]);
  provider.respondWith(reply);
  assert.equal((await group.send(one)).status, 200);
  assert.deepEqual(used(), ['a', 'b', 'a']);
});

test('an account without a limit takes all calls at once, and what a refusal of its provider teaches is shown', async () => {
  const group = await openGroup([{}]);
  const { held, release } = holdReplies();
  const calls = Array.from({ length: 80 }, () => group.send(one));
  await until('all calls at the provider', () => held.length === calls.length);
  provider.respondWith(jsonResponse('{}', 429));
  await group.send(one);
  const learned = await until('the learned limit', async () => {
    const account = await shown(group.account('a'));
    return account.learned_concurrency === null ? undefined : account;
  });
  assert.deepEqual([learned.max_concurrency, learned.learned_concurrency], [null, 40]);
  assert.equal(learned.state, 'full');
  release();
  for (const call of calls) assert.equal((await call).status, 200);
});

const SESSION = 'user_1_account__session_8b1f6a52-7f6e-4f5c-9c31-0a2f6f1d7e55';
for (const [about, options] of [
  ['a session header', { headers: { 'x-claude-code-session-id': 's1' } }],
  ['a session in metadata.user_id', { body: { metadata: { user_id: SESSION } } }],
  ['metadata.user_id', { body: { metadata: { user_id: 'end-user-7' } } }],
] as const)
  test(`requests with ${about} stay with one account on both servers, and move while it is out of use`, async () => {
    const group = await openGroup([{}, {}, {}, {}]);
    for (const gateway of [one, two, one, two]) assert.equal((await group.send(gateway, options)).status, 200);
    assert.equal(new Set(used()).size, 1, used().join(''));
    const [home = ''] = used();
    await act(group.account(home), 'park');
    assert.equal((await group.send(one, options)).status, 200);
    assert.notEqual(used().at(-1), home);
    await act(group.account(home), 'resume');
    assert.equal((await group.send(one, options)).status, 200);
    assert.equal(used().at(-1), home);
  });

// ---------------------------------------------------------------- queue

test('a request waits for a slot while all accounts are full, users take turns, and a client that disconnects leaves', async () => {
  const group = await openGroup([{ max_concurrency: 1 }]);
  const order: string[] = [];
  const send = async (name: string, user: string, signal?: AbortSignal): Promise<void> => {
    const response = await group.send(one, { user, body: { model: `x-${name}` }, ...(signal && { signal }) });
    assert.equal(response.status, 200, await response.text());
    order.push(name);
  };
  // Both keys are known then, so that later requests wait for nothing but a slot.
  provider.respondWith(reply);
  for (const user of ['ana', 'bob']) await group.send(one, { user });
  const { held } = holdReplies();
  const gone = new AbortController();
  const first = send('first', 'ana');
  await until('the first request', () => held.length === 1);
  const others = [send('a1', 'ana'), send('a2', 'ana'), send('b1', 'bob')];
  const left = send('left', 'bob', gone.signal).catch(() => {});
  await until('all requests in the queue', () => clock.waiting(QUEUE_MS) === 4);
  gone.abort();
  await left;
  const answering = (async () => {
    for (let n = 0; n < 4; n++) {
      await until('a request', () => held.length > 0);
      held.shift()?.();
    }
  })();
  await Promise.all([first, ...others, answering]);
  assert.deepEqual(order.toSorted(), ['a1', 'a2', 'b1', 'first']);
  assert.ok(order.indexOf('b1') < 3, `bob does not wait for both of ana: ${order}`);
  assert.equal(held.length, 0, 'the request of the client that left was not sent');
});

for (const [path, heartbeat] of [
  ['/v1/messages', 'event: ping'],
  ['/v1/chat/completions', ': hb'],
] as const)
  test(`a stream that waits for a slot gets its head and heartbeats until its reply begins (${path})`, async () => {
    const group = await openGroup([{ max_concurrency: 1 }]);
    const { held } = holdReplies();
    const first = group.send(one);
    await until('the first request', () => held.length === 1);
    const sent = group.send(one, { path, body: { stream: true, top_k: 3 } });
    await until('the second request in the queue', () => clock.waiting(ACCOUNT_QUEUE.heartbeatMs) === 1);
    clock.fire(ACCOUNT_QUEUE.heartbeatMs);
    const waiting = await sent;
    assert.equal(waiting.status, 200);
    clock.fire(ACCOUNT_QUEUE.heartbeatMs);
    held.shift()?.();
    assert.equal((await first).status, 200);
    await until('the second request', () => held.length === 1);
    held.shift()?.();
    const text = await waiting.text();
    assert.equal(text.split(heartbeat).length - 1, 2, text);
    assert.match(text, /"ok"/);
    if (path !== '/v1/messages') assert.match(text, /^: x-gateway-dropped: /m);
    assert.equal(clock.waiting(ACCOUNT_QUEUE.heartbeatMs), 0);
  });

for (const path of ['/v1/messages', '/v1/chat/completions'])
  test(`a stream that has waited for a slot in vain ends with an error event (${path})`, async () => {
    const group = await openGroup([{ max_concurrency: 1 }]);
    const { held } = holdReplies();
    const first = group.send(one);
    await until('the first request', () => held.length === 1);
    const sent = group.send(one, { path, body: { stream: true } });
    await until('the second request in the queue', () => clock.waiting(ACCOUNT_QUEUE.heartbeatMs) === 1);
    clock.fire(ACCOUNT_QUEUE.heartbeatMs);
    const waiting = await sent;
    clock.fire(QUEUE_MS);
    assert.match(await waiting.text(), /Every upstream account is at capacity/);
    assert.equal(clock.waiting(ACCOUNT_QUEUE.heartbeatMs), 0);
    held.shift()?.();
    assert.equal((await first).status, 200);
  });

for (const path of ['/v1/messages', '/v1/chat/completions'])
  test(`a client that leaves while it waits for an account after a failed attempt pays nothing (${path})`, async () => {
    const group = await openGroup([{ max_concurrency: 1 }, { priority: 1 }]);
    const { held, release } = holdReplies();
    const first = group.send(one);
    await until('the first request', () => held.length === 1);
    provider.respondWith(jsonResponse('{}', 503));
    const gone = new AbortController();
    const left = group.send(one, { path, body: { model: 'x-left' }, signal: gone.signal }).catch(() => {});
    const failed = await until('the failed attempt', () =>
      one.log.find(({ msg, account }) => msg === 'attempt.failed' && account === group.account('b')),
    );
    gone.abort();
    await left;
    const completed = await until('the end of the call', () =>
      one.log.find(({ msg, request }) => msg === 'request.completed' && request === failed.request),
    );
    assert.deepEqual([completed.tokensIn, completed.cost], [undefined, undefined]);
    release();
    await (await first).text();
  });

test('a request that waited too long is refused in its dialect, with a time to come back', async () => {
  const ids = { messages: 'full-messages', responses: 'full-responses', generate: 'full-generate' };
  const styles = { messages: 'messages', responses: 'responses', generate: 'generate-content' };
  const names = Object.keys(ids) as (keyof typeof ids)[];
  const keys = await one.apply({
    groups: names.map((name) => ({ id: ids[name], style: styles[name] })),
    accounts: names.map((name) => ({
      id: ids[name],
      group: ids[name],
      base_url: name === 'responses' ? `${provider.url}/v1` : provider.url,
      api_key: 'key-a',
      max_concurrency: 1,
    })),
    models: [{ id: 'demo', groups: names.map((name) => ids[name]) }],
    users: [{ id: 'ana' }],
    keys: names.map((name) => ({ user: 'ana', group: ids[name] })),
  });
  const text = { role: 'user', content: 'hi' };
  const REQUESTS = [
    ['messages', '/v1/messages', { model: 'demo', max_tokens: 9, messages: [text] }, 'messages', 529],
    ['messages', '/v1/chat/completions', { model: 'demo', messages: [text] }, 'openai', 503],
    ['responses', '/v1/responses', { model: 'demo', input: 'hi' }, 'openai', 503],
    ['generate', '/v1beta/models/demo:generateContent', { contents: [{ parts: [{ text: 'hi' }] }] }, 'generate', 503],
  ] as const;
  const send = (name: (typeof names)[number], path: string, body: object, signal?: AbortSignal) =>
    fetch(one.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[ids[name]]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
  const { held } = holdReplies();
  const stop = new AbortController();
  const occupying = names.map((name) => {
    const [, path = '', body = {}] = REQUESTS.find(([own]) => own === name) ?? [];
    return send(name, path, body, stop.signal).catch(() => {});
  });
  await until('the slots are taken', () => held.length === names.length);
  const waiting = REQUESTS.map(([name, path, body]) => send(name, path, body));
  await until('all requests in the queue', () => clock.waiting(QUEUE_MS) === REQUESTS.length);
  clock.fire(QUEUE_MS);
  for (const [n, [, path, , format, status]] of REQUESTS.entries()) {
    const response = (await waiting[n]) ?? assert.fail();
    assert.equal(response.status, status, path);
    const seconds = Number(response.headers.get('retry-after'));
    assert.equal(seconds, Math.ceil(QUEUE_MS / 1_000), 'no call has ended that would tell more');
    assert.equal(errorCode(format, status, await response.json()), 'server_is_overloaded');
  }
  stop.abort();
  await Promise.all(occupying);
});

/** What the pages of operators and users compute and change: accounts in place, quotes, price imports, estimates, authorizations. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { addPerson, browserOf, type ConsoleFault } from '../support/console.ts';
import { callVideo, KEYS, startVideo, TASKS, taskBody, VIDEO_MODELS, type VideoFixture } from '../support/video.ts';
import { until } from '../support/wait.ts';

let fixture: VideoFixture;
let key: string;
const admin = adminApi(() => fixture.gateway.url);
const db = () => fixture.gateway.context.database.db;

before(async () => {
  fixture = await startVideo({ env: { ADMIN_TOKEN } });
  const keys = await fixture.gateway.apply({
    groups: [{ id: 'claude', style: 'messages', multiplier: '1.2' }],
    accounts: [
      { id: 'cl1', group: 'claude', base_url: fixture.sim.url, api_key: 'sk-upstream-cl1', cost_multiplier: '0.9' },
    ],
    models: [
      {
        id: 'demo-*',
        groups: ['claude'],
        prices: { input: '3', cached_input: '0.3', output: '15', per_image: { '*': '0.04' } },
        cost: { input: '2', cached_input: '0.2', output: '10' },
      },
      { id: 'gpt-4o-mini', groups: ['openai'] },
      { id: 'given-away', groups: ['claude'], free: true },
    ],
    users: [{ id: 'carl', balance: '50', multiplier: '1.5' }],
    keys: [{ user: 'carl', group: 'claude' }],
  });
  key = keys.claude ?? '';
});
after(() => fixture.close());

const hello = (): Promise<Response> =>
  fetch(`${fixture.gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-messages', max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] }),
  });

test('one key is read by its id, and an unknown id is not found', async () => {
  const { body: list } = await admin<{ data: { id: string }[] }>('GET', '/keys?user=carl');
  const { id } = list.data[0] ?? { id: '' };
  const { status, body } = await admin<{ id: string; user: string; value?: string }>('GET', `/keys/${id}`);
  assert.deepEqual([status, body.id, body.user, body.value], [200, id, 'carl', undefined]);
  const missing = await admin<ConsoleFault>('GET', '/keys/key_none');
  assert.deepEqual([missing.status, missing.body.error.code], [404, 'object_not_found']);
});

interface AccountBody extends ConsoleFault {
  readonly base_url: string;
  readonly weight: number;
  readonly priority: number;
  readonly max_concurrency: number | null;
  readonly proxy: string | null;
  readonly models: Readonly<Record<string, string>>;
  readonly state: string;
  readonly reason: string | null;
}

test('an account is changed in place: its credential stays and works, and one audit line has the difference', async () => {
  const change = {
    weight: 7,
    priority: 3,
    max_concurrency: 5,
    models: { 'demo-messages': 'demo-renamed' },
    proxy: 'none',
  };
  const { status, body, text } = await admin<AccountBody>('PATCH', '/accounts/cl1', change);
  assert.equal(status, 200, text);
  const { weight, priority, max_concurrency, models, proxy, state } = body;
  assert.deepEqual({ weight, priority, max_concurrency, models, proxy, state }, { ...change, state: 'healthy' });
  await until('the new weight', () => fixture.gateway.catalog().accounts('claude')[0]?.weight === 7);
  const response = await hello();
  assert.equal(response.status, 200, await response.text());

  const { body: audit } = await admin<{ data: { action: string; before: AccountBody; after: AccountBody }[] }>(
    'GET',
    '/audit?subject=account:cl1&limit=1',
  );
  const [line] = audit.data;
  assert.deepEqual([line?.action, line?.before.weight, line?.after.weight], ['account.changed', 1, 7]);
  const isAsShown = async () => isDeepStrictEqual((await admin('GET', '/accounts/cl1')).body, body);
  await until('the same account once the call has left it', isAsShown);
});

test('an account without a limit is stored with a number that version 0.2.0 can run with, and shown without one', async () => {
  const { status, body } = await admin<AccountBody>('PATCH', '/accounts/cl1', { max_concurrency: null });
  assert.deepEqual([status, body.max_concurrency], [200, null]);
  const stored = await db().selectFrom('accounts').select('max_concurrency').where('id', '=', 'cl1').execute();
  assert.deepEqual(stored, [{ max_concurrency: 2_147_483_647 }]);
  await until('no limit', () => fixture.gateway.catalog().accounts('claude')[0]?.maxConcurrency === undefined);
  const { body: audit } = await admin<{ data: { before: AccountBody; after: AccountBody }[] }>(
    'GET',
    '/audit?subject=account:cl1&limit=1',
  );
  const [line] = audit.data;
  assert.deepEqual([line?.before.max_concurrency, line?.after.max_concurrency], [5, null]);
});

test('a change of an account may replace its credential and its state, which no response and no audit line shows', async () => {
  const secret = 'sk-upstream-replaced';
  const parked = await admin<AccountBody>('PATCH', '/accounts/cl1', {
    api_key: secret,
    state: 'parked',
    reason: 'moved',
  });
  assert.deepEqual([parked.status, parked.body.state, parked.body.reason], [200, 'parked', 'moved']);
  const { text } = await admin('GET', '/audit?subject=account:cl1&limit=5');
  assert.ok(text.includes('"credential":"changed"'));
  for (const shown of [parked.text, text]) assert.ok(!shown.includes(secret));
  const resumed = await admin<AccountBody>('PATCH', '/accounts/cl1', { state: 'in_use', api_key: 'sk-upstream-cl1' });
  assert.equal(resumed.body.state, 'healthy');
});

test('an account has the outcome of its last test until its credential changes', async () => {
  const read = async () =>
    (await admin<{ last_test: { ok: boolean; at: string } | null }>('GET', '/accounts/cl1')).body;
  assert.equal((await read()).last_test, null);
  await admin('POST', '/accounts/cl1/test', { model: 'demo-messages' });
  assert.equal((await read()).last_test?.ok, true);
  await admin('PATCH', '/accounts/cl1', { weight: 6 });
  assert.equal((await read()).last_test?.ok, true);
  await admin('PATCH', '/accounts/cl1', { api_key: 'sk-upstream-new' });
  assert.equal((await read()).last_test, null);
  await admin('PATCH', '/accounts/cl1', { api_key: 'sk-upstream-cl1', weight: 7 });
});

test('a test of an account whose models have no price names the price, not the model', async () => {
  await admin('PUT', '/config', {
    groups: [{ id: 'bare', style: 'messages' }],
    accounts: [{ id: 'bare1', group: 'bare', base_url: fixture.sim.url, api_key: 'sk-bare' }],
    models: [{ id: 'unpriced', groups: ['bare'] }],
  });
  const tested = async () => (await admin<ConsoleFault>('POST', '/accounts/bare1/test', {})).body.error?.message ?? '';
  await until('the new account', async () => !(await tested()).includes('no account'));
  assert.match(await tested(), /no text model of the group has a price/);
});

test('the state of an account changes in one way: `state` and the operation of its own write the same audit line', async () => {
  const ways: readonly (readonly [string, string, object])[] = [
    ['PATCH', '/accounts/cl1', { state: 'parked', reason: 'moved' }],
    ['POST', '/accounts/cl1/park', { reason: 'moved' }],
    ['PATCH', '/accounts/cl1', { state: 'in_use', reason: 'moved' }],
    ['POST', '/accounts/cl1/resume', { reason: 'moved' }],
    ['PATCH', '/accounts/cl1', { weight: 8, state: 'draining', reason: 'moved' }],
    ['POST', '/accounts/cl1/drain', { reason: 'moved' }],
  ];
  for (const [method, path, body] of ways) assert.equal((await admin(method, path, body)).status, 200);
  const { body } = await admin<{ data: { action: string; after: object }[] }>(
    'GET',
    '/audit?subject=account:cl1&limit=7',
  );
  const lines = body.data
    .toReversed()
    .map(({ action, after }) => (action === 'account.changed' ? [action] : [action, after]));
  const [parked, resumed, drained] = [
    ['account.parked', { state: 'parked', reason: 'moved' }],
    ['account.resumed', { state: 'healthy', reason: 'moved' }],
    ['account.drained', { state: 'draining', reason: 'moved' }],
  ];
  assert.deepEqual(lines, [parked, parked, resumed, resumed, ['account.changed'], drained, drained]);
  await admin('PATCH', '/accounts/cl1', { weight: 7, state: 'in_use' });
});

interface AuditPage {
  readonly data: readonly { actor: string; action: string; before: unknown; after: unknown }[];
}

test('a document that must only create is refused with 409 and the field when one of its objects exists', async () => {
  const account = { id: 'cl1', group: 'claude', base_url: 'https://elsewhere.test', api_key: 'sk-other' };
  const model = { id: 'demo-*', groups: ['claude'], prices: { input: '9', output: '9' } };
  for (const [document, field] of [
    [{ accounts: [account] }, 'accounts[0].id'],
    [{ models: [{ ...model, id: 'quite-new' }, model] }, 'models[1].id'],
    [{ groups: [{ id: 'claude', style: 'messages' }] }, 'groups[0].id'],
  ] as const) {
    const before = [await admin('GET', '/accounts'), await admin('GET', '/models')].map(({ text }) => text);
    const { status, body } = await admin<{ error: object }>('PUT', '/config?create_only=true', document);
    assert.deepEqual([status, Reflect.get(body.error, 'param')], [409, field]);
    assert.deepEqual([(await admin('GET', '/accounts')).text, (await admin('GET', '/models')).text], before);
  }
});

test('a document that changes an account, a limit and a price writes one audit line for each, with both values', async () => {
  const change = (weight: number, rpm: number, output: string) =>
    admin<{ diff: readonly object[] }>('PUT', '/config', {
      accounts: [{ id: 'cl1', group: 'claude', base_url: fixture.sim.url, api_key: `sk-upstream-${weight}`, weight }],
      users: [{ id: 'audited', rpm }],
      models: [{ id: 'audited', groups: ['claude'], prices: { input: '1', output }, cost: { input: '0.5', output } }],
    });
  assert.equal((await change(2, 10, '4')).status, 200);
  const { body } = await change(3, 20, '5');
  assert.deepEqual(
    body.diff.map((one) => Reflect.get(one, 'object')),
    ['account cl1', 'model audited of claude', 'user audited'],
  );
  const lineOf = async (subject: string) =>
    (await admin<AuditPage>('GET', `/audit?subject=${subject}&limit=1`)).body.data[0] ?? assert.fail(subject);
  const account = await lineOf('account:cl1');
  assert.deepEqual(
    [account.action, account.before, account.after],
    ['account.changed', { weight: 2, api_key: 'set' }, { weight: 3, api_key: 'changed' }],
  );
  const user = await lineOf('user:audited');
  assert.deepEqual(
    [user.action, user.before, user.after],
    ['user.changed', { limits: { rpm: 10 } }, { limits: { rpm: 20 } }],
  );
  const price = await lineOf('model:claude/audited');
  const [before, after] = [price.before, price.after] as Record<string, unknown>[];
  assert.equal(price.action, 'price.changed');
  assert.deepEqual(
    [before?.prices, after?.prices],
    [
      { input: '1', output: '4' },
      { input: '1', output: '5' },
    ],
  );
  const { body: prices } = await admin<{ data: readonly { id: string; set_by: { actor: string } }[] }>(
    'GET',
    '/prices?group=claude&model=audited',
  );
  assert.deepEqual(
    prices.data.map(({ id, set_by }) => [id, set_by.actor]),
    [
      [after?.price, 'token'],
      [before?.price, 'token'],
    ],
  );
  await admin('PUT', '/config', {
    accounts: [{ id: 'cl1', group: 'claude', base_url: fixture.sim.url, api_key: 'sk-upstream-cl1', weight: 7 }],
  });
});

test('a change of an account names what is wrong, and changes nothing', async () => {
  const before = await admin('GET', '/accounts/cl1');
  const rejected: readonly [object, string | undefined][] = [
    [{}, undefined],
    [{ weight: -1 }, 'weight'],
    [{ base_url: 'ftp://host.net' }, 'base_url'],
    // Would send the stored credential to the server of the one who changes it.
    [{ base_url: 'http://127.0.0.1:9' }, 'api_key'],
    [{ proxy: 'http://127.0.0.1:9' }, 'api_key'],
    [{ features: ['chat'] }, 'features'],
    [{ preset: 'vllm' }, 'preset'],
    [{ group: 'openai' }, 'group'],
    [{ state: 'gone' }, 'state'],
  ];
  for (const [change, param] of rejected) {
    const { status, body, text } = await admin<ConsoleFault>('PATCH', '/accounts/cl1', change);
    assert.equal(status, 400, text);
    assert.equal(body.error.param ?? undefined, param, text);
  }
  assert.equal((await admin('PATCH', '/accounts/none', { weight: 1 })).status, 404);
  assert.deepEqual((await admin('GET', '/accounts/cl1')).body, before.body);
});

interface Quote extends ConsoleFault {
  readonly line: string;
  readonly at_most: boolean;
  readonly charge: { readonly charge: string; readonly subtotal: string; readonly lines: readonly object[] } | null;
  readonly cost: { readonly cost: string; readonly margin: string } | null;
}
const quote = (query: string) => admin<Quote>('GET', `/quote?${query}`);

test('a quote has the charge and the cost of a call with the same usage, to the last digit', async () => {
  const response = await hello();
  await response.text();
  const id = response.headers.get('x-request-id') ?? '';
  const { body: call } = await until('the call', async () => {
    const found = await admin<{ usage: Record<string, number>; pricing: Pick<Quote, 'charge' | 'cost'> }>(
      'GET',
      `/requests/${id}`,
    );
    return found.status === 200 ? found : undefined;
  });
  const { input, cacheRead, cacheWrite, output } = call.usage as Record<string, number>;
  const { body } = await quote(
    `group=claude&model=demo-messages&user=carl&account=cl1&input_tokens=${input}&cached_input_tokens=${cacheRead ?? 0}&cache_write_tokens=${cacheWrite ?? 0}&output_tokens=${output}`,
  );
  assert.equal(body.line, 'demo-*');
  assert.deepEqual({ charge: body.charge, cost: body.cost }, { charge: call.pricing.charge, cost: call.pricing.cost });
});

test('a quote counts cached tokens and images, and says when there is no charge', async () => {
  const counted = await quote(
    'group=claude&model=demo-messages&input_tokens=1000&cached_input_tokens=400&output_tokens=100&images=2',
  );
  // 600 x 3 + 400 x 0.3 + 100 x 15 dollars a million, two pictures of 4 cents, times 1.2.
  assert.equal(counted.body.charge?.subtotal, '0.08342');
  assert.equal(counted.body.charge?.charge, '0.100104');
  assert.equal((await quote('group=claude&model=given-away&input_tokens=5')).body.charge, null);
  for (const [query, param] of [
    ['group=claude&model=nothing-like-it', 'model'],
    ['group=none&model=x', 'group'],
    ['group=claude&model=demo-messages&user=none', 'user'],
  ]) {
    const { status, body } = await quote(query ?? '');
    assert.deepEqual([status, body.error.param], [404, param]);
  }
  assert.equal((await quote('group=claude&model=demo-messages&input_tokens=-1')).body.error.param, 'input_tokens');
});

const VIDEO_TASK = taskBody('EP', { resolution: '720p' });

test('the estimate of a video task is what its creation holds, for the quote of operators too', async () => {
  const person = await addPerson(db(), { email: 'ana@example.test', role: 'user', user: 'ana' });
  const browser = await browserOf(fixture.gateway, person);
  const { body: keys } = await browser.send<{ data: { id: string; name: string }[] }>('GET', '/console/v1/keys');
  const id = keys.data.find(({ name }) => name === 'one')?.id;
  const estimate = (task: object, own: string | undefined = id) =>
    browser.send<ConsoleFault & { max_cost: string; tokens: number }>('POST', `${TASKS}/estimate`, task, {
      'x-dragoman-key': own,
    });
  const { status, body, text } = await estimate(VIDEO_TASK);
  assert.equal(status, 200, text);
  const created = await callVideo(fixture.gateway.url, TASKS, { body: VIDEO_TASK, key: KEYS.ana });
  const { body: task } = await admin<{ hold: { held: string } }>('GET', `/tasks/${created.body.id}`);
  assert.equal(body.max_cost, task.hold.held);
  const quoted = await quote(`group=ep&model=${VIDEO_MODELS.EP}&resolution=720p&ratio=16:9&seconds=5`);
  assert.deepEqual([quoted.body.at_most, quoted.body.charge?.charge], [true, task.hold.held]);

  const wrong = await estimate({ ...VIDEO_TASK, duration: 99 });
  assert.deepEqual([wrong.status, wrong.body.error.code], [400, 'invalid_request']);
  assert.equal((await estimate(VIDEO_TASK, 'key_none')).body.error.code, 'invalid_api_key');
  const { body: own } = await browser.send<{ id: string; style: string }>('GET', `/console/v1/keys/${id}`);
  assert.deepEqual([own.id, own.style], [id, 'responses']);
  const { body: foreign } = await admin<{ data: { id: string }[] }>('GET', '/keys?user=bob');
  assert.equal((await browser.send('GET', `/console/v1/keys/${foreign.data[0]?.id}`)).status, 404);
});

interface Import extends ConsoleFault {
  readonly plan: string;
  readonly changes: readonly {
    model: string;
    rates: readonly { rate: string; before: string | null; after: string }[];
  }[];
}

test('a price import shows the difference first, and applies only what was shown', async () => {
  const body = { group: 'openai', model: 'gpt-4o-mini', multiplier: '2' };
  await fixture.gateway.apply({
    models: [{ id: 'gpt-4o-mini', groups: ['openai'], free: false, prices: { input: '0.2', output: '0.6' } }],
  });
  const shown = await admin<Import>('POST', '/prices/import?dry_run=true', body);
  assert.equal(shown.status, 200, shown.text);
  const input = shown.body.changes[0]?.rates.find(({ rate }) => rate === 'input');
  assert.deepEqual([input?.before, input?.after], ['0.2', '0.3']);
  const prices = async () => (await admin<{ data: object[] }>('GET', '/prices?model=gpt-4o-mini')).body.data.length;
  const before = await prices();

  assert.equal((await admin<Import>('POST', '/prices/import', body)).body.error.param, 'plan');
  const other = { ...body, multiplier: '3', plan: shown.body.plan };
  assert.equal((await admin<Import>('POST', '/prices/import', other)).status, 409);
  assert.equal(await prices(), before);
  const applied = await admin<Import>('POST', '/prices/import', { ...body, plan: shown.body.plan });
  assert.equal(applied.status, 200, applied.text);
  assert.equal(await prices(), before + 1);
  const { body: again } = await admin<Import>('POST', '/prices/import?dry_run=true', body);
  assert.deepEqual(again.changes, []);
  const unknown = await admin<Import>('POST', '/prices/import?dry_run=true', { group: 'none' });
  assert.equal(unknown.status, 400);
});

interface Authorizations {
  readonly data: readonly {
    readonly id: string;
    readonly status: string;
    readonly user?: string;
    readonly account?: string;
  }[];
  readonly next_cursor: string | null;
}

test('authorizations of real persons are listed for operators and for their user, never with a link', async () => {
  const SESSIONS = '/v1/assets/real-person/authorization-sessions';
  const open = async (owner: string): Promise<string> => {
    const { status, body } = await callVideo(fixture.gateway.url, SESSIONS, { body: {}, key: owner });
    assert.equal(status, 201, JSON.stringify(body));
    return String(body.id);
  };
  const first = await open(KEYS.ana);
  const second = await open(KEYS.bob);
  const all = await admin<Authorizations>('GET', '/authorizations');
  assert.deepEqual(
    all.body.data.map(({ id, user, status, account }) => [id, user, status, account]),
    [
      [second, 'bob', 'pending', 'account-video-a'],
      [first, 'ana', 'pending', 'account-video-a'],
    ],
  );
  const page = await admin<Authorizations>('GET', '/authorizations?limit=1');
  const next = await admin<Authorizations>('GET', `/authorizations?limit=1&cursor=${page.body.next_cursor}`);
  assert.deepEqual([page.body.data[0]?.id, next.body.data[0]?.id], [second, first]);
  await db()
    .updateTable('authorization_sessions')
    .set({ expires_at: new Date(0) })
    .where('id', '=', second)
    .execute();
  const expired = await admin<Authorizations>('GET', '/authorizations?status=expired');
  assert.deepEqual(
    expired.body.data.map(({ id }) => id),
    [second],
  );

  const person = await addPerson(db(), { email: 'bob@example.test', role: 'user', user: 'bob' });
  const own = await (await browserOf(fixture.gateway, person)).send<Authorizations>(
    'GET',
    '/console/v1/authorizations',
  );
  assert.deepEqual(
    own.body.data.map(({ id, account }) => [id, account]),
    [[second, undefined]],
  );
  for (const { text } of [all, own]) assert.ok(!/https?:|sealed|token/.test(text), text);
});

test('an invitation makes the user of the person with limits and credit, or nothing at all', async () => {
  const new_user = { id: 'zoe', max_keys: 3, spend_day: '5', credit: '12.50' };
  const taken = await admin<ConsoleFault>('POST', '/people', {
    email: 'zoe@example.test',
    role: 'user',
    new_user: { ...new_user, id: 'carl' },
  });
  assert.deepEqual([taken.status, taken.body.error.param], [409, 'new_user.id']);
  const { status } = await admin('POST', '/people', { email: 'zoe@example.test', role: 'user', new_user });
  assert.equal(status, 201);
  const { body: wallet } = await admin<{ available: string; spend_day: string }>('GET', '/users/zoe/balance');
  assert.deepEqual([wallet.available, wallet.spend_day], ['12.5', '5']);
  const again = await admin<ConsoleFault>('POST', '/people', {
    email: 'zoe@example.test',
    role: 'user',
    new_user: { ...new_user, id: 'zoe-2' },
  });
  assert.deepEqual([again.status, again.body.error.param], [409, 'email']);
  assert.equal((await admin('GET', '/users/zoe-2/balance')).status, 404, 'nothing is left of a refused invitation');
});

test('the models of a key have their kinds by the catalog, and the prices of the user', async () => {
  await admin('PUT', '/config', {
    models: [
      { id: 'plain', groups: ['claude'], prices: { input: '1', output: '2' }, context: 1000 },
      { id: 'vectors', groups: ['claude'], prices: { input: '0.1', output: '0' } },
      { id: 'pictures', groups: ['claude'], prices: { input: '1', output: '2', per_image: { '*': '0.04' } } },
    ],
  });
  const { body: keys } = await admin<{ data: { id: string }[] }>('GET', '/keys?user=carl');
  const person = await addPerson(db(), { email: 'carl@example.test', role: 'user', user: 'carl' });
  const browser = await browserOf(fixture.gateway, person);
  const read = async () => {
    const path = `/console/v1/models?key=${keys.data[0]?.id}`;
    const { body } = await browser.send<{ data: { id: string; kind: string; prices: Record<string, unknown> }[] }>(
      'GET',
      path,
    );
    return new Map(body.data.map((model) => [model.id, model]));
  };
  await until('the new models', async () => (await read()).has('pictures'));
  const models = await read();
  assert.deepEqual(
    ['plain', 'vectors', 'pictures', VIDEO_MODELS.EP].map((id) => models.get(id)?.kind),
    ['text', 'embeddings', 'image', 'video'],
  );
  // The group's 1.2 times the user's 1.5.
  assert.deepEqual(models.get('pictures')?.prices, { input: '1.8', output: '3.6', per_image: { '*': '0.072' } });
  const { body: log } = await browser.send<{ data: { operation: string }[] }>('GET', '/console/v1/requests');
  assert.ok(!log.data.some(({ operation }) => operation === 'models.list'), 'the list is no call of the user');
  assert.equal((await browser.send('GET', '/console/v1/models?key=key_none')).status, 404);
});

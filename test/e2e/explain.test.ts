/** The plan of a call that is not sent: what it shows is what the same call meets. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import type { ShownExplanation } from '../../src/schemas/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { runHere } from '../support/cli.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

let sim: Sim;
let gateway: TestGateway;
let folder: string;
const admin = adminApi(() => gateway.url);

const TOKENS = {
  openai: 'the-key-of-ana-for-openai',
  claude: 'the-key-of-ana-for-claude',
  empty: 'the-key-of-ana-for-an-empty-group',
  strict: 'the-key-of-one-model-only',
  poor: 'the-key-of-a-poor-user',
} as const;
type KeyName = keyof typeof TOKENS;
const ids: Partial<Record<KeyName, string>> = {};

before(async () => {
  sim = await startSim();
  folder = mkdtempSync(join(tmpdir(), 'dragoman-explain-'));
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
  const account = (id: string, group: string, more: object = {}) => ({
    ...{ id, group, base_url: group === 'openai' ? `${sim.url}/v1` : sim.url, api_key: `sk-upstream-${id}`, ...more },
  });
  await gateway.apply({
    groups: [
      { id: 'openai', style: 'responses', multiplier: '1.5' },
      { id: 'claude', style: 'messages' },
      { id: 'gemini', style: 'generate-content' },
      { id: 'empty', style: 'messages' },
    ],
    accounts: [
      account('oa1', 'openai'),
      account('oa2', 'openai', { features: ['images'] }),
      account('cl1', 'claude'),
      account('cl2', 'claude'),
      account('ge1', 'gemini'),
    ],
    models: [
      { id: 'demo-*', groups: ['openai', 'gemini'], prices: { input: '2', output: '4' }, max_output: 1_000 },
      {
        id: 'safe-*',
        groups: ['claude'],
        prices: { input: '3', output: '6' },
        fallback: ['openai/demo-x', 'gemini/demo-x'],
      },
      { id: 'demo-*', groups: ['claude'], prices: { input: '3', output: '6' } },
      { id: 'safe-*', groups: ['empty'], prices: { input: '3', output: '6' }, fallback: ['openai/demo-x'] },
      { id: 'bare', groups: ['claude'], free: false },
    ],
    users: [
      { id: 'ana', balance: '100' },
      { id: 'poor', balance: '0.00001' },
    ],
    keys: [
      { user: 'ana', group: 'openai', name: 'openai', key: TOKENS.openai },
      { user: 'ana', group: 'claude', name: 'claude', key: TOKENS.claude },
      { user: 'ana', group: 'empty', name: 'empty', key: TOKENS.empty },
      { user: 'ana', group: 'claude', name: 'strict', key: TOKENS.strict, models: ['demo-*'] },
      { user: 'poor', group: 'claude', name: 'poor', key: TOKENS.poor },
    ],
  });
  const { body } = await admin<{ data: { id: string; name: KeyName }[] }>('GET', '/keys?limit=100');
  for (const { id, name } of body.data) ids[name] = id;
});
beforeEach(() => sim.journal.clear());
after(async () => {
  await gateway.stop();
  await sim.close();
  rmSync(folder, { recursive: true, force: true });
});

const PATHS = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' } as const;
type Sent = keyof typeof PATHS;
const MESSAGE = { max_tokens: 100, messages: [{ role: 'user', content: 'the secret words of the prompt' }] };

const query = (key: KeyName, model: string, dialect?: string): string =>
  new URLSearchParams({ key: ids[key] ?? '', model, ...(dialect !== undefined && { dialect }) }).toString();

async function explain(key: KeyName, model: string, dialect?: string, body?: unknown): Promise<ShownExplanation> {
  const {
    status,
    text,
    body: plan,
  } = await admin<ShownExplanation>('POST', `/explain?${query(key, model, dialect)}`, body);
  assert.equal(status, 200, text);
  for (const secret of ['sk-upstream', sim.url, 'secret words', ...Object.values(TOKENS)])
    assert.ok(!text.includes(secret), `shows ${secret}`);
  return plan;
}

async function call(key: KeyName, dialect: Sent, body: object) {
  const response = await fetch(gateway.url + PATHS[dialect], {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKENS[key]}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { error } = (await response.json()) as { error?: { message: string } };
  return { status: response.status, fallback: response.headers.get('x-gateway-fallback'), message: error?.message };
}

const wayOf = (plan: ShownExplanation, number = plan.way ?? 1) => plan.ways[number - 1] ?? assert.fail('no such way');
const reasons = ({ left_out }: ShownExplanation) =>
  left_out.map(({ group, account, dialect, reason }) => [account ?? dialect ?? group, reason]);

test('a native call shows its accounts, its price and what is reserved for it, and sends nothing', async () => {
  const plan = await explain('claude', 'demo-x', undefined, MESSAGE);
  assert.deepEqual([plan.endpoint, plan.way, plan.error, plan.minimal_body], ['POST /v1/messages', 1, null, false]);
  const { group, line, dialect, native, fallback, accounts, rates, covered, max_cost } = wayOf(plan);
  assert.deepEqual(
    [group, line, dialect, native, fallback, covered],
    ['claude', 'demo-*', 'messages', true, false, true],
  );
  assert.deepEqual(
    accounts.map(({ account, state }) => [account, state]),
    [
      ['cl1', 'healthy'],
      ['cl2', 'healthy'],
    ],
  );
  assert.deepEqual(rates, { input: '3', output: '6' });
  // A token for each byte of the body, and 100 of output: the text and its frame have some 100 bytes.
  assert.ok(Number(max_cost) > 100 * 6e-6 && Number(max_cost) < 100 * 6e-6 + 500 * 3e-6, max_cost);
  assert.deepEqual(sim.journal.requests, []);
  assert.equal((await call('claude', 'messages', { model: 'demo-x', ...MESSAGE })).status, 200);
});

test('a minimal body stands for a call without one, in every dialect that the group serves', async () => {
  for (const [dialect, isNative] of [
    ['messages', false],
    ['chat', true],
    ['responses', true],
  ] as const) {
    const plan = await explain('openai', 'demo-x', dialect);
    assert.deepEqual([plan.way, plan.minimal_body, wayOf(plan).native], [1, true, isNative], dialect);
    assert.equal(wayOf(plan).group_multiplier, '1.5');
  }
});

test('a converted call names the fields that it loses, and accounts that speak no dialect of it are left out', async () => {
  const body = { messages: [{ role: 'user', content: 'hi' }], seed: 7 };
  const plan = await explain('claude', 'demo-x', 'chat', body);
  assert.deepEqual([wayOf(plan).dialect, wayOf(plan).native], ['messages', false]);
  assert.deepEqual(wayOf(plan).dropped, ['seed']);
  assert.deepEqual(reasons(plan), []);
  const other = await explain('openai', 'demo-x');
  assert.ok(reasons(other).some(([what, reason]) => what === 'oa2' && reason === 'dialect'));
});

test('an account that is cooling down is shown with the reason and the end, and the line of another group serves', async () => {
  const model = 'safe-limited';
  // Each account in turn: the first one is out when the second call comes.
  for (const limited of [model, model, 'demo-limited', 'demo-limited']) {
    sim.next('status=429; retry_after=600');
    await call('claude', 'messages', { model: limited, ...MESSAGE });
  }
  sim.journal.clear();
  const plan = await explain('claude', model, undefined, MESSAGE);
  const states = wayOf(plan, 1).accounts.map(({ state, reason, until }) => [
    state,
    reason,
    Date.parse(until ?? '') > Date.now(),
  ]);
  assert.deepEqual(states, [
    ['cooling', 'rate_limited', true],
    ['cooling', 'rate_limited', true],
  ]);
  assert.deepEqual(
    plan.ways.map(({ group, fallback }) => [group, fallback]),
    [
      ['claude', false],
      ['openai', true],
      ['gemini', true],
    ],
  );
  assert.deepEqual(
    [plan.way, plan.error, wayOf(plan).group, wayOf(plan, 1).error?.code],
    [2, null, 'openai', 'rate_limit_exceeded'],
  );
  assert.equal((await call('claude', 'messages', { model, ...MESSAGE })).fallback, 'openai/demo-x');

  const alone = await explain('claude', 'demo-limited', undefined, MESSAGE);
  const refused = await call('claude', 'messages', { model: 'demo-limited', ...MESSAGE });
  assert.deepEqual([alone.way, alone.error?.status], [null, refused.status], 'a model without fallback');

  const env = {
    DATABASE_URL: gateway.database.url,
    DATA_DIR: folder,
    MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}`,
    ADMIN_TOKEN,
  };
  const args = ['explain', '--key', ids.claude ?? '', '--model', model];
  await until('other processes know the cooldowns', async () => {
    const { body } = await admin<{ data: { cooldowns: object[] }[] }>('GET', '/accounts');
    return body.data.flatMap(({ cooldowns }) => cooldowns).length === 4;
  });
  for (const server of [[], ['--server', gateway.url]]) {
    const { code, stdout, stderr } = await runHere([...args, ...server], { env });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Served by way 2\./);
    assert.match(stdout, /cl1: cooling \(rate_limited\) until 20/);
    assert.match(stdout, /2\. openai\/demo-\* as demo-x by responses \(converted, fallback\)/);
  }
  for (const id of ['cl1', 'cl2']) await admin('POST', `/accounts/${id}/resume`, {});
});

test('a group without accounts is passed over for its fallback', async () => {
  const plan = await explain('empty', 'safe-x');
  assert.deepEqual(
    plan.ways.map(({ group, fallback }) => [group, fallback]),
    [['openai', true]],
  );
  assert.deepEqual([plan.way, plan.error], [1, null]);
  assert.ok(
    plan.left_out.some(
      ({ group, dialect, reason }) => group === 'empty' && dialect === 'messages' && reason === 'no_account',
    ),
  );
  assert.equal((await call('empty', 'messages', { model: 'safe-x', ...MESSAGE })).fallback, 'openai/demo-x');
});

test('the error is that of the call: model list, unknown model, price, balance, endpoint, and a field of the body', async () => {
  const cases: readonly [KeyName, string, Sent, object, string][] = [
    ['strict', 'safe-x', 'messages', MESSAGE, 'key_models'],
    ['claude', 'unknown', 'messages', MESSAGE, 'no_line'],
    ['claude', 'bare', 'messages', MESSAGE, 'no_price'],
    ['claude', 'bare', 'chat', { messages: MESSAGE.messages }, 'no_price'],
    ['claude', 'demo-x', 'chat', { messages: 'hello' }, 'request'],
    ['claude', 'demo-x', 'responses', { input: 'hi', previous_response_id: 'resp_unknown' }, 'request'],
    ['poor', 'demo-x', 'messages', MESSAGE, ''],
  ];
  for (const [key, model, dialect, body, reason] of cases) {
    const plan = await explain(key, model, dialect, body);
    const refused = await call(key, dialect, { model, ...body });
    assert.deepEqual(
      [plan.way, plan.error?.status, plan.error?.message],
      [null, refused.status, refused.message],
      reason,
    );
    if (reason === '')
      assert.deepEqual([wayOf(plan, 1).covered, wayOf(plan, 1).error?.code], [false, 'insufficient_balance']);
    else
      assert.ok(
        reasons(plan).some(([, one]) => one === reason),
        `${reason}: ${JSON.stringify(plan.left_out)}`,
      );
  }
  const refused = await explain('claude', 'demo-x', 'generate');
  assert.deepEqual([refused.error?.code, reasons(refused)], ['endpoint_not_supported', [['claude', 'matrix']]]);
  const broken = await explain('claude', 'demo-x', 'messages', '{"messages": [');
  assert.deepEqual([broken.error?.status, broken.error?.code, broken.way], [400, 'invalid_request', null]);
});

test('a request that continues a stored response is bound to the account that holds it', async () => {
  const created = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKENS.openai}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-x', input: 'hi' }),
  });
  const { id } = (await created.json()) as { id: string };
  await gateway.apply({
    accounts: [{ id: 'oa3', group: 'openai', base_url: `${sim.url}/v1`, api_key: 'sk-upstream-oa3' }],
  });
  const plan = await explain('openai', 'demo-x', 'responses', { input: 'go on', previous_response_id: id });
  assert.deepEqual(
    wayOf(plan).accounts.map(({ account }) => account),
    ['oa1'],
  );
  assert.ok(reasons(plan).some(([what, reason]) => what === 'oa3' && reason === 'bound_elsewhere'));
});

test('opaque values of the provider are kept, and the prompt of a large body stays unseen', async () => {
  const thinking = { type: 'thinking', thinking: 'hm', signature: 'c2lnbmF0dXJl' };
  const turns = [...MESSAGE.messages, { role: 'assistant', content: [thinking, { type: 'text', text: 'yes' }] }];
  const large = { role: 'user', content: 'the secret words of the prompt '.repeat(10_000) };
  const plan = await explain('claude', 'demo-x', 'messages', {
    ...MESSAGE,
    model: 'other',
    messages: [...turns, large],
  });
  assert.deepEqual([plan.way, wayOf(plan).opaque, plan.model], [1, 'kept', 'demo-x']);
  assert.ok(Number(wayOf(plan).max_cost) > 300_000 * 3e-6);
});

test('explain needs a known key, and its command prints what a caller would get', async () => {
  assert.equal((await admin('POST', `/explain?key=key_unknown&model=demo-x`)).status, 404);
  assert.equal((await admin('POST', `/explain?key=${ids.claude}`)).status, 400);
  assert.equal(
    (await fetch(`${gateway.url}/admin/v1/explain?${query('claude', 'demo-x')}`, { method: 'POST' })).status,
    401,
  );
  const file = join(folder, 'body.json');
  writeFileSync(file, JSON.stringify({ ...MESSAGE, max_tokens: 'many' }));
  const env = {
    DATABASE_URL: gateway.database.url,
    DATA_DIR: folder,
    MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}`,
  };
  const args = ['explain', '--key', ids.strict ?? '', '--model'];
  const refused = await runHere([...args, 'safe-x', '--body', file], { env });
  assert.equal(refused.code, 1, refused.stderr);
  assert.match(refused.stdout, /Refused: 400 invalid_request\. max_tokens: expected a number, got a string\./);
  assert.doesNotMatch(refused.stdout, /secret words/);
  const unlisted = await runHere([...args, 'safe-x'], { env });
  assert.match(unlisted.stdout, /Refused: 403 model_not_allowed\..*claude: key_models/s);
  const { stdout } = await runHere([...args, 'demo-x', '--json'], { env });
  assert.equal((JSON.parse(stdout) as ShownExplanation).way, 1);
});

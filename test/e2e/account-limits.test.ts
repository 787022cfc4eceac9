/** Limits of accounts on two servers with one database: requests and tokens a minute, and the provider's cost a day and month. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { runHere } from '../support/cli.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { SkewedClock } from '../support/skewed-clock.ts';
import { until } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

let sim: Sim;
let one: TestGateway;
let two: TestGateway;
const clock = new SkewedClock();
const admin = adminApi(() => one.url);
const MODEL = { prices: { input: '3', output: '15' }, cost: { input: '1000000', output: '1000000' } };

before(async () => {
  sim = await startSim();
  const env = { ADMIN_TOKEN, USAGE_FLUSH_MS: '200' };
  one = await startGateway({ env, clock });
  two = await startGateway({ env, clock, database: one.database });
});
after(async () => {
  await two?.stop();
  await one?.stop();
  await sim?.close();
});

interface ShownAccount {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
  readonly until: string | null;
  readonly rpm: number | null;
  readonly cost_day: string | null;
}
const shown = async (id: string): Promise<ShownAccount> =>
  (await admin<{ data: ShownAccount[] }>('GET', '/accounts?limit=100')).body.data.find((one) => one.id === id) ??
  assert.fail(id);

/** The metric names the limit that keeps the account out. Costs are unknown for a moment while calls wait in the journal. */
const isOut = (id: string, limit: string): Promise<boolean> =>
  until('the metric', async () => {
    const metrics = await (await fetch(`${one.url}/metrics`)).text();
    return metrics.includes(`dragoman_account_out{account="${id}",state="limited",cause="${limit}"} 1`);
  });

let groups = 0;
/** A group with the accounts a, b, ... that are used in this order. */
async function openGroup(...accounts: readonly object[]) {
  groups += 1;
  const id = `g${groups}`;
  const keys = await one.apply({
    groups: [{ id, style: 'messages' }],
    accounts: accounts.map((limits, n) => {
      const letter = String.fromCharCode(97 + n);
      const own = { id: `${id}-${letter}`, group: id, api_key: `key-${id}-${letter}`, priority: n };
      return { ...own, base_url: sim.url, ...limits };
    }),
    models: [{ id: 'demo-messages', groups: [id], ...MODEL }],
    users: [{ id: 'ana', balance: '100000' }],
    keys: [{ user: 'ana', group: id }],
  });
  await until('the second server', () => two.catalog().accounts(id).length === accounts.length);
  const key = keys[id] ?? assert.fail();
  const send = (gateway = one): Promise<Response> =>
    fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo-messages', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] }),
    });
  const used = (): string =>
    sim.journal.requests
      .map(({ headers }) => new RegExp(`key-${id}-(.)`).exec(JSON.stringify(headers))?.[1] ?? '')
      .join('');
  return { id, a: `${id}-a`, send, used };
}

test('an account at its requests per minute is skipped, shown with the time and named by doctor, and free a minute later', async () => {
  const group = await openGroup({ rpm: 3 }, {});
  for (let n = 0; n < 5; n++) assert.equal((await group.send()).status, 200);
  assert.equal(group.used(), 'aaabb');
  const { reason, until: free } = await until('the state', async () => {
    const account = await shown(group.a);
    return account.state === 'limited' ? account : undefined;
  });
  assert.equal(reason, 'rpm');
  await isOut(group.a, 'rpm');
  const wait = Date.parse(free ?? '') - clock.now();
  assert.ok(wait > -60_000 && wait <= 60_000, String(wait));
  const { DATABASE_URL, MASTER_KEY, DATA_DIR } = one.context.config;
  const doctor = await runHere(['doctor'], { env: { DATABASE_URL, MASTER_KEY, DATA_DIR } });
  assert.match(doctor.stdout, new RegExp(`${group.a} is at its rpm and takes no calls for`));
  clock.pass(60_000);
  assert.equal((await group.send()).status, 200);
  assert.equal(group.used(), 'aaabba');
});

test('callers read when the only account is free again, and a raised or removed limit applies within moments', async () => {
  const group = await openGroup({ rpm: 1 });
  assert.equal((await group.send()).status, 200);
  const refused = await group.send();
  assert.equal(refused.status, 529);
  assert.ok(Number(refused.headers.get('retry-after')) > 1);
  assert.match(await refused.text(), /at a limit that its operator has set/);
  await admin('PATCH', `/accounts/${group.a}`, { rpm: 2, cost_day: '900000.5' });
  assert.deepEqual([(await shown(group.a)).rpm, (await shown(group.a)).cost_day], [2, '900000.5']);
  const limits = () => one.catalog().accounts(group.id)[0]?.limits;
  await until('the raised limit', () => limits()?.rpm === 2);
  assert.equal((await group.send()).status, 200);
  assert.equal((await group.send()).status, 529);
  await admin('PATCH', `/accounts/${group.a}`, { rpm: null, cost_day: null });
  assert.equal((await shown(group.a)).rpm, null);
  await until('the end of the limits', () => limits() === undefined);
  for (let n = 0; n < 3; n++) assert.equal((await group.send()).status, 200);
});

test('what one server has sent to an account counts on the other within moments', async () => {
  const group = await openGroup({ rpm: 3 }, {});
  for (let n = 0; n < 3; n++) await group.send(one);
  await until('the other server', async () => {
    const before = group.used().length;
    assert.equal((await group.send(two)).status, 200);
    return group.used().slice(before) === 'b';
  });
});

test('tokens of an account count when its replies end', async () => {
  const group = await openGroup({ tpm: 10 }, {});
  for (let n = 0; n < 3; n++) await (await group.send()).arrayBuffer();
  assert.equal(group.used(), 'abb', 'the first reply used more than ten tokens');
  await isOut(group.a, 'tpm');
});

test('an account at its cost of the day is skipped on both servers until the day ends', async () => {
  const group = await openGroup({ cost_day: '1', cost_month: '1000000' }, {});
  await until('a reading of the costs', async () => {
    await group.send();
    return group.used().endsWith('b');
  });
  const account = await until('the state', async () => {
    const found = await shown(group.a);
    return found.state === 'limited' ? found : undefined;
  });
  await isOut(group.a, 'cost_day');
  const midnight = `${new Date(clock.now() + 86_400_000).toISOString().slice(0, 10)}T00:00:00.000Z`;
  assert.deepEqual([account.reason, account.until], ['cost_day', midnight]);
  await until('the other server', async () => {
    const before = group.used().length;
    await group.send(two);
    return group.used().slice(before) === 'b';
  });
  await admin('PATCH', `/accounts/${group.a}`, { cost_day: null });
  await until('the account', async () => {
    const before = group.used().length;
    await group.send();
    return group.used().slice(before) === 'a';
  });
});

test('the configuration file sets, keeps and removes limits of an account, and rejects others', async () => {
  const group = await openGroup({ rpm: 5, tpm: 100, cost_day: '1.5', cost_month: '30' });
  const entry = { id: group.a, group: group.id, base_url: sim.url, api_key: `key-${group.id}-a` };
  await one.apply({ accounts: [entry] });
  assert.equal((await shown(group.a)).cost_day, '1.5');
  await one.apply({ accounts: [{ ...entry, cost_day: null }] });
  assert.deepEqual([(await shown(group.a)).cost_day, (await shown(group.a)).rpm], [null, 5]);
  await assert.rejects(one.apply({ accounts: [{ ...entry, rpm: 0 }] }), /accounts\[0\]\.rpm/);
  await assert.rejects(one.apply({ accounts: [{ ...entry, cost_month: '-1' }] }), /accounts\[0\]\.cost_month/);
});

test('every turn of a relayed WebSocket counts, and one beyond the limit uses another account', async () => {
  const accounts = [{ rpm: 2 }, {}].map((limits, n) => {
    const own = { id: `ws-${n}`, group: 'ws', api_key: `key-ws-${n}`, priority: n };
    return { ...own, base_url: `${sim.url}/v1`, ...limits };
  });
  const { ws = '' } = await one.apply({
    groups: [{ id: 'ws', style: 'responses' }],
    accounts,
    models: [{ id: 'demo-responses', groups: ['ws'], ...MODEL }],
    keys: [{ user: 'ana', group: 'ws' }],
  });
  const client = await new ResponsesSocketClient(one.url, ws).open();
  sim.journal.clear();
  for (let n = 0; n < 3; n++)
    assert.equal((await client.turn({ model: 'demo-responses', input: 'x' })).error, undefined);
  client.socket.close();
  const used = sim.journal.requests.map(({ method, headers }) => [
    method,
    /key-ws-\d/.exec(JSON.stringify(headers))?.[0],
  ]);
  assert.deepEqual(used, [
    ['WS', 'key-ws-0'], // the upgrade
    ['WS', 'key-ws-0'],
    ['WS', 'key-ws-0'],
    ['POST', 'key-ws-1'],
  ]);
});

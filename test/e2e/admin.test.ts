/** The admin API over HTTP: authorization, credits, statements, usage, keys, configuration, audit and validation. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { formatNanos, parseNanos, silentLog } from '../../src/core/index.ts';
import { checkAlarms, checkLedger, hold, newRecordId } from '../../src/ledger/index.ts';
import { ADMIN_ENDPOINTS, ADMIN_OPERATIONS, type AdminOperation, adminRow } from '../../src/rules/index.ts';
import { ADMIN_TOKEN, type AdminResponse, adminApi } from '../support/admin.ts';
import { runHere } from '../support/cli.ts';
import { csvObjects } from '../support/csv.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { FAR_FUTURE } from '../support/ledger-process.ts';
import { longTest } from '../support/long-test.ts';
import { storeTask } from '../support/stored-task.ts';
import { until } from '../support/wait.ts';

const PRICES = { input: '2', cached_input: '0.5', cache_write: '2.5', output: '10' };
const COST = { input: '1', cached_input: '0.25', cache_write: '1.25', output: '5' };

let sim: Sim;
let gateway: TestGateway;
const admin = adminApi(() => gateway.url);
const db = () => gateway.context.database.db;

interface Page<T = Record<string, unknown>> {
  readonly data: T[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}
interface Fault {
  readonly error: { message: string; type: string; code: string; param: string | null };
}

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
  await gateway.apply({
    ...basicSetup(sim.url),
    models: [
      { id: 'demo-messages', groups: ['claude'], prices: PRICES, cost: COST },
      { id: 'demo-responses', groups: ['openai'], prices: PRICES },
      { id: 'demo-*', groups: ['claude', 'gemini'], prices: PRICES },
    ],
  });
});
after(async () => {
  try {
    await checkLedger(db());
  } finally {
    await gateway.stop();
    await sim.close();
  }
});

/** The environment of a CLI command on the same host as the gateway. */
const machine = () => {
  const { DATA_DIR, DATABASE_URL, MASTER_KEY } = gateway.context.config;
  return { DATA_DIR, DATABASE_URL, MASTER_KEY };
};

const userWithKeys = (user: string, balance = '10'): Promise<Record<string, string>> =>
  gateway.apply({
    users: [{ id: user, balance }],
    keys: ['openai', 'claude'].map((group) => ({ user, group })),
  });

async function converse(key: string, model: string): Promise<void> {
  const response = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content: 'hello there' }] }),
  });
  assert.equal(response.status, 200, await response.text());
}

const recorded = (user: string, count: number) =>
  until(`${count} calls of ${user} to be recorded`, async () => {
    const { body } = await admin<Page>('GET', `/records?user=${user}`);
    return body.data.length >= count && body.data;
  });

/** Reads all pages of a list and calls `between` after each page. */
async function pages<T>(path: string, between: (n: number) => Promise<unknown> = async () => {}): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | null = null;
  for (let n = 0; n === 0 || cursor !== null; n++) {
    const query = new URLSearchParams({ limit: '2', ...(cursor !== null && { cursor }) });
    const response: AdminResponse<Page<T>> = await admin('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`);
    assert.equal(response.status, 200, response.text);
    assert.ok(response.body.data.length <= 2);
    assert.equal(response.body.has_more, response.body.next_cursor !== null);
    all.push(...response.body.data);
    cursor = response.body.next_cursor;
    await between(n);
  }
  return all;
}

/** Reads a list at once and by pages. Undefined when it changed meanwhile: charges and leases change balances in the background. */
async function readBothWays(path: string): Promise<{ all: unknown[]; paged: unknown[] } | undefined> {
  const readAll = async (): Promise<unknown[]> =>
    (await admin<Page>('GET', `${path}${path.includes('?') ? '&' : '?'}limit=1000`)).body.data;
  const all = await readAll();
  const paged = await pages(path);
  return isDeepStrictEqual(await readAll(), all) ? { all, paged } : undefined;
}

const filled = (path: string): string => path.slice('/admin/v1'.length).replaceAll(/\{\w+\}/g, 'none');

test('admin API rejects every operation without the admin token, and the token is not an API key', async () => {
  const own = await userWithKeys('guest');
  const wrong: Record<string, string>[] = [
    { authorization: '' },
    { authorization: 'Bearer' },
    { authorization: `Bearer ${ADMIN_TOKEN}x` },
    { authorization: `Basic ${Buffer.from(`admin:${ADMIN_TOKEN}`).toString('base64')}` },
    { authorization: `Bearer ${own.claude}` },
    { authorization: '', 'x-api-key': ADMIN_TOKEN },
  ];
  for (const operation of ADMIN_OPERATIONS) {
    const { method, path } = adminRow(operation);
    for (const headers of wrong) {
      const { status, body } = await admin<Fault>(method, filled(path), method === 'GET' ? undefined : {}, headers);
      assert.equal(status, 401, `${operation} with ${JSON.stringify(headers)}`);
      assert.equal(body.error.code, 'invalid_admin_token');
      assert.deepEqual(Object.keys(body.error), ['message', 'type', 'code', 'param']);
    }
  }
  const { status } = await admin('GET', `/users?key=${ADMIN_TOKEN}`, undefined, { authorization: '' });
  assert.equal(status, 401, 'a token in the query is ignored');
  for (const header of ['authorization', 'x-api-key']) {
    const value = header === 'authorization' ? `Bearer ${ADMIN_TOKEN}` : ADMIN_TOKEN;
    const response = await fetch(`${gateway.url}/v1/models`, { headers: { [header]: value } });
    assert.equal(response.status, 401, 'the admin token is not an API key');
    assert.match(await response.text(), /invalid_api_key/);
  }
  await gateway.apply({ keys: [{ user: 'guest', group: 'claude', name: 'same', key: ADMIN_TOKEN }] });
  const same = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
  assert.equal(same.status, 401, 'not even when a key has the same value');
  await assert.rejects(
    gateway.apply({ keys: [{ user: 'guest', group: 'claude', name: 'made', key: `dga-${'x'.repeat(43)}` }] }),
    /keys\[0\]\.key/,
  );
});

test('admin API returns 429 with retry-after when an address fails authentication too often', async () => {
  const other = await startGateway({
    database: gateway.database,
    env: { ADMIN_TOKEN, AUTH_FAILURES_PER_MINUTE: '3' },
  });
  try {
    const guess = adminApi(() => other.url, 'a-wrong-admin-token-value');
    // A minute may end during the loop; the count then starts again.
    const statuses: number[] = [];
    let last: AdminResponse<unknown> | undefined;
    while (statuses.length < 8 && statuses.at(-1) !== 429) {
      last = await guess('GET', '/groups');
      statuses.push(last.status);
    }
    assert.deepEqual(statuses.slice(0, 3), [401, 401, 401]);
    assert.equal(statuses.at(-1), 429);
    assert.ok(Number(last?.headers.get('retry-after')) >= 1);
    const right = await adminApi(() => other.url, ADMIN_TOKEN)('GET', '/groups');
    assert.equal(right.status, 200, 'the right token passes');
  } finally {
    await other.stop();
  }
});

test('admin token is created once without ADMIN_TOKEN, stored sealed, and rotated by the CLI', async () => {
  const env = machine();
  const other = await startGateway({ database: gateway.database });
  try {
    const status = async (token: string) => (await adminApi(() => other.url, token)('GET', '/groups')).status;
    assert.equal(await status(ADMIN_TOKEN), 401, 'no token exists yet');
    const first = await runHere(['admin', 'token'], { env });
    const made = first.stdout.trim();
    assert.match(made, /^dga-\w{43}$/);
    assert.equal(await status(made), 200);
    const again = await runHere(['admin', 'token'], { env });
    assert.equal(again.code, 1);
    assert.equal(again.stdout, '');
    const rotated = (await runHere(['admin', 'token', '--rotate'], { env })).stdout.trim();
    assert.deepEqual([await status(made), await status(rotated)], [401, 200]);
    const { rows } = await sql<{ sealed: string }>`select sealed from secrets where name = 'admin-token'`.execute(db());
    assert.match(rows[0]?.sealed ?? '', /^v1:k1:/);
    const rejected = await runHere(['admin', 'token', '--rotate'], { env: { ...env, ADMIN_TOKEN } });
    assert.equal(rejected.code, 1);
    const { body } = await admin<Page<{ actor: string }>>('GET', '/audit?subject=token');
    assert.deepEqual(
      body.data.map(({ actor }) => actor),
      ['cli', 'cli'],
    );
  } finally {
    await other.stop();
  }
});

test('credits are booked once when twenty requests share a reference, and all responses are equal', async () => {
  await userWithKeys('payer', '1');
  const credit = { user: 'payer', amount: '12.50', reason: 'invoice 7', reference: 'pay-7' };
  const responses = await Promise.all(Array.from({ length: 20 }, () => admin('POST', '/credits', credit)));
  assert.deepEqual(responses.map(({ status }) => status).toSorted(), [...Array(19).fill(200), 201]);
  assert.equal(new Set(responses.map(({ text }) => text)).size, 1);
  assert.equal(responses[0]?.body.amount, '12.5');
  const { body } = await admin('GET', '/users/payer/balance');
  assert.deepEqual([body.available, body.credits], ['13.5', '13.5']);
  for (const [name, value] of Object.entries({ amount: '12.51', reason: 'other', user: 'ana', kind: 'refund' })) {
    const { status, body } = await admin<Fault>('POST', '/credits', { ...credit, [name]: value });
    assert.deepEqual([status, body.error.code, body.error.param], [409, 'conflict', 'reference'], name);
  }
  assert.equal((await admin('GET', '/users/payer/balance')).body.available, '13.5');
  const { body: lines } = await admin<Page>('GET', '/audit?subject=user:payer&action=credit.booked');
  assert.equal(lines.data.length, 1);
});

test('adjustment may take a balance below zero, and a refund is booked against revenue', async () => {
  await userWithKeys('fixed', '1');
  const book = (more: object) => admin('POST', '/credits', { user: 'fixed', reason: 'because', ...more });
  assert.equal((await book({ amount: '-1.25', reference: 'fix-1' })).status, 201);
  assert.equal((await admin('GET', '/users/fixed/balance')).body.available, '-0.25');
  assert.equal((await book({ amount: '2', kind: 'refund', reference: 'fix-2' })).body.kind, 'refund');
  const { rows } = await sql<{ debit: string; credit: string }>`
    select debit, credit from entries where reference in ('credit:fix-1', 'credit:fix-2') order by id`.execute(db());
  assert.deepEqual(rows, [
    { debit: 'fixed', credit: '@adjustment' },
    { debit: '@revenue', credit: 'fixed' },
  ]);
  const { body } = await admin<Page<{ user: string }>>('GET', '/balances?below=1.76&user=fixed');
  assert.deepEqual(
    body.data.map(({ user }) => user),
    ['fixed'],
  );
  assert.equal((await admin<Page>('GET', '/balances?below=1.75&user=fixed')).body.data.length, 0);
});

const cursorOf = (...values: string[]): string => Buffer.from(JSON.stringify(values)).toString('base64url');

test('admin API validates bodies and queries strictly and names the field', async () => {
  const credit = { user: 'ana', amount: '1', reason: 'r', reference: 'strict' };
  const cases: [string, string, unknown, string | null, number?][] = [
    ['POST', '/credits', { ...credit, amount: 1 }, 'amount'],
    ['POST', '/credits', { ...credit, amount: '0' }, 'amount'],
    ['POST', '/credits', { ...credit, amount: '1e3' }, 'amount'],
    ['POST', '/credits', { ...credit, amount: '0.0000000001' }, 'amount'],
    ['POST', '/credits', { ...credit, amount: '99999999999' }, 'amount'],
    ['POST', '/credits', { ...credit, amount: '-1', kind: 'payment' }, 'amount'],
    ['POST', '/credits', { ...credit, reason: '' }, 'reason'],
    ['POST', '/credits', { ...credit, reason: 'two\nlines' }, 'reason'],
    ['POST', '/credits', { ...credit, reason: 'a\u0000b' }, null],
    ['POST', '/credits', { ...credit, reason: 'half \ud800' }, null],
    ['POST', '/credits', { ...credit, extra: 1 }, 'extra'],
    ['POST', '/credits', { ...credit, reference: undefined }, 'reference'],
    ['POST', '/credits', { ...credit, user: 'unknown' }, 'user', 404],
    ['POST', '/credits', [], null],
    ['POST', '/credits', '{', null],
    ['POST', '/credits', '', 'user'],
    ['POST', '/users', { id: 'a b' }, 'id'],
    ['POST', '/users', { id: 'ok', balance: '5' }, 'balance'],
    ['POST', '/users', { id: 'ana' }, 'id', 409],
    ['PATCH', '/users/ana', {}, null],
    ['PATCH', '/users/ana', { multiplier: '0.0000001' }, 'multiplier'],
    ['PATCH', '/users/unknown', { multiplier: '2' }, null, 404],
    ['POST', '/keys', { user: 'ana', group: 'nowhere' }, 'group', 404],
    ['POST', '/keys', { user: 'unknown', group: 'claude' }, 'user', 404],
    ['POST', '/keys', { user: 'ana', group: 'claude', key: 'one-of-my-own-choosing' }, 'key'],
    ['POST', '/keys', { user: 'ana', group: 'claude', name: 'test' }, 'name', 409],
    ['PATCH', '/keys/key_none', { rpm: 5 }, null, 404],
    ['PATCH', '/keys/key_none', { rpm: 0 }, 'rpm'],
    ['POST', '/keys/key_none/revoke', {}, null, 404],
    ['POST', '/keys/key_none/rotate', { overlap_seconds: -1 }, 'overlap_seconds'],
    ['POST', '/quarantine/none/dismiss', { reason: 'x' }, null, 404],
    ['PUT', '/config', { groups: [{ id: 'x', style: 'nonsense' }] }, 'groups[0].style'],
    ['PUT', '/config', 'groups: [', null],
    ['PUT', '/config', `# ${'x'.repeat(2 ** 21)}`, null, 413],
    [
      'PUT',
      '/config',
      { accounts: [{ id: 'x', group: 'none', base_url: 'http://x', api_key: 'k' }] },
      'accounts[0].group',
    ],
    ['GET', '/users?nonsense=1', undefined, 'nonsense'],
    ['GET', '/users?limit=0', undefined, 'limit'],
    ['GET', '/users?limit=1001', undefined, 'limit'],
    ['GET', '/users?limit=1&limit=2', undefined, 'limit'],
    ['GET', '/users?cursor=x', undefined, 'cursor'],
    ['GET', `/users?cursor=${cursorOf('\0')}`, undefined, 'cursor'],
    ['GET', '/audit?cursor=WyJ4Il0', undefined, 'cursor'],
    ['GET', `/quarantine?cursor=${cursorOf('2026-02-31 00:00:00', 'x')}`, undefined, 'cursor'],
    ['GET', `/quarantine?cursor=${cursorOf('0000-01-01T00:00:00.000Z', 'x')}`, undefined, 'cursor'],
    ['GET', `/quarantine?cursor=${cursorOf('2026-01-01 00:00:00+99', 'x')}`, undefined, 'cursor'],
    ['GET', `/records?cursor=${cursorOf('2026-01-01T00:00:00.000Z', '\0')}`, undefined, 'cursor'],
    ['GET', `/records?cursor=${cursorOf('2026-02-31T00:00:00.000Z', 'x')}`, undefined, 'cursor'],
    ['GET', '/records?cursor=WyJ4IiwieSJd', undefined, 'cursor'],
    ['GET', '/usage?by=user,colour', undefined, 'by'],
    ['GET', '/usage?by=user,user', undefined, 'by'],
    ['GET', '/usage?start_date=2026-02-30', undefined, 'start_date'],
    ['GET', '/usage?start_date=2020-01-01&end_date=2026-01-01', undefined, 'start_date'],
    ['GET', '/records?start=yesterday', undefined, 'start'],
    ['GET', '/balances?below=much', undefined, 'below'],
    ['GET', '/users/unknown/balance', undefined, null, 404],
    ['GET', '/users/unknown/statement', undefined, null, 404],
    ['GET', '/users/unknown/statement?format=csv', undefined, null, 404],
  ];
  for (const [method, path, body, param, status = 400] of cases) {
    const response = await admin<Fault>(method, path, body);
    const about = `${method} ${path} ${JSON.stringify(body)}: ${response.text}`;
    assert.equal(response.status, status, about);
    assert.equal(response.body.error.param, param, about);
    assert.ok(response.body.error.message.length > 10, about);
  }
  const { rows } = await sql<{
    n: bigint;
  }>`select count(*) as n from entries where reference = 'credit:strict'`.execute(db());
  assert.equal(rows[0]?.n, 0n);
});

test('statement adds up to the wallet balance, in one page or many, as JSON and CSV', async () => {
  const own = await userWithKeys('story', '5');
  const book = (n: number, amount: string, reason = `step ${n}`) =>
    admin('POST', '/credits', { user: 'story', amount, reason, reference: `story-${n}` });
  await book(1, '3.000000001');
  await book(2, '-0.5', '=HYPERLINK("http://x","a, b")');
  await converse(own.claude ?? '', 'demo-messages');
  await recorded('story', 1);
  await book(3, '0.1', '-1+1');
  interface Line extends Record<string, string | null> {
    amount: string;
    balance: string;
    kind: string;
  }
  const { body } = await admin<Page<Line>>('GET', '/users/story/statement');
  const lines = body.data;
  assert.deepEqual(
    lines.map(({ kind }) => kind),
    ['credit', 'usage', 'charge', 'credit', 'credit'],
  );
  let balance = 0n;
  for (const line of lines.toReversed()) {
    balance += parseNanos(line.amount) ?? 0n;
    assert.equal(line.balance, formatNanos(balance));
  }
  const wallet = (await admin('GET', '/users/story/balance')).body;
  assert.equal(formatNanos(balance), wallet.available);
  assert.deepEqual(lines.at(-1)?.reference, 'open:story');
  assert.deepEqual(lines[0]?.reference, 'story-3', 'the reference is unchanged');

  const booking = (n: number): Promise<unknown> => book(100 + n, '1');
  assert.deepEqual(
    await pages<Line>('/users/story/statement', booking),
    lines,
    'entries booked meanwhile do not shift the pages',
  );

  const csv = await admin('GET', `/users/story/statement?format=csv&end=${lines[0]?.at}`);
  assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8');
  const rows = csvObjects(csv.text);
  assert.deepEqual(
    rows.map((row) => [row.entry, row.amount, row.balance]),
    lines.slice(1).map((line) => [line.entry, line.amount, line.balance]),
  );
  assert.equal(rows[1]?.reason, `'=HYPERLINK("http://x","a, b")`, 'the formula is escaped');
  const period = await admin<Page<Line>>('GET', `/users/story/statement?start=${lines[0]?.at}&limit=1000`);
  assert.ok(period.body.data.some(({ reason }) => reason === '-1+1'));
  assert.ok(!period.body.data.some(({ reference }) => reference === 'story-1'));
});

test('usage report equals GET /v1/usage and the charged entries; cost and margin are null when unknown', async () => {
  const own = await userWithKeys('seller');
  for (let n = 0; n < 3; n++) await converse(own.claude ?? '', 'demo-messages');
  await converse(own.openai ?? '', 'demo-responses');
  await recorded('seller', 4);
  interface Line {
    requests: number;
    revenue: string;
    cost: string | null;
    margin: string | null;
    known_cost: string;
    unknown_cost_requests: number;
    model?: string;
    input_tokens: number;
    output_tokens: number;
  }
  type Report = Page<Line> & { total: Line };
  const { body } = await admin<Report>('GET', '/usage?by=model&user=seller');
  const ownUsage = (await (
    await fetch(`${gateway.url}/v1/usage`, { headers: { authorization: `Bearer ${own.claude}` } })
  ).json()) as { total: { requests: number; cost: string; input_tokens: number; output_tokens: number } };
  const { total } = body;
  assert.deepEqual(
    [total.requests, total.revenue, total.input_tokens, total.output_tokens],
    [ownUsage.total.requests, ownUsage.total.cost, ownUsage.total.input_tokens, ownUsage.total.output_tokens],
  );
  const { rows } = await sql<{ nanos: bigint }>`
    select sum(nanos)::bigint as nanos from entries where debit = 'seller' and kind in ('usage', 'overdraft')`.execute(
    db(),
  );
  assert.equal(total.revenue, formatNanos(rows[0]?.nanos ?? 0n));
  const [known, unknown] = body.data;
  assert.deepEqual([known?.model, unknown?.model], ['demo-messages', 'demo-responses']);
  const half = formatNanos((parseNanos(known?.revenue ?? '') ?? 0n) / 2n);
  assert.deepEqual([known?.cost, known?.margin, known?.unknown_cost_requests], [half, half, 0]);
  assert.deepEqual([unknown?.cost, unknown?.margin, unknown?.unknown_cost_requests], [null, null, 1]);
  assert.deepEqual([total.cost, total.margin, total.known_cost, total.unknown_cost_requests], [null, null, half, 1]);

  const by = 'user,key,model,group,account,operation,day';
  const fine = await pages<Line>(`/usage?by=${by}`);
  const sum = (lines: readonly { revenue: string }[]) =>
    formatNanos(lines.reduce((all, { revenue }) => all + (parseNanos(revenue) ?? 0n), 0n));
  const whole = (await admin<Report>('GET', '/usage')).body.total;
  assert.equal(sum(fine), whole.revenue);
  const csv = csvObjects((await admin('GET', `/usage?by=${by}&format=csv`)).text);
  assert.deepEqual(
    csv.map((row) => [row.user, row.model, row.requests, row.revenue, row.margin]),
    fine.map((line) => {
      const { user } = line as unknown as { user: string };
      return [user, line.model, String(line.requests), line.revenue, line.margin ?? ''];
    }),
  );
  const { body: filtered } = await admin<Report>(
    'GET',
    '/usage?by=operation&user=seller&account=cl1&operation=messages.create',
  );
  assert.equal(filtered.total.requests, 3);
  assert.equal((await admin<Report>('GET', '/usage?user=unknown')).body.total.requests, 0);
});

test('usage records are found by request id, with charge and cost', async () => {
  const own = await userWithKeys('asker');
  const response = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own.claude}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-messages', max_tokens: 9, messages: [{ role: 'user', content: 'which?' }] }),
  });
  await response.text();
  await converse(own.claude ?? '', 'demo-messages');
  await recorded('asker', 2);
  const request = response.headers.get('x-request-id');
  const { body } = await admin<Page<Record<string, string>>>('GET', `/records?request_id=${request}`);
  assert.equal(body.data.length, 1);
  const [record] = body.data;
  assert.deepEqual([record?.user, record?.model, record?.account], ['asker', 'demo-messages', 'cl1']);
  assert.equal(parseNanos(record?.charge ?? ''), 2n * (parseNanos(record?.cost ?? '') ?? 0n));
  const { body: none } = await admin<Page>('GET', `/records?request_id=${request}&user=ana`);
  assert.equal(none.data.length, 0);
  assert.equal((await admin<Page>('GET', '/records?user=asker&end=2020-01-01')).body.data.length, 0);
});

longTest(
  'CSV exports that the client does not read block neither charges nor other requests, and are limited',
  async () => {
    const own = await userWithKeys('waiting');
    await sql`
    insert into usage_daily select 'long-' || n, date '2026-01-01', 'key_1', 'g', repeat('m', 100), 'a', 'o',
      1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1 from generate_series(1, 60000) n`.execute(db());
    const path = '/usage?by=user,key,model,group,account,operation,day&start_date=2026-01-01&end_date=2026-01-01';
    const download = () => {
      const controller = new AbortController();
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const begun = fetch(`${gateway.url}/admin/v1${path}&format=csv`, { headers, signal: controller.signal });
      return { begun, controller };
    };
    const stalled = [download(), download()];
    // Both responses have begun; their bodies are not read.
    for (const { begun } of stalled) assert.equal((await begun).status, 200);
    const third = await admin<Fault>('GET', `${path}&format=csv`);
    assert.deepEqual([third.status, third.body.error.code], [429, 'rate_limit_exceeded']);
    await converse(own.claude ?? '', 'demo-messages');
    await recorded('waiting', 1);
    const booked = await admin('POST', '/credits', { user: 'waiting', amount: '1', reason: 'r', reference: 'waiting' });
    assert.equal(booked.status, 201);
    for (const { controller } of stalled) controller.abort();
    const whole = await until('a free export slot', async () => {
      const response = await admin('GET', `${path}&format=csv`);
      return response.status === 200 ? response.text : '';
    });
    assert.equal(csvObjects(whole).length, 60_000);
    await sql`delete from usage_daily where user_id like 'long-%'`.execute(db());
  },
);

test('pagination returns every row once while rows are added', async () => {
  await admin('POST', '/users', { id: 'page-0' });
  for (let n = 1; n < 7; n++) await admin('POST', '/users', { id: `page-${n}` });
  const before = (await admin<Page<{ id: string }>>('GET', '/users?limit=1000')).body.data.map(({ id }) => id);
  const ids = (await pages<{ id: string }>('/users', (n) => admin('POST', '/users', { id: `page-2-${n}` }))).map(
    ({ id }) => id,
  );
  assert.equal(new Set(ids).size, ids.length, 'no duplicates');
  assert.deepEqual(
    ids.filter((id) => before.includes(id)),
    before,
    'none missing, same order',
  );
  const own = await userWithKeys('paged');
  for (let n = 0; n < 5; n++) await converse(own.claude ?? '', 'demo-messages');
  const old = await recorded('paged', 5);
  const seen = await pages('/records?user=paged', () => converse(own.claude ?? '', 'demo-messages'));
  assert.deepEqual(seen, old);
  for (const path of [
    '/groups',
    '/accounts',
    '/models',
    '/prices',
    '/keys',
    '/balances',
    '/audit?action=user.created',
  ]) {
    const { all, paged } = await until(`${path} to stay unchanged`, () => readBothWays(path));
    assert.ok(all.length > 2, path);
    assert.deepEqual(paged, all, path);
  }
});

test('API keys are created, used, limited, rotated with an overlap and revoked', async () => {
  const user = await admin('POST', '/users', { id: 'holder', multiplier: '0.5', rpm: 50 });
  assert.deepEqual([user.body.multiplier, user.body.rpm], ['0.5', 50]);
  const limited = await admin('PATCH', '/users/holder', { rpm: null, spend_day: '5', email: 'h@example.test' });
  assert.deepEqual(
    [limited.body.rpm, limited.body.spend_day, limited.body.multiplier, limited.body.email],
    [undefined, '5', '0.5', 'h@example.test'],
  );
  const made = await admin('POST', '/keys', {
    user: 'holder',
    group: 'claude',
    name: 'ci',
    rpm: 100,
    models: ['demo-*'],
  });
  assert.equal(made.status, 201);
  const status = async (key: unknown): Promise<number> =>
    (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
  assert.equal(await status(made.body.value), 200);
  const key = `/keys/${made.body.id}`;
  const changed = await admin('PATCH', key, { rpm: null, concurrency: 3, expires_at: '2090-01-01T00:00:00Z' });
  assert.deepEqual([changed.body.rpm, changed.body.concurrency, changed.body.models], [undefined, 3, ['demo-*']]);
  const rotated = await admin<{
    id: string;
    value: string;
    name: string;
    concurrency: number;
    replaces: { id: string };
  }>('POST', `${key}/rotate`, { overlap_seconds: 3600 });
  assert.equal(rotated.status, 201);
  assert.deepEqual([rotated.body.name, rotated.body.concurrency, rotated.body.replaces.id], ['ci', 3, made.body.id]);
  assert.deepEqual(
    [await status(made.body.value), await status(rotated.body.value)],
    [200, 200],
    'both are valid during the overlap',
  );
  const again = await admin<{ id: string; value: string }>('POST', `/keys/${rotated.body.id}/rotate`, {});
  await until('the key without an overlap to expire', async () => (await status(rotated.body.value)) === 401);
  assert.equal(await status(again.body.value), 200);
  assert.equal((await admin('POST', `/keys/${rotated.body.id}/rotate`, {})).status, 409, 'the key has expired');
  assert.equal((await admin('POST', `/keys/${again.body.id}/revoke`, { reason: 'lost' })).body.state, 'revoked');
  await until('the revoked key to be rejected', async () => (await status(again.body.value)) === 401);
  const { body } = await admin<Page<{ state: string }>>('GET', '/keys?user=holder');
  assert.deepEqual(body.data.map(({ state }) => state).toSorted(), ['expired', 'revoked', 'valid']);
});

test('a rotated key keeps what was spent under its limits', async () => {
  await userWithKeys('spender', '100');
  const made = await admin<{ id: string; value: string }>('POST', '/keys', {
    user: 'spender',
    group: 'claude',
    name: 'app',
    spend_day: '0.0005',
  });
  const send = async (key: string): Promise<number> => {
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo-messages', max_tokens: 1, messages: [{ role: 'user', content: 'hello' }] }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  let status = await send(made.body.value);
  assert.equal(status, 200);
  for (let n = 0; n < 100 && status === 200; n += 1) status = await send(made.body.value);
  assert.equal(status, 429, 'the limit of the day is reached');
  const spent = async (key: string): Promise<string | undefined> => {
    const response = await fetch(`${gateway.url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
    return ((await response.json()) as { limits: { spent_day?: string } }).limits.spent_day;
  };
  let key = made.body;
  for (let n = 0; n < 2; n += 1) {
    key = (await admin<{ id: string; value: string }>('POST', `/keys/${key.id}/rotate`, { overlap_seconds: 60 })).body;
    assert.equal(await send(key.value), 429, 'the new key goes on where the old one stopped');
    const amount = await until('the usage to be recorded', async () => Number(await spent(key.value)));
    assert.ok(amount <= 0.0005, `${amount}`);
  }
});

test('PUT /config reports changes in a dry run and then applies the same document', async () => {
  const yaml =
    'groups:\n  - { id: later, style: messages }\nusers:\n  - { id: configured, balance: "3" }\nkeys:\n  - { user: configured, group: later }\n';
  const put = (query: string) =>
    admin<{ changes: object[]; keys: { value: string }[] }>('PUT', `/config${query}`, yaml, {
      'content-type': 'application/yaml',
    });
  const dry = await put('?dry_run=true');
  assert.deepEqual([dry.status, dry.body.changes.length, dry.body.keys], [200, 3, []]);
  assert.equal((await admin<Page>('GET', '/users?user=configured')).body.data.length, 0);
  const real = await put('');
  assert.deepEqual(real.body.changes, dry.body.changes);
  assert.match(real.body.keys[0]?.value ?? '', /^dg-/);
  assert.equal((await admin('GET', '/users/configured/balance')).body.available, '3');
  assert.deepEqual((await put('')).body.changes, [], 'applying it again changes nothing');
});

/** Inserts a quarantined usage record, as the flusher does for impossible counts. */
async function quarantineRecord(userId: string): Promise<string> {
  const id = newRecordId();
  const raw = JSON.stringify({ id, userId, model: 'm', usage: { input: -1 }, nanos: '5' });
  await db().insertInto('usage_quarantine').values({ id, fault: 'input is negative', raw }).execute();
  return id;
}

test('quarantined usage record is charged or dismissed once, with a reason', async () => {
  await userWithKeys('doubtful', '1');
  const [one, two, three] = [
    await quarantineRecord('doubtful'),
    await quarantineRecord('doubtful'),
    await quarantineRecord('gone'),
  ];
  const open = async () => (await pages<{ id: string }>('/quarantine')).map(({ id }) => id);
  assert.deepEqual((await open()).toSorted(), [one, two, three].toSorted());
  const resolve = (id: string) => admin('POST', `/quarantine/${id}/resolve`, { amount: '0.25', reason: 'by the bill' });
  const responses = await Promise.all([resolve(one), resolve(one), resolve(one)]);
  assert.deepEqual(responses.map(({ status }) => status).toSorted(), [200, 409, 409]);
  assert.equal((await admin('GET', '/users/doubtful/balance')).body.available, '0.75');
  assert.equal((await admin('POST', `/quarantine/${two}/dismiss`, { reason: 'a test' })).body.outcome, 'dismissed');
  assert.equal((await resolve(three)).status, 409, 'its user does not exist');
  assert.equal((await resolve(two)).status, 409);
  assert.deepEqual(await open(), [three]);
  const usage = await admin<Page<{ requests: number; revenue: string }>>('GET', '/usage?by=user&user=doubtful');
  assert.deepEqual(
    usage.body.data.map(({ requests, revenue }) => [requests, revenue]),
    [[1, '0.25']],
    'reports include what was charged',
  );
  assert.equal((await admin<Page>('GET', '/quarantine?state=charged')).body.data.length, 1);
  assert.equal((await admin('GET', '/users/doubtful/balance')).body.available, '0.75');
});

test('GET /alarms lists active alarms with advice', async () => {
  const id = await quarantineRecord('ana');
  await checkAlarms(db(), silentLog);
  const { body } = await admin<Page<{ name: string; count: number; advice: string }>>('GET', '/alarms');
  const alarm = body.data.find(({ name }) => name === 'usage_quarantined');
  assert.ok(alarm && alarm.count > 0 && alarm.advice.includes('/admin/v1/quarantine'));
  await admin('POST', `/quarantine/${id}/dismiss`, { reason: 'seen' });
});

/** One valid request for each operation that changes something. */
const WRITES: Record<
  Exclude<AdminOperation, Extract<AdminOperation, ReadOperation | 'admin.explain'>>,
  () => Promise<[path: string, body: unknown]>
> = {
  'admin.credit': async () => ['/credits', { user: 'ana', amount: '1', reason: 'r', reference: 'audited' }],
  'admin.createUser': async () => ['/users', { id: 'audited' }],
  'admin.changeUser': async () => ['/users/audited', { multiplier: '3' }],
  'admin.invitePerson': async () => ['/people', { email: 'audited@example.test', role: 'operator' }],
  'admin.changePerson': async () => [`/people/${await personOf()}`, { name: 'A' }],
  'admin.resetPerson': async () => [`/people/${await personOf()}/reset`, {}],
  'admin.signOutPerson': async () => [`/people/${await personOf()}/sign-out`, {}],
  'admin.createKey': async () => ['/keys', { user: 'audited', group: 'claude' }],
  'admin.changeKey': async () => [`/keys/${await keyOf('audited')}`, { rpm: 7 }],
  'admin.captureKey': async () => [`/keys/${await keyOf('audited')}/capture`, { hours: 1 }],
  'admin.rotateKey': async () => [`/keys/${await keyOf('audited')}/rotate`, { overlap_seconds: 60 }],
  'admin.revokeKey': async () => [`/keys/${await keyOf('audited')}/revoke`, {}],
  'admin.eraseUser': async () => ['/users/audited/erase', { dry_run: false, confirm: 'audited' }],
  'admin.resolveRecord': async () => [
    `/quarantine/${await quarantineRecord('ana')}/resolve`,
    { amount: '0.1', reason: 'r' },
  ],
  'admin.dismissRecord': async () => [`/quarantine/${await quarantineRecord('ana')}/dismiss`, { reason: 'r' }],
  'admin.settleReview': async () => [
    `/reviews/${await taskInReview('task_billed')}/settle`,
    { tokens: 9, reason: 'r' },
  ],
  'admin.releaseReview': async () => [`/reviews/${await taskInReview('task_unbilled')}/release`, { reason: 'r' }],
  'admin.assignTask': async () => {
    const account = { id: 'ark1', group: 'ep', base_url: sim.video.url, api_key: 'sk-simulated' };
    await gateway.apply({ groups: [{ id: 'ep', style: 'video', variant: 'EP' }], accounts: [account] });
    const response = await fetch(`${sim.video.url}/contents/generations/tasks`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-simulated' },
      body: JSON.stringify({ model: 'demo-video-2-0-ep', content: [{ type: 'text', text: 'A lamp' }] }),
    });
    const { id } = (await response.json()) as { id: string };
    return [`/submissions/${await unknownTask('task_assigned')}/assign`, { upstream_task: id, reason: 'r' }];
  },
  'admin.dismissTask': async () => [`/submissions/${await unknownTask('task_dismissed')}/dismiss`, { reason: 'r' }],
  'admin.deleteObject': async () => {
    await sql`insert into conversations (user_id, id, expires_at) values ('ana', 'conv_audited', now() + interval '1 day')`.execute(
      db(),
    );
    return ['/users/ana/objects/conv_audited', undefined];
  },
  'admin.redeliverCallback': async () => [`/callbacks/${await deadCallback('evt_dead')}/redeliver`, {}],
  'admin.testCallback': async () => {
    // The stored secret is invalid, so nothing is sent. The attempt is audited anyway.
    const callback_url = 'https://hooks.host.net/';
    await storeTask(db(), { user_id: 'ana', id: 'task_tested', callback_url });
    return ['/callbacks/test', { user: 'ana', task: 'task_tested' }];
  },
  'admin.parkAccount': async () => ['/accounts/cl1/park', { reason: 'r' }],
  'admin.drainAccount': async () => ['/accounts/cl1/drain', {}],
  'admin.resumeAccount': async () => ['/accounts/cl1/resume', {}],
  'admin.testAccount': async () => ['/accounts/cl1/test', {}],
  'admin.changeAccount': async () => ['/accounts/cl1', { priority: 0, weight: 2 }],
  'admin.importPrices': async () => {
    await gateway.apply({ models: [{ id: 'gpt-4o-mini', groups: ['openai'] }] });
    const body = { group: 'openai', model: 'gpt-4o-mini' };
    await gateway.apply({ models: [{ id: 'gpt-4o-mini', groups: ['openai'], free: false }] });
    const { plan } = (await admin<{ plan: string }>('POST', '/prices/import?dry_run=true', body)).body;
    return ['/prices/import', { ...body, plan }];
  },
  'admin.createCharacter': async () => {
    await gateway.apply({ groups: [{ id: 'ep', style: 'video', variant: 'EP' }] });
    return ['/characters', { id: 'audited', group: 'ep', models: ['m'], upstream_asset: 'asset-1', name: 'A' }];
  },
  'admin.changeCharacter': async () => ['/characters/audited', { tags: ['studio'] }],
  'admin.publishCharacter': async () => ['/characters/audited/publish', {}],
  'admin.unpublishCharacter': async () => ['/characters/audited/unpublish', {}],
  'admin.uploadPreview': async () => [
    '/characters/audited/preview',
    { data: Buffer.from('89504e470d0a1a0a', 'hex').toString('base64') },
  ],
  'admin.deletePreview': async () => ['/characters/audited/preview', undefined],
  'admin.deleteCharacter': async () => ['/characters/audited', undefined],
  'admin.createWarning': async () => ['/warnings', { kind: 'balance', amount: '5' }],
  'admin.changeWarning': async () => [`/warnings/${await firstOf('/warnings')}`, { amount: '6' }],
  'admin.deleteWarning': async () => [`/warnings/${await firstOf('/warnings')}`, undefined],
  'admin.createDestination': async () => ['/warning-destinations', { kind: 'slack', url: 'http://127.0.0.1:9/' }],
  'admin.changeDestination': async () => [
    `/warning-destinations/${await firstOf('/warning-destinations')}`,
    { name: 'A' },
  ],
  // The address is private, so that nothing is sent. The attempt is audited anyway.
  'admin.testDestination': async () => [`/warning-destinations/${await firstOf('/warning-destinations')}/test`, {}],
  'admin.deleteDestination': async () => [`/warning-destinations/${await firstOf('/warning-destinations')}`, undefined],
  'admin.applyConfig': async () => ['/config', { users: [{ id: 'audited-2' }] }],
};

const firstOf = async (list: string): Promise<string> =>
  (await admin<Page<{ id: string }>>('GET', list)).body.data[0]?.id ?? '';
const personOf = (): Promise<string> => firstOf('/people');

/** A video task without usage, whose model has a price. */
async function taskInReview(id: string): Promise<string> {
  await gateway.apply({
    groups: [{ id: 'ep', style: 'video', variant: 'EP' }],
    models: [{ id: 'demo-video-2-0-ep', groups: ['ep'], prices: { video: '7', video_with_video_input: '4' } }],
  });
  await hold(db(), { userId: 'ana', nanos: 1_000_000n, reference: `task:${id}`, checkAfter: FAR_FUTURE });
  await storeTask(db(), { user_id: 'ana', id, status: 'succeeded', finished_at: new Date(), review_until: FAR_FUTURE });
  return id;
}

async function unknownTask(id: string): Promise<string> {
  await hold(db(), { userId: 'ana', nanos: 1_000_000n, reference: `task:${id}`, checkAfter: FAR_FUTURE });
  await storeTask(db(), { user_id: 'ana', id, submission: 'unknown', account_id: 'ark1' });
  return id;
}

async function deadCallback(id: string): Promise<string> {
  await sql`insert into callback_events (user_id, task_id, version, event_id, url, host, body, state, finished_at)
    values ('ana', 'task_dead', 2, ${id}, 'https://hooks.host.net/', 'hooks.host.net', '{}', 'dead', now())`.execute(
    db(),
  );
  return id;
}

type ReadOperation = {
  [K in AdminOperation]: (typeof ADMIN_ENDPOINTS)[K]['method'] extends 'GET' ? K : never;
}[AdminOperation];

const keyOf = async (user: string): Promise<string> =>
  (await admin<Page<{ id: string }>>('GET', `/keys?user=${user}`)).body.data[0]?.id ?? '';

/** The only read with required parameters. */
const QUOTE = '?group=openai&model=gpt-4o-mini';

/** Each object that they change has a line of its own, before the line of the whole. */
const SEVERAL: readonly string[] = ['admin.importPrices', 'admin.applyConfig'];

test('every admin change writes one append-only audit line, and no response holds a secret', async () => {
  const responses: string[] = [];
  const shown: string[] = [];
  for (const [operation, example] of Object.entries(WRITES)) {
    const [path, body] = await example();
    const { method } = adminRow(operation as AdminOperation);
    const {
      status,
      text,
      headers,
      body: response,
    } = await admin<{ value?: string; link?: string }>(method, path, body);
    assert.ok(status < 300, `${operation}: ${text}`);
    assert.equal(headers.get('cache-control'), 'no-store');
    const value = response.value ?? response.link?.split('#')[1];
    if (value !== undefined) shown.push(value);
    responses.push(value === undefined ? text : text.replace(value, ''));
    const { body: audit } = await admin<Page<{ action: string; request_id: string; actor: string }>>(
      'GET',
      '/audit?limit=2',
    );
    assert.equal(audit.data[0]?.request_id, headers.get('x-request-id'), operation);
    if (!SEVERAL.includes(operation))
      assert.notEqual(audit.data[1]?.request_id, headers.get('x-request-id'), `${operation}: one audit line`);
  }
  for (const statement of ['update audit set actor = actor', 'delete from audit', 'truncate audit'])
    await assert.rejects(sql.raw(statement).execute(db()), /append-only/);

  const { openai } = await userWithKeys('logged');
  const call = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${openai}` } });
  const requestId = call.headers.get('x-request-id') ?? '';
  await until('the entry of the call', async () => (await admin('GET', `/requests/${requestId}`)).status === 200);
  const body = { headers: {}, body: '', encoding: 'utf8', bytes: 0, cut: false };
  const content = { request: { ...body, method: 'GET', path: '/v1/models' }, response: { ...body, status: 200 } };
  const sealed = gateway.context.sealer.seal(JSON.stringify(content), `captures.sealed:${requestId}`);
  await db()
    .insertInto('captures')
    .values({ user_id: 'logged', request_id: requestId, key_id: 'k', bytes: 0, sealed })
    .execute();
  const reads = ADMIN_OPERATIONS.filter((operation) => adminRow(operation).method === 'GET');
  for (const operation of reads) {
    const path = adminRow(operation)
      .path.slice('/admin/v1'.length)
      .replace('{user}', 'ana')
      .replace('{task}', 'task_tested')
      .replace('{event}', 'evt_dead')
      .replace('{request}', requestId)
      .replace('{account}', 'cl1')
      .replace('{key}', await keyOf('ana'));
    const { status, text } = await admin('GET', `${path}${operation === 'admin.quote' ? QUOTE : ''}`);
    assert.equal(status, 200, text);
    responses.push(text);
  }
  const { rows } = await sql<{ secret: string }>`
    select credential_sealed as secret from accounts union select callback_secret_sealed from keys
    union select sealed from secrets union select encode(hash, 'hex') from keys union select encode(hash, 'base64') from keys`.execute(
    db(),
  );
  const secrets = [
    ...rows.map(({ secret }) => secret),
    ...shown,
    ...['oa1', 'cl1', 'ge1'].map((id) => `sk-upstream-${id}`),
    ADMIN_TOKEN,
  ];
  assert.ok(secrets.length > 20 && shown.length === 4);
  const text = responses.join('\n');
  for (const secret of secrets) assert.ok(!text.includes(secret), `a response holds ${secret}`);
  const log = gateway.log.map((line) => JSON.stringify(line)).join('\n');
  assert.ok(log.includes('admin.credit'));
  for (const secret of secrets) assert.ok(!log.includes(secret), `the log holds ${secret}`);
});

test('CLI commands are audited', async () => {
  const env = machine();
  const made = await runHere(['key', 'create', '--user', 'cli-made', '--group', 'claude'], { env });
  assert.equal(made.code, 0, made.stderr);
  const id = await keyOf('cli-made');
  assert.equal((await runHere(['key', 'revoke', id], { env })).code, 0);
  const { body } = await admin<Page<{ action: string; subject: string }>>('GET', '/audit?actor=cli&limit=3');
  assert.deepEqual(
    body.data.map(({ action, subject }) => `${action} ${subject}`),
    [`key.revoked key:${id}`, `key.created key:${id}`, 'user.created user:cli-made'],
  );
  assert.ok(!JSON.stringify(body).includes(made.stdout.trim()));
  const { body: files } = await admin<Page<{ after: { changes: object[] } }>>(
    'GET',
    '/audit?actor=file&action=config.applied',
  );
  assert.ok((files.data[0]?.after.changes.length ?? 0) > 0);
});

test('WRITES has an example of every admin operation that changes something', () => {
  const writes = ADMIN_OPERATIONS.filter(
    (operation) => ADMIN_ENDPOINTS[operation].method !== 'GET' && operation !== 'admin.explain',
  );
  assert.deepEqual(Object.keys(WRITES).toSorted(), writes.toSorted());
});

test('a body of thousands of values is refused before it is validated, on every API of operators and people', async () => {
  const body = JSON.stringify({ list: Array(20_000).fill(1) });
  for (const [path, authorization] of [
    ['/admin/v1/users', `Bearer ${ADMIN_TOKEN}`],
    ['/console/v1/session', undefined],
  ] as const) {
    const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { ...headers, ...(authorization !== undefined && { authorization }) },
      body,
    });
    assert.equal(response.status, 400);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.deepEqual([error.code, error.message], ['invalid_request', 'The body has more than 10000 values.']);
  }
});

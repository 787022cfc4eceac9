/** The request log: what operators learn of every call, its roll-ups, and the metrics by account. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { systemClock } from '../../src/core/index.ts';
import { RequestRollUp, removeOldRequests } from '../../src/observe/request-log/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { type Canned, jsonResponse, sseResponse, startCanned } from '../support/canned.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { streamEnd, streamStart } from '../support/scripted.ts';
import { until } from '../support/wait.ts';

let provider: Canned;
let gateway: TestGateway;
let keys: Record<string, string>;
const admin = adminApi(() => gateway.url);

const PROMPT = 'the secret plan of acme is to buy the moon';
const MESSAGES_REPLY = JSON.stringify({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1000, cache_read_input_tokens: 3000, output_tokens: 500 },
});

before(async () => {
  provider = await startCanned();
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
  keys = await gateway.apply({
    groups: [{ id: 'claude', style: 'messages', multiplier: '1.2' }],
    accounts: ['a', 'b'].map((id, priority) => ({
      id,
      group: 'claude',
      base_url: provider.url,
      api_key: `sk-upstream-key-of-${id}`,
      priority,
      cost_multiplier: '0.9',
    })),
    models: [
      {
        id: 'claude-x',
        groups: ['claude'],
        prices: { input: '3', cached_input: '0.3', output: '15' },
        cost: { input: '2', cached_input: '0.2', output: '10' },
      },
      { id: 'odd-*', groups: ['claude'], free: true },
      { id: 'limited', groups: ['claude'], free: true },
    ],
    users: [{ id: 'ana', balance: '100' }],
    keys: [{ user: 'ana', group: 'claude' }],
  });
});
after(async () => {
  await gateway?.stop();
  await provider?.close();
});

interface LoggedRequest {
  readonly id: string;
  readonly status: number;
  readonly error: string | null;
  readonly code: string | null;
  readonly account: string | null;
  readonly total_ms: number;
  readonly added_ms: number;
  readonly failover_ms: number | null;
  readonly first_byte_ms: number;
  readonly attempts: readonly Record<string, unknown>[];
  readonly [name: string]: unknown;
}

const post = (path: string, body: object, key = keys.claude, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const messages = (more: object = {}): Promise<Response> =>
  post('/v1/messages', { model: 'claude-x', max_tokens: 900, messages: [{ role: 'user', content: PROMPT }], ...more });
const idOf = (response: Response): string => response.headers.get('x-request-id') ?? '';

/** The entry of a call, once it is written. */
const logged = async (response: Response): Promise<LoggedRequest> => {
  await response.text();
  const id = idOf(response);
  return until('the entry', async () => {
    const { status, body } = await admin<LoggedRequest>('GET', `/requests/${id}`);
    return status === 200 ? body : undefined;
  });
};

test('the request log shows the attempts of a call, its times, and the arithmetic of its charge, cost and margin', async () => {
  let calls = 0;
  provider.respondWith((response, request) => {
    calls += 1;
    const overloaded = JSON.stringify({
      error: { type: 'overloaded_error', message: 'Overloaded. Key sk-upstream-key-of-a' },
    });
    return calls === 1
      ? jsonResponse(JSON.stringify({ type: 'error', ...JSON.parse(overloaded) }), 529)(response, request)
      : jsonResponse(MESSAGES_REPLY)(response, request);
  });
  const entry = await logged(await messages());
  const [first, second] = entry.attempts;
  assert.equal(entry.status, 200);
  assert.deepEqual(
    [entry.user, entry.group, entry.account, entry.model, entry.upstream_model, entry.operation, entry.dialect],
    ['ana', 'claude', 'b', 'claude-x', 'claude-x', 'messages.create', 'messages'],
  );
  assert.deepEqual([entry.stream, entry.converted, entry.error, entry.outcome], [false, false, null, 'completed']);
  assert.deepEqual(
    [first?.account, first?.outcome, first?.status, second?.account, second?.outcome, second?.status],
    ['a', 'overloaded', 529, 'b', 'ok', 200],
  );
  assert.equal(first?.message, 'Overloaded. Key [redacted]');
  assert.ok(Number(second?.start_ms) >= Number(first?.end_ms), 'the second attempt follows the first');
  assert.ok(Number(second?.first_byte_ms) <= entry.total_ms);
  assert.ok((entry.failover_ms ?? 0) > 0 && entry.added_ms > 0);
  assert.ok(entry.added_ms + (entry.failover_ms ?? 0) < entry.total_ms, 'the time of the provider is apart');
  const { charge, cost } = entry.pricing as { charge: Record<string, unknown>; cost: Record<string, unknown> };
  assert.deepEqual(charge.lines, [
    { part: 'input', count: 1000, rate: '3', per: 'million_tokens', amount: '0.003' },
    { part: 'cached_input', count: 3000, rate: '0.3', per: 'million_tokens', amount: '0.0009' },
    { part: 'output', count: 500, rate: '15', per: 'million_tokens', amount: '0.0075' },
  ]);
  assert.deepEqual(
    [charge.subtotal, charge.group_multiplier, charge.user_multiplier, charge.charge],
    ['0.0114', '1.2', '1', '0.01368'],
  );
  assert.deepEqual(
    [cost.subtotal, cost.multiplier, cost.cost, cost.margin, cost.margin_percent],
    ['0.0076', '0.9', '0.00684', '0.00684', 50],
  );
});

test('the request log has refused calls, with whose side the failure is on, and never text of a request', async () => {
  const unknownModel = await logged(await messages({ model: 'none' }));
  assert.deepEqual([unknownModel.status, unknownModel.code, unknownModel.error], [404, 'model_not_found', 'caller']);
  assert.deepEqual([unknownModel.attempts, unknownModel.model], [[], 'none']);
  assert.match(String(unknownModel.message), /^model: "none" is not available to keys of group "claude"/);
  provider.respondWith(
    jsonResponse(
      JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: `bad: ${PROMPT}` } }),
      400,
    ),
  );
  const rejected = await logged(await messages());
  assert.deepEqual([rejected.status, rejected.error, rejected.attempts[0]?.outcome], [400, 'caller', 'request']);
  provider.respondWith(
    jsonResponse(JSON.stringify({ type: 'error', error: { type: 'api_error', message: `crashed on ${PROMPT}` } }), 500),
  );
  const failed = await logged(await messages());
  assert.deepEqual([failed.status, failed.error, failed.attempts.length], [502, 'provider', 2]);
  assert.equal(failed.attempts[0]?.message, 'api_error', 'only the names of an error that quotes the request');
  assert.equal(failed.message, 'The provider failed to respond.');
  const { text } = await admin('GET', '/requests?user=ana');
  assert.doesNotMatch(text, /acme|sk-upstream/);
});

test('a call that no account takes because its provider refused others is on the side of the provider', async () => {
  const limited = { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } };
  provider.respondWith(jsonResponse(JSON.stringify(limited), 429, { 'retry-after': '60' }));
  const refused = await logged(await messages({ model: 'limited' }));
  assert.deepEqual([refused.status, refused.error, refused.attempts.length], [429, 'provider', 2]);
  const untried = await logged(await messages({ model: 'limited' }));
  assert.deepEqual([untried.status, untried.error, untried.attempts], [429, 'provider', []]);
});

test('a call without a known key is in the request log, but a flood of them is not', async () => {
  const send = (): Promise<Response> => post('/v1/messages', { model: PROMPT }, 'dg-unknown-key-of-some-length');
  const entry = await logged(await send());
  assert.deepEqual(
    [entry.status, entry.code, entry.error, entry.user, entry.key, entry.group, entry.model],
    [401, 'invalid_api_key', 'caller', null, null, null, null],
  );
  assert.match(String(entry.message), /^The API key is not valid/);
  const flood = await Promise.all(Array.from({ length: 30 }, send));
  await logged(await messages({ model: 'none' }));
  const { body } = await admin<{ data: LoggedRequest[] }>('GET', '/requests?code=invalid_*&limit=100');
  // A minute may end meanwhile.
  assert.ok(body.data.length >= 10 && body.data.length <= 20, `${body.data.length} of ${flood.length}`);
  const roll = await admin<Stats>('GET', '/stats?by=group');
  assert.ok(roll.body.data.every(({ name }) => name !== ''));
});

test('the request log finds a failed call by the id that the provider gave it', async () => {
  const respond = (id: string) =>
    jsonResponse(
      JSON.stringify({
        type: 'error',
        error: { type: 'invalid_request_error', message: "max_tokens: 900 > 800, the most of 'claude-x'" },
        request_id: id,
      }),
      400,
    );
  provider.respondWith(respond('req_011CExampleOfTheProvider'));
  const response = await messages();
  assert.match(await response.clone().text(), /req_011CExampleOfTheProvider/);
  const { id, message } = await logged(response);
  assert.equal(message, "max_tokens: 900 > 800, the most of 'claude-x'");
  const { body } = await admin<{ data: LoggedRequest[] }>('GET', '/requests?request_id=req_011CExampleOfTheProvider');
  assert.deepEqual(
    body.data.map((entry) => [entry.id, entry.attempts[0]?.request_id]),
    [[id, 'req_011CExampleOfTheProvider']],
  );
});

test('the request log shows the conversion of a call, its dropped and changed fields, and its stream', async () => {
  provider.respondWith(sseResponse(streamStart('messages', 'hi'), streamEnd.messages('hi')));
  const response = await post('/v1/chat/completions', {
    model: 'claude-x',
    messages: [{ role: 'user', content: PROMPT }],
    stream: true,
    seed: 7,
    temperature: 1.5,
    safety_identifier: 'end-user',
  });
  const entry = await logged(response);
  assert.deepEqual(
    [entry.status, entry.dialect, entry.target_dialect, entry.converted, entry.stream],
    [200, 'chat', 'messages', true, true],
  );
  assert.deepEqual([entry.dropped, entry.changed], [['seed', 'temperature'], ['safety_identifier']]);
  assert.ok(entry.first_byte_ms > 0 && entry.first_byte_ms <= entry.total_ms);
});

test('GET /requests finds calls by every filter and pages through them without gaps', async () => {
  provider.respondWith(jsonResponse(MESSAGES_REPLY));
  const sent = await Promise.all(Array.from({ length: 5 }, () => messages({ model: 'odd-1' })));
  for (const response of sent) await logged(response);
  const key = (await admin<{ data: { key: string }[] }>('GET', '/requests?limit=1')).body.data[0]?.key;
  const find = async (query: string): Promise<string[]> => {
    const { status, body, text } = await admin<{ data: LoggedRequest[] }>('GET', `/requests?${query}`);
    assert.equal(status, 200, text);
    return body.data.map(({ id }) => id).sort();
  };
  const ids = sent.map(idOf).sort();
  for (const query of [
    'model=odd-1',
    'model=odd-1&user=ana',
    `model=odd-1&key=${key}`,
    'model=odd-1&group=claude&status=200&operation=messages.create',
    'model=odd-1&start=2020-01-01',
    'model=*DD-*&user=*n*&operation=messages.*&status=2xx',
    'model=odd-*&sort=total',
  ])
    assert.deepEqual(await find(query), ids, query);
  for (const query of ['model=odd-1&error=caller', 'model=odd-1&end=2020-01-01', 'account=none', 'user=bob'])
    assert.deepEqual(await find(query), [], query);
  assert.deepEqual(await find(`request_id=${ids[0]}`), [ids[0]]);
  assert.ok((await find('error=caller')).length >= 2 && (await find('status=404')).length >= 1);
  for (const query of ['model=odd-1', 'model=odd-*', 'model=odd-1&sort=total', 'model=odd-1&sort=charge']) {
    const rows: LoggedRequest[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await admin<{ data: LoggedRequest[]; next_cursor: string | null }>(
        'GET',
        `/requests?${query}&limit=2${cursor}`,
      );
      rows.push(...body.data);
      if (body.next_cursor === null) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    assert.deepEqual(rows.map(({ id }) => id).sort(), ids, query);
    const times = rows.map(({ total_ms }) => total_ms);
    if (query.endsWith('total'))
      assert.deepEqual(
        times,
        times.toSorted((a, b) => b - a),
      );
  }
  for (const query of ['status=5', 'status=6xx', 'sort=model']) {
    const { status } = await admin('GET', `/requests?${query}`);
    assert.equal(status, 400, query);
  }
});

test('GET /search finds objects by a part of their name, and requests by their id', async () => {
  const { id } = await logged(await messages({ model: 'odd-1' }));
  const search = async (query: string): Promise<string[]> => {
    const { body } = await admin<{ data: { kind: string; id: string }[] }>('GET', `/search?${query}`);
    return body.data.map((hit) => `${hit.kind} ${hit.id}`);
  };
  assert.deepEqual(await search('text=AN'), ['user ana']);
  const keys = await search('text=key_&kinds=key');
  assert.ok(keys.length > 0, 'the id of a key by its beginning');
  assert.deepEqual(
    await search(`text=${keys[0]?.slice('key key_'.length, -20)}&kinds=key`),
    [],
    'not by two of its characters',
  );
  assert.deepEqual(await search('text=claude&kinds=group,model'), ['group claude', 'model claude-x']);
  assert.deepEqual(await search(`text=${id}`), [`request ${id}`]);
  assert.deepEqual(await search('text=acme-1'), []);
  assert.deepEqual(await search('text=%25'), [], 'signs of a pattern are text');
});

interface Stats {
  readonly total: { readonly requests: number; readonly charge: string };
  readonly data: readonly { readonly name: string | null; readonly requests: number; readonly errors: object }[];
}

interface StatedAccount {
  readonly account: string;
  readonly faults: Readonly<Record<string, number>>;
  readonly last_fault: { readonly message: string } | null;
  readonly cache_hit_share: number;
  readonly cost: string;
}

test('roll-ups give the series of charts and the state of accounts, and building them again changes nothing', async () => {
  const { database } = gateway.context;
  const build = () => new RequestRollUp(database, systemClock).run();
  await build();
  const rollUps = async () => ({
    hours: (
      await sql`select * from request_hours order by level, hour, group_id, account_id, model`.execute(database.db)
    ).rows,
    faults: (await sql`select * from request_fault_hours order by 1, 2, 3, 4, 5`.execute(database.db)).rows,
  });
  const stats = async (query = '') => (await admin<Stats>('GET', `/stats${query}`)).body;
  const first = await stats();
  const { body: page } = await admin<{ data: LoggedRequest[] }>('GET', '/requests?limit=1000&user=ana');
  assert.equal(first.total.requests, page.data.length);
  const sum = (side: string) => page.data.filter(({ error }) => error === side).length;
  assert.deepEqual((first.total as unknown as { errors: object }).errors, {
    provider: sum('provider'),
    ours: sum('ours'),
    caller: sum('caller'),
  });
  const times = first.total as unknown as Record<string, { p50: number; p95: number; p99: number }>;
  const totals = page.data.map(({ total_ms }) => total_ms).sort((a, b) => a - b);
  const median = totals[Math.floor(totals.length / 2)] ?? 0;
  assert.ok(Math.abs((times.total_ms?.p50 ?? 0) / median - 1) < 0.5, `${times.total_ms?.p50} ${median}`);
  assert.ok((times.added_ms?.p99 ?? 0) >= (times.added_ms?.p50 ?? 0));

  // What the roll-ups have grown by is what their rows add up to.
  const grown = await rollUps();
  assert.ok(grown.hours.length > 5 && grown.faults.length > 0);
  await sql`insert into request_hours_due select distinct hour from request_hours on conflict do nothing`.execute(
    database.db,
  );
  await build();
  assert.deepEqual(await rollUps(), grown);

  // A late call of the same hour is added, once.
  await logged(await messages({ model: 'odd-late' }));
  await build();
  await build();
  const second = await stats('?by=model');
  assert.equal(second.total.requests, first.total.requests + 1);
  assert.equal(second.data.find(({ name }) => name === 'odd-late')?.requests, 1);
  assert.equal(
    second.data.reduce((all, { requests }) => all + requests, 0),
    second.total.requests,
  );

  const { body: accounts } = await admin<{ data: StatedAccount[] }>('GET', '/stats/accounts');
  const [a] = accounts.data;
  assert.equal(a?.account, 'a');
  assert.equal(a?.faults.overloaded, 1);
  assert.equal(a?.last_fault?.message, "max_tokens: 900 > 800, the most of 'claude-x'");
  const b = accounts.data[1];
  assert.ok(Number(b?.cache_hit_share) > 0.5 && Number(b?.cost) > 0);
});

test('GET /metrics counts calls, failures, tokens, cost and times by group, account and line of the catalog', async () => {
  const text = await until('the cost', async () => {
    const scraped = await (await fetch(`${gateway.url}/metrics`)).text();
    return /dragoman_account_cost_dollars_total\{group="claude",account="b",model="claude-x"\} 0\.0/.test(scraped)
      ? scraped
      : undefined;
  });
  const labels = 'group="claude",account="b",model="claude-x"';
  for (const line of [
    `dragoman_account_requests_total{${labels}} `,
    // One overloaded response does not put an account out of use: the requests that the provider rejected went to it.
    'dragoman_account_errors_total{group="claude",account="a",model="claude-x",side="caller"} 2',
    `dragoman_account_tokens_total{${labels},kind="cached_input"} 3000`,
    `dragoman_account_first_byte_seconds_count{${labels}} `,
    `dragoman_account_added_seconds_count{${labels}} `,
    'dragoman_account_requests_total{group="claude",account="a",model="odd-*"} ',
    'dragoman_request_log_dropped_total 0',
  ])
    assert.ok(text.includes(line), line);
  assert.doesNotMatch(text, /odd-1/);
});

test('days of the log are removed after their time, and roll-ups stay', async () => {
  const { db } = gateway.context.database;
  const count = async (): Promise<number> =>
    (await admin<{ data: unknown[] }>('GET', '/requests?limit=1000')).body.data.length;
  assert.equal(await removeOldRequests(db, { days: 14, now: Date.now() }), 0);
  assert.ok((await count()) > 0);
  while ((await removeOldRequests(db, { days: 14, now: Date.now() + 16 * 86_400_000 })) > 0);
  assert.equal(await count(), 0);
  assert.ok((await admin<Stats>('GET', '/stats')).body.total.requests > 0);
  provider.respondWith(jsonResponse(MESSAGES_REPLY));
  await logged(await messages());
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { connect } from '../../src/db/index.ts';
import { newKeyValue, revokeKey } from '../../src/identity/index.ts';
import { ENDPOINTS, type ErrorFormat, OPERATIONS } from '../../src/rules/index.ts';
import { codeIn } from '../support/envelope.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { jsonOf, type RawAnswer, request, sendRaw } from '../support/raw.ts';
import { until } from '../support/wait.ts';

/** Paths that need a key and nothing else: what is not 401 was let in. */
const PLAIN = '/v1/models';
const NATIVE = '/v1beta/models';
const PREFIX = 'shared-prefix-'.repeat(15);

let gateway: TestGateway;
let openai: string;
let claude: string;
let gemini: string;

before(async () => {
  gateway = await startGateway();
  const keys = await gateway.apply(basicSetup());
  openai = keys.openai ?? '';
  claude = keys.claude ?? '';
  gemini = keys.gemini ?? '';
});
after(() => gateway.stop());

type Headers = readonly (readonly [string, string])[];

async function send(path: string, headers: Headers, url = gateway.url): Promise<RawAnswer> {
  const answer = await sendRaw(url, request(`GET ${path} HTTP/1.1`, headers));
  assert.ok(answer, 'an answer came');
  return answer;
}
const bearer = (token: string) => ['Authorization', `Bearer ${token}`] as const;
const statusOf = async (path: string, headers: Headers, url?: string): Promise<number> =>
  (await send(path, headers, url)).status;

/** Group and key that the gateway took the call for, from its log line. */
async function callerOf(path: string, headers: Headers): Promise<{ group: unknown; key: unknown }> {
  const id = (await send(path, headers)).headers.get('x-request-id');
  const line = await until('the log line of the call', () =>
    gateway.log.find((entry) => entry.msg === 'request.completed' && entry.request === id),
  );
  return { group: line.group, key: line.key };
}

for (const [form, headers, path] of [
  ['Authorization: Bearer', () => [bearer(openai)], PLAIN],
  ['a lower-case bearer', () => [['authorization', `bearer ${openai}`]], PLAIN],
  ['x-api-key', () => [['x-api-key', openai]], PLAIN],
  ['Bearer on the native path', () => [bearer(gemini)], NATIVE],
  ['x-api-key on the native path', () => [['x-api-key', gemini]], NATIVE],
  ['x-goog-api-key on the native path', () => [['x-goog-api-key', gemini]], NATIVE],
] as const satisfies readonly (readonly [string, () => Headers, string])[]) {
  test(`[N2] a key is accepted as ${form}`, async () => {
    const { group } = await callerOf(path, headers());
    assert.equal(group, path === PLAIN ? 'openai' : 'gemini');
  });
}

test('a key in the query is accepted on the native path, wherever it stands there', async () => {
  for (const query of [`key=${gemini}`, `alt=sse&key=${gemini}`, `key=${encodeURIComponent(gemini)}&pageSize=1`]) {
    assert.equal((await callerOf(`${NATIVE}?${query}`, [])).group, 'gemini', query.replace(gemini, 'KEY'));
  }
});

test('a key in the query is refused everywhere else, even beside the same key in a header', async () => {
  for (const path of [PLAIN, '/v1/usage', '/v1/videos']) {
    assert.equal(await statusOf(`${path}?key=${openai}`, []), 401);
    assert.equal(await statusOf(`${path}?key=${openai}`, [bearer(openai)]), 401);
  }
  assert.equal(await statusOf(PLAIN, [['x-goog-api-key', openai]]), 401, 'nor does the native header count there');
});

const LEFTOVERS = ['sk-ant-api03-a-leftover-of-another-service', 'dummy', `dg-${'0'.repeat(49)}`];

test('one key of ours counts among leftovers of other services, in every order and form', async () => {
  for (const leftover of LEFTOVERS) {
    const forms = (token: string): Headers => [bearer(token), ['x-api-key', token], ['x-goog-api-key', token]];
    for (const ours of forms(gemini)) {
      for (const theirs of forms(leftover)) {
        assert.equal((await callerOf(NATIVE, [ours, theirs])).group, 'gemini', `${ours[0]}, then ${theirs[0]}`);
        assert.equal((await callerOf(NATIVE, [theirs, ours])).group, 'gemini', `${theirs[0]}, then ${ours[0]}`);
      }
      assert.equal((await callerOf(`${NATIVE}?key=${leftover}`, [ours])).group, 'gemini', `${ours[0]} and ?key=`);
    }
    assert.equal((await callerOf(`${NATIVE}?key=${gemini}`, [bearer(leftover)])).group, 'gemini');
  }
  assert.equal(await statusOf(NATIVE, LEFTOVERS.map(bearer)), 401, 'leftovers alone are nobody');
  assert.equal((await callerOf(PLAIN, [['Authorization', 'Basic dXNlcjpwYXNz'], bearer(openai)])).group, 'openai');
});

test('[N2] the same key twice is one key', async () => {
  assert.equal((await callerOf(PLAIN, [bearer(openai), bearer(openai)])).group, 'openai');
  assert.equal((await callerOf(PLAIN, [bearer(openai), ['x-api-key', openai]])).group, 'openai');
  assert.equal(
    (await callerOf(`${NATIVE}?key=${gemini}`, [bearer(gemini), ['x-goog-api-key', gemini]])).group,
    'gemini',
  );
});

test('two different keys of ours are refused, in every order and form', async () => {
  const pairs: [string, Headers][] = [
    [PLAIN, [bearer(openai), bearer(claude)]],
    [PLAIN, [bearer(claude), bearer(openai)]],
    [PLAIN, [bearer(openai), ['x-api-key', claude]]],
    [PLAIN, [['x-api-key', claude], bearer(openai)]],
    [
      PLAIN,
      [
        ['x-api-key', claude],
        ['x-api-key', openai],
      ],
    ],
    [
      NATIVE,
      [
        ['x-goog-api-key', gemini],
        ['x-api-key', openai],
      ],
    ],
    [`${NATIVE}?key=${gemini}`, [bearer(openai)]],
  ];
  for (const [path, headers] of pairs) {
    const answer = await send(path, headers);
    assert.equal(answer.status, 401);
    assert.match(answer.text, /two different API keys/);
  }
});

test('a mistyped key is refused without asking the database', async () => {
  const fresh = newKeyValue();
  const mistyped = `${fresh.slice(0, -1)}${fresh.endsWith('a') ? 'b' : 'a'}`;
  const locker = await connect(gateway.database.url);
  try {
    // Whoever reads the table now waits; an answer shows that nobody did.
    await locker.query('begin; lock table keys in access exclusive mode');
    assert.equal(await statusOf(PLAIN, [bearer(mistyped)]), 401);
    for (const impossible of ['short', 'x'.repeat(257), 'with spaces in the middle of it', 'dg-nothing-of-the-kind-00'])
      assert.equal(await statusOf(PLAIN, [bearer(impossible)]), 401);
    const wellFormed = statusOf(PLAIN, [bearer(fresh)]);
    await until('the well-formed one to wait for the table', async () => {
      const { rows } = await locker.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return rows.length > 0;
    });
    await locker.query('rollback');
    assert.equal(await wellFormed, 401);
  } finally {
    await locker.end();
  }
});

test('keys that differ only at the end, or in length, are different keys', async () => {
  await gateway.apply({
    keys: [
      { user: 'ana', group: 'openai', name: 'long-a', key: `${PREFIX}a` },
      { user: 'ana', group: 'claude', name: 'long-b', key: `${PREFIX}b` },
      { user: 'ana', group: 'gemini', name: 'longer', key: `${PREFIX}ab` },
    ],
  });
  const a = await callerOf(PLAIN, [bearer(`${PREFIX}a`)]);
  const b = await callerOf(PLAIN, [bearer(`${PREFIX}b`)]);
  const ab = await callerOf(PLAIN, [bearer(`${PREFIX}ab`)]);
  assert.deepEqual([a.group, b.group, ab.group], ['openai', 'claude', 'gemini']);
  assert.equal(new Set([a.key, b.key, ab.key]).size, 3);
  for (const near of [PREFIX, `${PREFIX}A`, `${PREFIX}abc`, `${PREFIX}c`])
    assert.equal(await statusOf(PLAIN, [bearer(near)]), 401);
});

test('a key value brought in the file works', async () => {
  const brought = 'my-own-value-of-a-key-0001';
  const made = await gateway.apply({ keys: [{ user: 'ana', group: 'claude', name: 'brought', key: brought }] });
  assert.deepEqual(made, {}, 'it is not said back');
  assert.equal((await callerOf(PLAIN, [bearer(brought)])).group, 'claude');
});

test('a key is refused once it has expired, also one that was just accepted', async () => {
  const past = 'expired-long-ago-0000001';
  const soon = 'expires-in-a-moment-00001';
  const expiresAt = Date.now() + 1_200;
  await gateway.apply({
    keys: [
      { user: 'ana', group: 'openai', name: 'past', key: past, expires_at: '2020-01-01T00:00:00Z' },
      { user: 'ana', group: 'openai', name: 'soon', key: soon, expires_at: new Date(expiresAt).toISOString() },
    ],
  });
  assert.equal(await statusOf(PLAIN, [bearer(past)]), 401);
  assert.notEqual(await statusOf(PLAIN, [bearer(soon)]), 401);
  await until('the key to expire', async () => (await statusOf(PLAIN, [bearer(soon)])) === 401);
  assert.ok(Date.now() >= expiresAt, 'not before its time');
});

test('a revoked key is refused on every replica within five seconds', async () => {
  const replica = await startGateway({ database: gateway.database });
  try {
    const value = 'to-be-revoked-very-soon-01';
    await gateway.apply({ keys: [{ user: 'ana', group: 'openai', name: 'revoked', key: value }] });
    for (const { url } of [gateway, replica]) assert.notEqual(await statusOf(PLAIN, [bearer(value)], url), 401);
    const { db } = gateway.ground.database;
    const { id } = await db.selectFrom('keys').select('id').where('name', '=', 'revoked').executeTakeFirstOrThrow();
    assert.equal(await revokeKey(db, id), true);
    for (const { url } of [gateway, replica])
      await until('the refusal', async () => (await statusOf(PLAIN, [bearer(value)], url)) === 401, 5_000);
    assert.notEqual(await statusOf(PLAIN, [bearer(openai)], replica.url), 401, 'other keys stay');
  } finally {
    await replica.stop();
  }
});

test('a key with allowed addresses is refused from every other one', async () => {
  const near = 'allowed-from-this-machine-1';
  const far = 'allowed-from-elsewhere-001';
  await gateway.apply({
    keys: [
      { user: 'ana', group: 'openai', name: 'near', key: near, addresses: ['10.0.0.0/8', '127.0.0.0/8'] },
      { user: 'ana', group: 'openai', name: 'far', key: far, addresses: ['10.0.0.0/8', '2001:db8::/32'] },
    ],
  });
  assert.ok(![401, 403].includes(await statusOf(PLAIN, [bearer(near)])));
  const refused = await send(PLAIN, [bearer(far), ['x-forwarded-for', '10.0.0.1']]);
  assert.equal(refused.status, 403, 'what a caller says of its own address is not believed');
  assert.equal(codeIn('openai', 403, jsonOf(refused)), 'key_not_allowed');
});

test('behind a trusted proxy the address is the one that the proxy saw', async () => {
  const proxied = await startGateway({ database: gateway.database, env: { TRUST_PROXY: '127.0.0.1' } });
  try {
    const from = (hops: string): Headers => [bearer('allowed-from-elsewhere-001'), ['x-forwarded-for', hops]];
    assert.notEqual(await statusOf(PLAIN, from('10.0.0.1'), proxied.url), 403);
    assert.equal(await statusOf(PLAIN, from('10.0.0.1, 192.0.2.7'), proxied.url), 403, 'the nearest hop counts');
    assert.equal(await statusOf(PLAIN, from('nonsense'), proxied.url), 403);
  } finally {
    await proxied.stop();
  }
});

test('an address that sends too many requests without a valid key waits, and others do not', async () => {
  const strict = await startGateway({
    database: gateway.database,
    env: { AUTH_FAILURES_PER_MINUTE: '3', TRUST_PROXY: '127.0.0.1' },
  });
  try {
    const from = (address: string, ...headers: Headers): Headers => [['x-forwarded-for', address], ...headers];
    const guess = bearer('a-guess-that-is-no-key-at-all');
    // A minute that begins in between forgives what was before it, so there may be a second try, never a third.
    for (const [address, failing] of [
      ['192.0.2.1', [guess]],
      ['192.0.2.2', []],
    ] as const) {
      const statuses: number[] = [];
      while (statuses.at(-1) !== 429 && statuses.length < 8)
        statuses.push(await statusOf(PLAIN, from(address, ...failing), strict.url));
      assert.ok(statuses.length >= 4, 'three failures are allowed');
      assert.deepEqual(new Set(statuses), new Set([401, 429]));
    }
    assert.notEqual(await statusOf(PLAIN, from('192.0.2.3', bearer(openai)), strict.url), 429);
  } finally {
    await strict.stop();
  }
});

test('too many failures are answered with the time to wait, in the dialect of the path', async () => {
  const strict = await startGateway({ database: gateway.database, env: { AUTH_FAILURES_PER_MINUTE: '1' } });
  try {
    for (const [path, envelope] of [
      [PLAIN, 'openai'],
      [NATIVE, 'generate'],
      ['/v1/videos', 'video'],
    ] as const) {
      const limited = await until('the limit', async () => {
        const answer = await send(path, [bearer('a-guess-that-is-no-key-at-all')], strict.url);
        return answer.status === 429 ? answer : undefined;
      });
      assert.equal(codeIn(envelope, 429, jsonOf(limited)), 'rate_limit_exceeded');
      const wait = Number(limited.headers.get('retry-after'));
      assert.ok(Number.isInteger(wait) && wait >= 1 && wait <= 60, `retry-after: ${wait}`);
    }
  } finally {
    await strict.stop();
  }
});

test('a failing database is not held against the caller', async () => {
  const own = await startGateway({ env: { AUTH_FAILURES_PER_MINUTE: '1' } });
  try {
    const { openai: key = '' } = await own.apply(basicSetup());
    const admin = await connect(own.database.url);
    await admin.query('alter table keys rename to keys_gone');
    const broken = await statusOf(PLAIN, [bearer(key)], own.url);
    assert.ok(broken >= 500, `without the table: ${broken}`);
    await admin.query('alter table keys_gone rename to keys');
    await admin.end();
    assert.ok(![401, 429].includes(await statusOf(PLAIN, [bearer(key)], own.url)));
  } finally {
    await own.stop();
  }
});

const SAID: Readonly<Record<ErrorFormat, string>> = {
  messages: 'authentication_error',
  generate: 'UNAUTHENTICATED',
  openai: 'invalid_request_error',
  video: 'authentication_error',
};

test('[N7] every refusal of a key is 401 in the dialect of the path, and says nothing of the key', async () => {
  const guess = 'a-guess-that-is-no-key-at-all';
  for (const operation of OPERATIONS) {
    const { method, path, errorFormat } = ENDPOINTS[operation];
    const answer = await sendRaw(
      gateway.url,
      request(`${method} ${path.replaceAll(/\{\w+\}/g, 'x')} HTTP/1.1`, [bearer(guess), ['content-length', '0']]),
    );
    assert.ok(answer);
    assert.equal(answer.status, 401, operation);
    const body = jsonOf(answer);
    assert.equal(codeIn(errorFormat, 401, body), 'invalid_api_key', operation);
    const { error } = body as { error: { type?: string; status?: string } };
    assert.equal(error.type ?? error.status, SAID[errorFormat]);
    assert.ok(!answer.text.includes(guess));
  }
});

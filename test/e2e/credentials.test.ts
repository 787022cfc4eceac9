/** API keys: where a request may carry them, expiry, revocation, allowed addresses and failed attempts. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { markKeyRevoked } from '../../src/access/keys/index.ts';
import { newKeyValue, systemClock } from '../../src/core/index.ts';
import { connect } from '../../src/platform/db/index.ts';
import { ENDPOINTS, type ErrorFormat, OPERATIONS } from '../../src/rules/index.ts';
import { errorCode } from '../support/error-body.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { jsonOf, type RawResponse, request, sendRaw } from '../support/raw.ts';
import { SkewedClock } from '../support/skewed-clock.ts';
import { until } from '../support/wait.ts';

/** Paths that need only a key: any status but 401 means that the key was accepted. */
const PLAIN = '/v1/models';
const NATIVE = '/v1beta/models';
const HOUR_MS = 3_600_000;
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

async function send(path: string, headers: Headers, url = gateway.url): Promise<RawResponse> {
  const response = await sendRaw(url, request(`GET ${path} HTTP/1.1`, headers));
  assert.ok(response, 'the gateway responded');
  return response;
}
const bearer = (token: string) => ['Authorization', `Bearer ${token}`] as const;
const statusOf = async (path: string, headers: Headers, url?: string): Promise<number> =>
  (await send(path, headers, url)).status;

/** Group and key of the caller, from the log line of the request. */
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
  ['x-goog-api-key for models under /v1', () => [['x-goog-api-key', openai]], PLAIN],
] as const satisfies readonly (readonly [string, () => Headers, string])[]) {
  test(`G 5 r1: a key is accepted as ${form}`, async () => {
    const { group } = await callerOf(path, headers());
    assert.equal(group, path === PLAIN ? 'openai' : 'gemini');
  });
}

test('G 5 r1: ?key= is accepted at any position of a /v1beta query', async () => {
  for (const query of [`key=${gemini}`, `alt=sse&key=${gemini}`, `key=${encodeURIComponent(gemini)}&pageSize=1`]) {
    assert.equal((await callerOf(`${NATIVE}?${query}`, [])).group, 'gemini', query.replace(gemini, 'KEY'));
  }
});

test('G 5 r1: ?key= is accepted for models under /v1', async () => {
  assert.equal((await callerOf(`${PLAIN}?key=${gemini}`, [])).group, 'gemini');
  assert.equal((await callerOf(`${PLAIN}/demo-generate?k%65y=${gemini}`, [])).group, 'gemini');
});

test('G 5 r1: ?key= is rejected on other paths, even with the same key in a header', async () => {
  for (const path of ['/v1/responses/resp_1', '/v1/usage', '/v1/videos']) {
    assert.equal(await statusOf(`${path}?key=${openai}`, []), 401);
    assert.equal(await statusOf(`${path}?key=${openai}`, [bearer(openai)]), 401);
  }
  assert.equal(await statusOf('/v1/usage', [['x-goog-api-key', openai]]), 401, 'x-goog-api-key is ignored there');
});

const LEFTOVERS = ['sk-ant-api03-a-leftover-of-another-service', 'dummy', `dg-${'0'.repeat(49)}`];

test('G 5 r1: credentials that are not gateway keys are ignored beside one that is', async () => {
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
  assert.equal(await statusOf(NATIVE, LEFTOVERS.map(bearer)), 401, 'other credentials alone are 401');
  assert.equal((await callerOf(PLAIN, [['Authorization', 'Basic dXNlcjpwYXNz'], bearer(openai)])).group, 'openai');
});

test('G 5 r1: the same key in several headers is accepted', async () => {
  assert.equal((await callerOf(PLAIN, [bearer(openai), bearer(openai)])).group, 'openai');
  assert.equal((await callerOf(PLAIN, [bearer(openai), ['x-api-key', openai]])).group, 'openai');
  assert.equal(
    (await callerOf(`${NATIVE}?key=${gemini}`, [bearer(gemini), ['x-goog-api-key', gemini]])).group,
    'gemini',
  );
});

test('G 5 r1: two different gateway keys are rejected', async () => {
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
    const response = await send(path, headers);
    assert.equal(response.status, 401);
    assert.match(response.text, /two different API keys/);
  }
});

test('G 2: a mistyped key, or too many, are rejected without a database query', async () => {
  const fresh = newKeyValue();
  const mistyped = `${fresh.slice(0, -1)}${fresh.endsWith('a') ? 'b' : 'a'}`;
  const locker = await connect(gateway.database.url);
  try {
    // Any reader of the table waits for this lock, so a response shows that the table was not read.
    await locker.query('begin; lock table keys in access exclusive mode');
    assert.equal(await statusOf(PLAIN, [bearer(mistyped)]), 401);
    for (const malformed of ['short', 'x'.repeat(257), 'with spaces in the middle of it', 'dg-nothing-of-the-kind-00'])
      assert.equal(await statusOf(PLAIN, [bearer(malformed)]), 401);
    const many = Array.from({ length: 9 }, () => ['x-api-key', newKeyValue()] as const);
    assert.equal(await statusOf(PLAIN, many), 401, 'one request cannot cause many queries');
    const wellFormed = statusOf(PLAIN, [bearer(fresh)]);
    await until('the well-formed key to wait for the table', async () => {
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

test('keys that differ only in their last character or length are different keys', async () => {
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

test('G 2: a key value set by the operator works', async () => {
  const chosen = 'my-own-value-of-a-key-0001';
  const created = await gateway.apply({ keys: [{ user: 'ana', group: 'claude', name: 'brought', key: chosen }] });
  assert.deepEqual(created, {}, 'the value is not shown');
  assert.equal((await callerOf(PLAIN, [bearer(chosen)])).group, 'claude');
});

test('G 5 r5: a key is rejected once it has expired, even if it was accepted before', async () => {
  const past = 'expired-long-ago-0000001';
  const soon = 'expires-in-a-moment-00001';
  const clock = new SkewedClock();
  const own = await startGateway({ database: gateway.database, clock });
  const expiresAt = clock.now() + HOUR_MS;
  await gateway.apply({
    keys: [
      { user: 'ana', group: 'openai', name: 'past', key: past, expires_at: '2020-01-01T00:00:00Z' },
      { user: 'ana', group: 'openai', name: 'soon', key: soon, expires_at: new Date(expiresAt).toISOString() },
    ],
  });
  try {
    assert.equal(await statusOf(PLAIN, [bearer(past)], own.url), 401);
    assert.notEqual(await statusOf(PLAIN, [bearer(soon)], own.url), 401);
    clock.shift(HOUR_MS);
    assert.equal(await statusOf(PLAIN, [bearer(soon)], own.url), 401);
  } finally {
    await own.stop();
  }
});

test('a revoked key is rejected on every replica within five seconds', async () => {
  const replica = await startGateway({ database: gateway.database });
  try {
    const value = 'to-be-revoked-very-soon-01';
    await gateway.apply({ keys: [{ user: 'ana', group: 'openai', name: 'revoked', key: value }] });
    for (const { url } of [gateway, replica]) assert.notEqual(await statusOf(PLAIN, [bearer(value)], url), 401);
    const { db } = gateway.context.database;
    const { id } = await db.selectFrom('keys').select('id').where('name', '=', 'revoked').executeTakeFirstOrThrow();
    assert.equal(await markKeyRevoked(db, id), true);
    for (const { url } of [gateway, replica])
      await until('the rejection', async () => (await statusOf(PLAIN, [bearer(value)], url)) === 401);
    assert.notEqual(await statusOf(PLAIN, [bearer(openai)], replica.url), 401, 'other keys still work');
  } finally {
    await replica.stop();
  }
});

test('G 5 r5: a key with allowed addresses is rejected from other addresses', async () => {
  const near = 'allowed-from-this-machine-1';
  const far = 'allowed-from-elsewhere-001';
  await gateway.apply({
    keys: [
      { user: 'ana', group: 'openai', name: 'near', key: near, addresses: ['10.0.0.0/8', '127.0.0.0/8'] },
      { user: 'ana', group: 'openai', name: 'far', key: far, addresses: ['10.0.0.0/8', '2001:db8::/32'] },
    ],
  });
  assert.ok(![401, 403].includes(await statusOf(PLAIN, [bearer(near)])));
  const rejected = await send(PLAIN, [bearer(far), ['x-forwarded-for', '10.0.0.1']]);
  assert.equal(rejected.status, 403, 'x-forwarded-for of an untrusted client is ignored');
  assert.equal(errorCode('openai', 403, jsonOf(rejected)), 'key_not_allowed');
});

test('the client address comes from x-forwarded-for behind a trusted proxy', async () => {
  const proxied = await startGateway({ database: gateway.database, env: { TRUST_PROXY: '127.0.0.1' } });
  try {
    const from = (hops: string): Headers => [bearer('allowed-from-elsewhere-001'), ['x-forwarded-for', hops]];
    assert.notEqual(await statusOf(PLAIN, from('10.0.0.1'), proxied.url), 403);
    assert.equal(await statusOf(PLAIN, from('10.0.0.1, 192.0.2.7'), proxied.url), 403, 'the nearest hop counts');
    assert.equal(await statusOf(PLAIN, from('nonsense'), proxied.url), 403);
    assert.notEqual(await statusOf(PLAIN, from('10.0.0.1:4711'), proxied.url), 403, 'a hop with a port');
    assert.notEqual(
      await statusOf(PLAIN, from('10.0.0.1, 127.0.0.1:80'), proxied.url),
      403,
      'a trusted hop with a port',
    );
    assert.ok(!proxied.log.some(({ msg }) => msg === 'proxy.untrusted'));
  } finally {
    await proxied.stop();
  }
});

test('authentication failures are limited per address', async () => {
  const strict = await startGateway({
    database: gateway.database,
    env: { AUTH_FAILURES_PER_MINUTE: '3', TRUST_PROXY: '127.0.0.1' },
  });
  try {
    const from = (address: string, ...headers: Headers): Headers => [['x-forwarded-for', address], ...headers];
    const guess = bearer('a-value-that-is-not-a-key');
    // A new minute resets the count, so a second round of failures is possible.
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
    for (const address of ['192.0.2.1', '192.0.2.3'])
      assert.notEqual(await statusOf(PLAIN, from(address, bearer(openai)), strict.url), 429, 'a valid key passes');
  } finally {
    await strict.stop();
  }
});

test('above the limit of failures, keys that nothing is known about cause few queries at a time', async () => {
  // The time of day stands still, because a new minute resets the count.
  const at = systemClock.now();
  const other = await startGateway({
    database: gateway.database,
    env: { AUTH_FAILURES_PER_MINUTE: '1' },
    clock: { ...systemClock, now: () => at },
  });
  const locker = await connect(gateway.database.url);
  // In the transaction of the lock, pg_stat_activity would never change.
  const watcher = await connect(gateway.database.url);
  const status = (token: string): Promise<number> => statusOf(PLAIN, [bearer(token)], other.url);
  try {
    assert.equal(await status(openai), 200);
    assert.deepEqual([await status(newKeyValue()), await status(newKeyValue())], [401, 429]);
    await locker.query('begin; lock table keys in access exclusive mode');
    const waiting = [claude, ...Array.from({ length: 15 }, () => newKeyValue())].map(status);
    await until('the queries', async () => {
      const { rows } = await watcher.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return rows.length >= 3;
    });
    assert.equal(await status(newKeyValue()), 429, 'no query more');
    assert.equal(await status(openai), 200, 'a key that was valid a moment ago');
    const again = status(claude);
    await locker.query('rollback');
    assert.equal(await again, 200, 'a key whose query runs already');
    assert.equal(await waiting[0], 200);
    for (const rejected of await Promise.all(waiting.slice(1))) assert.equal(rejected, 429);
  } finally {
    await watcher.end();
    await locker.end();
    await other.stop();
  }
});

test('a server behind an untrusted proxy warns once', async () => {
  const own = await startGateway({ database: gateway.database });
  try {
    const warnings = (): number => own.log.filter(({ msg }) => msg === 'proxy.untrusted').length;
    await send(PLAIN, [bearer(openai)], own.url);
    assert.equal(warnings(), 0);
    for (const hop of ['192.0.2.1', '192.0.2.2']) await send(PLAIN, [['x-forwarded-for', hop]], own.url);
    assert.equal(warnings(), 1);
  } finally {
    await own.stop();
  }
});

test('authentication failures above the limit get 429 with retry-after in the error format of the path', async () => {
  const strict = await startGateway({ database: gateway.database, env: { AUTH_FAILURES_PER_MINUTE: '1' } });
  try {
    for (const [path, format] of [
      [PLAIN, 'openai'],
      [NATIVE, 'generate'],
      ['/v1/videos', 'video'],
    ] as const) {
      const limited = await until('the limit', async () => {
        const response = await send(path, [bearer('a-value-that-is-not-a-key')], strict.url);
        return response.status === 429 ? response : undefined;
      });
      assert.equal(errorCode(format, 429, jsonOf(limited)), 'rate_limit_exceeded');
      const wait = Number(limited.headers.get('retry-after'));
      assert.ok(Number.isInteger(wait) && wait >= 1 && wait <= 60, `retry-after: ${wait}`);
    }
  } finally {
    await strict.stop();
  }
});

test('a database failure does not count as an authentication failure', async () => {
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

const ERROR_TYPE: Readonly<Record<ErrorFormat, string>> = {
  messages: 'authentication_error',
  generate: 'UNAUTHENTICATED',
  openai: 'invalid_request_error',
  video: 'authentication_error',
};

test('G 7 r3: an invalid key is 401 in the error format of every path and is not echoed', async () => {
  const guess = 'a-value-that-is-not-a-key';
  for (const operation of OPERATIONS) {
    const { method, path, errorFormat } = ENDPOINTS[operation];
    const response = await sendRaw(
      gateway.url,
      request(`${method} ${path.replaceAll(/\{\w+\}/g, 'x')} HTTP/1.1`, [bearer(guess), ['content-length', '0']]),
    );
    assert.ok(response);
    assert.equal(response.status, 401, operation);
    const body = jsonOf(response);
    assert.equal(errorCode(errorFormat, 401, body), 'invalid_api_key', operation);
    const { error } = body as { error: { type?: string; status?: string } };
    assert.equal(error.type ?? error.status, ERROR_TYPE[errorFormat]);
    assert.ok(!response.text.includes(guess));
  }
});

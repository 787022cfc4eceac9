/** Cached contents of generate-content: the official client, the account that holds one, whose it is, and what it costs. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { CACHED_CONTENTS } from '../../src/rules/index.ts';
import { checkBookedCosts } from '../support/booked-costs.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { google } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

type Json = Readonly<Record<string, unknown>>;

const MODEL = 'demo-generate';
const PRICES = { input: '100', cached_input: '10', output: '400', cache_hour: '50' };
const TEXT = 'The lamp costs 12 euros. '.repeat(200);
const CONTENTS = [{ role: 'user', parts: [{ text: TEXT }] }];

let sim: Sim;
let gateway: TestGateway;
let ana: Record<string, string>;
let bob: Record<string, string>;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  const setup = basicSetup(sim.url) as { models: object[]; accounts: { id: string; group: string }[] };
  const [account] = setup.accounts.filter(({ group }) => group === 'gemini');
  const models = [
    ...setup.models.map((model) => ({ ...model, prices: PRICES, cost: PRICES })),
    { id: 'lamp', groups: ['gemini'], upstream: MODEL, prices: { input: '100', output: '400' } },
    { id: 'short', groups: ['gemini'], upstream: MODEL, context: 20_000, prices: PRICES },
    { id: 'demo-*', groups: ['other'], prices: PRICES },
  ];
  ana = await gateway.apply({
    ...setup,
    groups: [...(setup as unknown as { groups: object[] }).groups, { id: 'other', style: 'generate-content' }],
    accounts: [
      ...setup.accounts,
      // Further accounts, which do not hold what the first one holds.
      { ...account, id: 'gemini-more', api_key: 'sk-more' },
      { ...account, id: 'gemini-other', group: 'other', api_key: 'sk-other' },
    ],
    models,
  });
  bob = await gateway.apply({
    users: [{ id: 'bob', balance: '100' }],
    keys: ['gemini', 'openai'].map((group) => ({ user: 'bob', group })),
  });
  Object.assign(ana, await gateway.apply({ keys: [{ user: 'ana', group: 'other' }] }));
});
after(async () => {
  await checkBookedCosts(gateway.context.database.db);
  await gateway.stop();
  await sim.close();
});

const tokenOf = (keys: Record<string, string>, group = 'gemini'): string =>
  keys[group] ?? assert.fail(`no key of ${group}`);
const call = async (
  path: string,
  { method = 'POST', token = tokenOf(ana), body }: { method?: string; token?: string; body?: Json } = {},
) => {
  const response = await fetch(`${gateway.url}/v1beta/${path}`, {
    method,
    headers: { 'x-goog-api-key': token, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const { error, ...rest } = (text === '' ? {} : JSON.parse(text)) as Json & { error?: Json & { message: string } };
  return { status: response.status, id: response.headers.get('x-request-id') ?? '', error, body: rest as Json, text };
};

async function create(more: Json = {}): Promise<Json & { name: string; expireTime: string }> {
  const made = await call('cachedContents', { body: { model: `models/${MODEL}`, contents: CONTENTS, ...more } });
  assert.equal(made.status, 200, made.text);
  return made.body as Json & { name: string; expireTime: string };
}
const use = (name: string, token?: string, model = MODEL) =>
  call(`models/${model}:generateContent`, {
    ...(token !== undefined && { token }),
    body: { contents: [{ parts: [{ text: 'What does it cost?' }] }], cachedContent: name },
  });
const chargeOf = (id: string) =>
  until('the usage record', () =>
    gateway.context.database.db
      .selectFrom('usage_records')
      .select(['operation', 'nanos', 'usage', 'input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'estimated'])
      .where('request_id', '=', id)
      .executeTakeFirst(),
  );
const rows = () => gateway.context.database.db.selectFrom('provider_objects').selectAll().execute();
const lastAccount = () => sim.journal.requests.at(-1)?.headers['x-goog-api-key'];

test('@google/genai creates, reads, lists, extends, uses and deletes cached contents', async () => {
  const { caches, models } = google(gateway.url, tokenOf(ana));
  const made = await caches.create({
    model: MODEL,
    config: { contents: CONTENTS, systemInstruction: 'Answer shortly.', displayName: 'lamp', ttl: '600s' },
  });
  const name = made.name ?? assert.fail('no name');
  assert.deepEqual([made.displayName, made.model], ['lamp', `models/${MODEL}`]);
  assert.equal((await caches.get({ name })).name, name);
  const reply = await models.generateContent({
    model: MODEL,
    contents: 'What does it cost?',
    config: { cachedContent: name },
  });
  assert.equal(reply.usageMetadata?.cachedContentTokenCount, made.usageMetadata?.totalTokenCount);
  const stream = await models.generateContentStream({
    model: MODEL,
    contents: 'What does it cost?',
    config: { cachedContent: name },
  });
  for await (const chunk of stream) assert.ok(chunk.usageMetadata || chunk.candidates);
  const longer = await caches.update({ name, config: { ttl: '1200s' } });
  assert.ok(Date.parse(longer.expireTime ?? '') > Date.parse(made.expireTime ?? ''));
  const listed: unknown[] = [];
  for await (const one of await caches.list({ config: { pageSize: 1 } })) listed.push([one.name, one.expireTime]);
  assert.deepEqual(listed, [[name, longer.expireTime]]);
  await caches.delete({ name });
  await assert.rejects(caches.get({ name }), { status: 404 });
  assert.deepEqual((await call('cachedContents', { method: 'GET' })).body, {});
});

test('a request with a cached content goes to the account that holds it, and to no other', async () => {
  for (let n = 0; n < 2; n += 1) {
    const { name } = await create();
    const holder = lastAccount();
    for (let turn = 0; turn < 4; turn += 1) {
      assert.equal((await use(name)).status, 200);
      assert.equal(lastAccount(), holder);
      assert.equal((await call(name, { method: 'GET' })).status, 200);
      assert.equal(lastAccount(), holder);
    }
  }
  const { name } = await create();
  const sent = sim.journal.requests.length;
  const failed = await fetch(`${gateway.url}/v1beta/models/${MODEL}:generateContent`, {
    method: 'POST',
    headers: { 'x-goog-api-key': tokenOf(ana), 'content-type': 'application/json', 'x-sim': 'status=500' },
    body: JSON.stringify({ contents: CONTENTS, cachedContent: name }),
  });
  assert.ok(failed.status >= 500);
  const accounts = sim.journal.requests.slice(sent).map(({ headers }) => headers['x-goog-api-key']);
  assert.equal(new Set(accounts).size, 1, 'it cannot fail over');
});

test('contents may name files of the user', async () => {
  const form = new FormData();
  form.set('purpose', 'user_data');
  form.set('file', new Blob(['The lamp costs 12 euros.'], { type: 'text/plain' }), 'note.txt');
  const headers = { authorization: `Bearer ${tokenOf(ana)}` };
  const file = (await (await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form })).json()) as Json;
  const fileUri = `${gateway.url}/v1beta/files/${file.id}`;
  await create({ model: 'models/short', contents: [{ parts: [{ fileData: { fileUri, mimeType: 'text/plain' } }] }] });
  assert.match(sim.journal.requests.at(-1)?.body?.toString() ?? '', /"inlineData"/);
  const foreign = { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc' };
  const refused = await call('cachedContents', {
    body: { model: `models/${MODEL}`, contents: [{ parts: [{ fileData: foreign }] }] },
  });
  assert.equal(refused.status, 400, refused.text);
});

test('an alias is sent under the name of the provider', async () => {
  const made = await call('cachedContents', { body: { model: 'models/lamp', contents: CONTENTS } });
  assert.equal(made.status, 200, made.text);
  assert.equal(made.body.model, `models/${MODEL}`);
  const name = String(made.body.name);
  assert.equal((await use(name, undefined, 'lamp')).status, 200);
  // Without a price of its own, an hour costs ten times the input.
  const { nanos, cache_write_tokens: tokens } = await chargeOf(made.id);
  assert.equal(nanos, (tokens * (100_000_000_000n + 1_000_000_000_000n)) / 1_000_000n);
});

test('creation, time and use are charged by what the provider reports', async () => {
  const made = await call('cachedContents', { body: { model: `models/${MODEL}`, contents: CONTENTS, ttl: '7200s' } });
  const { totalTokenCount } = made.body.usageMetadata as { totalTokenCount: number };
  const created = await chargeOf(made.id);
  assert.deepEqual(
    [created.operation, created.estimated, Number(created.cache_write_tokens), created.usage],
    ['caches.create', false, totalTokenCount, { cacheHours: 2 * totalTokenCount }],
  );
  // Written at the price of input, and kept for two hours.
  assert.equal(created.nanos, BigInt(totalTokenCount) * 200_000n);
  const name = String(made.body.name);
  const longer = await call(`${name}?updateMask=ttl`, { method: 'PATCH', body: { ttl: '10800s' } });
  const extended = await chargeOf(longer.id);
  const addedMs = Date.parse(String(longer.body.expireTime)) - Date.parse(String(made.body.expireTime));
  assert.equal(extended.nanos, BigInt(Math.ceil((totalTokenCount * addedMs) / 3_600_000)) * 50_000n);
  // Less time is not paid back.
  const shorter = await call(name, { method: 'PATCH', body: { ttl: '60s' } });
  assert.equal((await chargeOf(shorter.id)).nanos, 0n);
  const [row] = (await rows()).filter(({ id }) => name.endsWith(id));
  assert.equal(row?.expires_at.toISOString(), new Date(String(shorter.body.expireTime)).toISOString());
  const used = await use(name);
  assert.equal(Number((await chargeOf(used.id)).cached_input_tokens), totalTokenCount);
  const holds = await sql`select from holds where state = 'held' and reference like 'background:%'`.execute(
    gateway.context.database.db,
  );
  assert.equal(holds.rows.length, 0);
  await checkLedger(gateway.context.database.db);
});

test('a balance that does not cover the time is refused before anything is sent', async () => {
  const poor = await gateway.apply({
    users: [{ id: 'poor', balance: '0.5' }],
    keys: [{ user: 'poor', group: 'gemini' }],
  });
  const sent = sim.journal.requests.length;
  const body = { model: `models/${MODEL}`, contents: CONTENTS, ttl: '604800s' };
  const refused = await call('cachedContents', { token: tokenOf(poor), body });
  assert.equal(refused.status, 402, refused.text);
  assert.equal(sim.journal.requests.length, sent);
});

/** Every route that names a cached content, and every identity that it does not belong to. */
test('a cached content of another user is missing for everybody else, on every route', async () => {
  const { name } = await create();
  const routes = [
    (one: string, token: string) => call(one, { method: 'GET', token }),
    (one: string, token: string) => call(one, { method: 'PATCH', token, body: { ttl: '900s' } }),
    (one: string, token: string) => call(one, { method: 'DELETE', token }),
    (one: string, token: string) => use(one, token),
    (one: string, token: string) =>
      call(`models/${MODEL}:countTokens`, { token, body: { contents: CONTENTS, cachedContent: one } }),
  ];
  const unknown = 'cachedContents/cache-unknown';
  const revoked = await gateway.apply({
    users: [{ id: 'gone', balance: '10' }],
    keys: [{ user: 'gone', group: 'gemini' }],
  });
  await gateway.context.database.db
    .updateTable('keys')
    .set({ revoked_at: new Date() })
    .where('user_id', '=', 'gone')
    .execute();
  await gateway.apply({});
  const others: readonly [string, string, number][] = [
    ['another user', tokenOf(bob), 404],
    ['the owner with a key of another group of the style', tokenOf(ana, 'other'), 404],
    ['the owner with a key of another style', tokenOf(ana, 'openai'), 404],
    ['another user with a key of another style', tokenOf(bob, 'openai'), 404],
    ['a key that was revoked', tokenOf(revoked), 401],
    ['no key of ours', 'wrong', 401],
  ];
  for (const [who, token, status] of others)
    for (const [n, route] of routes.entries()) {
      const sent = sim.journal.requests.length;
      const missing = await route(unknown, token);
      const foreign = await route(name, token);
      assert.deepEqual([foreign.status, missing.status], [status, status], `${who}, route ${n}: ${foreign.text}`);
      const told = (text: string | undefined): string | undefined => text?.replaceAll(/cache-\w+/g, 'ID');
      assert.equal(told(foreign.error?.message), told(missing.error?.message), who);
      assert.equal(sim.journal.requests.length, sent, `${who}, route ${n}: nothing is sent`);
    }
  assert.deepEqual((await call('cachedContents', { method: 'GET', token: tokenOf(bob) })).body, {});
  assert.deepEqual((await call('cachedContents', { method: 'GET', token: tokenOf(ana, 'other') })).body, {});
  // Another key of the owner has it.
  const second = await gateway.apply({ keys: [{ user: 'ana', group: 'gemini', name: 'second' }] });
  for (const route of routes)
    assert.equal((await route(name, tokenOf(second))).status, route === routes[3] || route === routes[4] ? 404 : 200);
});

test('one that has expired is missing, and its row goes', async () => {
  const { name } = await create();
  const id = name.replace('cachedContents/', '');
  const { db } = gateway.context.database;
  await db
    .updateTable('provider_objects')
    .set({ expires_at: new Date(0) })
    .where('id', '=', id)
    .execute();
  assert.equal((await call(name, { method: 'GET' })).status, 404);
  assert.equal((await use(name)).status, 404);
});

test('a user keeps a limited number of them', async () => {
  const { db } = gateway.context.database;
  const many = await gateway.apply({
    users: [{ id: 'many', balance: '10' }],
    keys: [{ user: 'many', group: 'gemini' }],
  });
  await sql`insert into provider_objects (user_id, kind, id, account_id, model, tokens, shown, expires_at)
    select 'many', 'cache', 'old-' || n, 'x', 'm', 1, '{}', now() + interval '1 hour'
    from generate_series(1, ${CACHED_CONTENTS.perUser}) n`.execute(db);
  const refused = await call('cachedContents', {
    token: tokenOf(many),
    body: { model: `models/${MODEL}`, contents: CONTENTS },
  });
  assert.equal(refused.status, 400, refused.text);
});

test('what fails costs nothing and is owned by nobody', async () => {
  const before = (await rows()).length;
  const failed = async (more: Json, headers: Record<string, string> = {}) => {
    const response = await fetch(`${gateway.url}/v1beta/cachedContents`, {
      method: 'POST',
      headers: { 'x-goog-api-key': tokenOf(ana), 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: `models/${MODEL}`, contents: CONTENTS, ...more }),
    });
    const { error } = (await response.json()) as { error?: { message: string } };
    return [response.status, error?.message.split(':')[0]];
  };
  assert.equal((await failed({ contents: undefined }))[0], 400);
  assert.equal((await failed({}, { 'x-sim': 'garbage' }))[0], 502);
  assert.deepEqual(await failed({ ttl: 'long' }), [400, 'ttl']);
  assert.deepEqual(await failed({ ttl: `${CACHED_CONTENTS.maxSeconds + 1}s` }), [400, 'ttl']);
  assert.deepEqual(await failed({ expireTime: '2999-01-01T00:00:00Z' }), [400, 'expireTime']);
  assert.equal((await failed({ model: 'models/unknown-model' }))[0], 404);
  assert.equal((await rows()).length, before);
  const { rows: open } = await sql`select from background_responses where state = 'sending'`.execute(
    gateway.context.database.db,
  );
  assert.equal(open.length, 0);
});

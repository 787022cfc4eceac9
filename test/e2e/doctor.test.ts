/** What `dragoman doctor` reports about the installation, video accounts and models, a proxy, sign-in to the console, and accounts that it tests. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeAudit } from '../../src/access/keys/index.ts';
import { migrateTo, openDatabase, readMigrationState } from '../../src/platform/db/index.ts';
import { checkBackup, checkClock } from '../../src/program/cli/installation-checks.ts';
import { type Canned, jsonResponse, sseResponse, startCanned } from '../support/canned.ts';
import { runHere } from '../support/cli.ts';
import { addPerson } from '../support/console.ts';
import { emptyDatabase, testDatabase } from '../support/database.ts';
import { longTest } from '../support/long-test.ts';
import { CLIENT, OidcProvider } from '../support/oidc-provider.ts';
import { streamEnd, streamStart } from '../support/scripted.ts';
import { SkewedClock } from '../support/skewed-clock.ts';

const setup = (accounts: readonly object[]) =>
  JSON.stringify({
    groups: [{ id: 'film', style: 'video', variant: 'EP' }],
    accounts,
    models: [
      { id: 'priced', groups: ['film'], prices: { video: { '720p': '7' } } },
      { id: 'unpriced', groups: ['film'] },
      { id: 'text-price', groups: ['film'], prices: { input: '1', output: '2' } },
      { id: 'announced', groups: ['film'], prices: { video: '7' }, valid_from: '2099-01-01T00:00:00Z' },
    ],
  });

const account = (id: string, base_url: string) => ({ id, group: 'film', base_url, api_key: 'sk-up' });

longTest('doctor reports video accounts that cannot report tasks, and video models without a price', async () => {
  const database = await testDatabase();
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'dragoman-doctor-'));
  const env = { DATA_DIR, DATABASE_URL: database.url };
  const videoLines = async (PUBLIC_URL?: string): Promise<string[]> => {
    const { code, stdout } = await runHere(['doctor'], { env: { ...env, ...(PUBLIC_URL && { PUBLIC_URL }) } });
    assert.equal(code, 0, stdout);
    return [...stdout.matchAll(/^note {2}Video +(.*)$/gm)].map(([, text = '']) => text);
  };
  try {
    const accounts = [account('far', 'https://video.example/api/v3'), account('near', 'http://127.0.0.1:9/api/v3')];
    const file = join(DATA_DIR, 'setup.json');
    writeFileSync(file, setup(accounts));
    const applied = await runHere(['apply', file], { env });
    assert.equal(applied.code, 0, applied.stderr);
    const unpriced = ['unpriced', 'text-price', 'announced'].map(
      (model) => `model ${model} of group film has no video price; requests get model_not_allowed until one is applied`,
    );
    assert.deepEqual(await videoLines('https://gateway.example'), unpriced);
    for (const url of ['http://gateway.example', 'https://localhost', 'https://10.0.0.1', 'https://[fd00::1]']) {
      const [silent = '', ...others] = await videoLines(url);
      assert.ok(silent.startsWith(`${url} is not a public HTTPS address, so providers cannot report tasks of far;`));
      assert.deepEqual(others, unpriced);
    }
  } finally {
    await database.drop();
    rmSync(DATA_DIR, { recursive: true, force: true });
  }
});

test('doctor mentions an empty TRUST_PROXY behind HTTPS', async () => {
  const database = await testDatabase();
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'dragoman-doctor-'));
  const env = { DATA_DIR, DATABASE_URL: database.url, PUBLIC_URL: 'https://gateway.example' };
  const hasNote = async (extra: Record<string, string>): Promise<boolean> =>
    /^note {2}Proxy .*Set TRUST_PROXY/m.test((await runHere(['doctor'], { env: { ...env, ...extra } })).stdout);
  try {
    assert.equal(await hasNote({}), true);
    assert.equal(await hasNote({ TRUST_PROXY: '10.0.0.1' }), false);
    assert.equal(await hasNote({ PUBLIC_URL: 'http://gateway.example' }), false);
  } finally {
    await database.drop();
    rmSync(DATA_DIR, { recursive: true, force: true });
  }
});

test('doctor reports a missing operator and an OpenID provider that cannot be reached', async () => {
  const database = await testDatabase();
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'dragoman-doctor-'));
  const provider = new OidcProvider();
  const OIDC_ISSUER = await provider.start();
  const env = { DATA_DIR, DATABASE_URL: database.url, OIDC_ISSUER, OIDC_CLIENT_ID: CLIENT.id };
  try {
    const first = await runHere(['doctor'], { env });
    assert.equal(first.code, 0, first.stdout);
    assert.match(first.stdout, /^note {2}Sign-in .*no operator yet; "npx dragoman admin link" prints a link/m);
    assert.match(first.stdout, /^ok {4}Sign-in .*OpenID Connect: http:\/\/127\.0\.0\.1:\d+ is reachable/m);

    const { db, close } = openDatabase(database.url, 1);
    await addPerson(db, { email: 'o@example.test', role: 'operator' });
    await close();
    await provider.stop();
    const second = await runHere(['doctor'], { env });
    assert.equal(second.code, 1, second.stdout);
    assert.doesNotMatch(second.stdout, /no operator yet/);
    assert.match(second.stdout, /^BAD {3}Sign-in .*does not work: .*Check OIDC_ISSUER/m);
  } finally {
    await database.drop();
    rmSync(DATA_DIR, { recursive: true, force: true });
  }
});

test('doctor reports version and schema, clock, backup and console', async () => {
  const database = await testDatabase();
  const { db, close } = openDatabase(database.url, 2);
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'dragoman-doctor-'));
  const env = { DATA_DIR, DATABASE_URL: database.url, CONSOLE_DIR: join(DATA_DIR, 'console') };
  try {
    const { done } = await readMigrationState(db);
    const first = await runHere(['doctor'], { env: { ...env, RESULT_MIRROR_DIR: join(DATA_DIR, 'mirror') } });
    for (const line of [
      new RegExp(`^ok {4}Version +Dragoman \\S+, schema ${done.at(-1)}$`, 'm'),
      /^ok {4}Clock +agrees with PostgreSQL$/m,
      /^note {2}Backup +there was no export yet; run "dragoman export FILE", unless/m,
      /^note {2}Console +not built in .*console; run "npm run console"/m,
      /^BAD {3}Mirror +ENOENT.*; mount or create RESULT_MIRROR_DIR$/m,
    ])
      assert.match(first.stdout, line);
    await writeAudit(db, { actor: 'cli' }, { action: 'database.exported', subject: 'database' });
    mkdirSync(env.CONSOLE_DIR);
    writeFileSync(join(env.CONSOLE_DIR, 'index.html'), '');
    const second = await runHere(['doctor'], { env });
    assert.match(second.stdout, /^ok {4}Backup +the last export is of \S+Z, 0 days ago$/m);
    assert.match(second.stdout, /^ok {4}Console +built, in /m);
    assert.equal(second.code, 0, second.stdout);
    const clock = new SkewedClock();
    clock.shift(20_000);
    assert.match(
      (await checkClock(db, clock)).text,
      /^(?:20\.0|19\.\d) s ahead of PostgreSQL; synchronise both machines/,
    );
    clock.shift(20_000);
    assert.equal((await checkClock(db, clock)).state, 'bad');
    clock.shift(10 * 86_400_000);
    const old = await checkBackup(db, clock);
    assert.deepEqual([old.state, /, 10 days ago; run "dragoman export/.test(old.text)], ['note', true]);
  } finally {
    await close();
    await database.drop();
    rmSync(DATA_DIR, { recursive: true, force: true });
  }
});

test('doctor leaves the database of an earlier version as it is', async () => {
  const database = await emptyDatabase();
  const { db, close } = openDatabase(database.url, 2);
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'dragoman-doctor-'));
  try {
    const { missing } = await readMigrationState(db);
    await migrateTo(database.url, missing.at(-2) ?? '');
    const { code, stdout } = await runHere(['doctor'], { env: { DATA_DIR, DATABASE_URL: database.url } });
    assert.match(
      stdout,
      /^BAD {3}Version +Dragoman \S+ needs 1 migrations that the database lacks, .*export it, then start/m,
    );
    assert.equal(code, 1);
    assert.equal((await readMigrationState(db)).missing.length, 1);
  } finally {
    await close();
    await database.drop();
    rmSync(DATA_DIR, { recursive: true, force: true });
  }
});

const TESTED = (provider: Canned) => ({
  groups: [
    { id: 'claude', style: 'messages' },
    { id: 'openai', style: 'responses' },
    { id: 'film', style: 'video', variant: 'EP' },
    { id: 'wide', style: 'messages' },
  ],
  accounts: [
    { id: 'listing', group: 'wide', base_url: provider.url, api_key: 'listing-key' },
    { id: 'renaming', group: 'wide', base_url: provider.url, api_key: 'good-key', models: { 'claude-a': 'its-own' } },
    { id: 'good', group: 'claude', base_url: provider.url, api_key: 'good-key' },
    { id: 'refused', group: 'claude', base_url: provider.url, api_key: 'refused-key' },
    { id: 'broken', group: 'claude', base_url: provider.url, api_key: 'broken-key' },
    { id: 'away', group: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'away-key' },
    account('far', 'https://video.example/api/v3'),
  ],
  models: [
    { id: 'dear', groups: ['claude', 'openai'], prices: { input: '1', output: '10' } },
    { id: 'cheap', groups: ['claude'], upstream: 'cheap-real', prices: { input: '1', output: '2' } },
    { id: 'any-*', groups: ['claude'], prices: { input: '0', output: '0' } },
    { id: 'claude-*', groups: ['wide'], prices: { input: '1', output: '2' } },
  ],
});

test('doctor --accounts sends every text account one tiny request and prints what its provider says', async () => {
  const database = await testDatabase();
  const provider = await startCanned();
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'dragoman-doctor-'));
  const env = { DATA_DIR, DATABASE_URL: database.url };
  const error = (message: string) =>
    JSON.stringify({ type: 'error', error: { type: 'authentication_error', message } });
  provider.respondWith((response, request) => {
    const good = sseResponse(streamStart('messages', 'ok'), streamEnd.messages('ok'));
    const listed = { data: [{ id: 'other-haiku' }, { id: 'claude-big' }, { id: 'claude-haiku' }] };
    const script = {
      'listing-key': request.method === 'GET' ? jsonResponse(JSON.stringify(listed)) : good,
      'good-key': good,
      'refused-key': jsonResponse(error('invalid x-api-key refused-key'), 401),
      'broken-key': sseResponse(streamStart('messages', 'o')),
    }[String(request.headers['x-api-key'])];
    return script?.(response, request);
  });
  try {
    const file = join(DATA_DIR, 'setup.json');
    writeFileSync(file, JSON.stringify(TESTED(provider)));
    assert.equal((await runHere(['apply', file], { env })).code, 0);
    const { code, stdout } = await runHere(['doctor', '--accounts'], { env });
    assert.equal(code, 1);
    for (const line of [
      /^note {2}Test +each account got one request of a few tokens, which its provider bills to you$/m,
      /^ok {4}Test +good \(claude\) replied with cheap-real: first byte [\d.]+ ms, all [\d.]+ ms$/m,
      /^BAD {3}Test +refused \(claude\) failed with cheap-real: HTTP 401, .*: invalid x-api-key \[redacted\]$/m,
      /^BAD {3}Test +broken \(claude\) failed with cheap-real: HTTP 200, /m,
      /^BAD {3}Test +away \(openai\) failed with dear: no response, .*: ECONNREFUSED$/m,
      /^ok {4}Test +listing \(wide\) replied with claude-haiku: /m,
      /^ok {4}Test +renaming \(wide\) replied with its-own: /m,
      /^note {2}Test +far \(film\) is a video account and was not tested$/m,
    ])
      assert.match(stdout, line);
    const bodies = provider.requests
      .filter(({ method }) => method === 'POST')
      .map(({ body }) => JSON.parse(String(body)));
    assert.equal(bodies.length, 5);
    assert.ok(bodies.every(({ max_tokens, stream }) => max_tokens === 16 && stream === true));
  } finally {
    await provider.close();
    await database.drop();
    rmSync(DATA_DIR, { recursive: true, force: true });
  }
});

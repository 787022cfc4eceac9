/** Sign-in to the console: the first operator, invitations, passwords, sessions, cookies and limits of attempts. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { createFirstLink, expireSignIns, Passwords, redeemLink, resetPerson } from '../../src/access/people/index.ts';
import type { ApiError } from '../../src/core/index.ts';
import { LINK_MS, SESSION_MS, SIGN_IN_FAILURES } from '../../src/rules/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { runHere } from '../support/cli.ts';
import { addPerson, Browser, browserOf, type ConsoleFault } from '../support/console.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';

const SESSION = '/console/v1/session';
const LINK = '/console/v1/link';
const PASSWORD = 'correct horse battery';

let gateway: TestGateway;
let passwordHash: string;
const admin = adminApi(() => gateway.url);
const db = () => gateway.context.database.db;
const browser = () => new Browser(() => gateway.url);

interface SessionBody {
  readonly person: { id: string; name: string; email: string; role: string; user: string | null };
  readonly csrf: string;
  readonly oidc: boolean;
}
interface Invited {
  readonly id: string;
  readonly link: string;
  readonly state: string;
}

before(async () => {
  gateway = await startGateway({ env: { ADMIN_TOKEN }, setup: basicSetup() });
  passwordHash = await new Passwords(gateway.context.secrets.pepper).hash(PASSWORD);
});
after(() => gateway.stop());

/** The environment of a command on the same machine. */
const machine = () => {
  const { DATA_DIR, DATABASE_URL, MASTER_KEY } = gateway.context.config;
  return { DATA_DIR, DATABASE_URL, MASTER_KEY };
};
const tokenIn = (link: string): string => link.split('#')[1] ?? '';
const isSignedIn = async (one: Browser): Promise<boolean> => (await one.send('GET', SESSION)).status === 200;
const signIn = (one: Browser, email: string, password = PASSWORD) =>
  one.send<SessionBody & ConsoleFault>('POST', SESSION, { email, password });

test('the first operator signs in by a link of the command line, which works once', async () => {
  const one = browser();
  const before = await one.send('GET', SESSION);
  assert.equal(before.status, 401);
  assert.deepEqual(
    { ...before.body, error: (before.body as unknown as ConsoleFault).error.code },
    {
      error: 'not_signed_in',
      oidc: false,
      first_run: true,
    },
  );
  const { pepper } = gateway.context.secrets;
  const firstLink = (isShared: boolean) => createFirstLink(db(), { now: Date.now(), pepper, isShared });
  const [replaced = assert.fail(), other] = await Promise.all([firstLink(true), firstLink(true)]);
  assert.equal(other?.token, replaced.token, 'replicas that start together print one link');
  const { stdout, stderr } = await runHere(['admin', 'link'], {
    env: { ...machine(), PUBLIC_URL: 'https://gw.example' },
  });
  assert.match(stdout, /^https:\/\/gw\.example\/console\/link#[\w-]{43}\n$/, stderr);
  const token = tokenIn(stdout.trim());
  const first = { token, name: 'Ada', email: 'Ada@Example.test', password: PASSWORD };
  const old = await one.send<ConsoleFault>('POST', LINK, { ...first, token: replaced.token });
  assert.equal(old.body.error.code, 'invalid_link', 'a new link replaces the earlier one');
  assert.equal((await firstLink(true))?.token, token, 'a later start keeps it');
  assert.deepEqual((await one.send('POST', `${LINK}/read`, { token })).body, {
    purpose: 'first',
    name: null,
    email: null,
  });
  const short = await one.send<ConsoleFault>('POST', LINK, { ...first, password: 'short' });
  assert.equal(short.body.error.param, 'password');
  const { name: _, ...nameless } = first;
  assert.equal((await one.send<ConsoleFault>('POST', LINK, nameless)).body.error.param, 'name');

  const answers = await Promise.all([one.send('POST', LINK, first), browser().send('POST', LINK, first)]);
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 400], 'of two requests one uses the link');
  const { body } = await signIn(one, ' ADA@example.test ');
  assert.deepEqual(
    { ...body.person, id: '' },
    { id: '', name: 'Ada', email: 'ada@example.test', role: 'operator', user: null },
  );
  assert.equal(await firstLink(true), undefined);
  const anonymous = await browser().send<{ first_run: boolean }>('GET', SESSION);
  assert.equal(anonymous.body.first_run, false);
  const { rows } = await sql<{ actor: string }>`select actor from audit where action = 'person.created'`.execute(db());
  assert.deepEqual(rows, [{ actor: `person:${body.person.id}` }]);
});

test('an invitation sets a password once, a reset ends every session, and no stored value opens anything', async () => {
  const invited = await admin<Invited>('POST', '/people', { email: 'bo@example.test', role: 'user', user: 'ana' });
  assert.equal(invited.status, 201, invited.text);
  assert.equal(invited.body.state, 'invited');
  const one = browser();
  const token = tokenIn(invited.body.link);
  const used = await one.send<SessionBody>('POST', LINK, { token, password: PASSWORD, name: 'Bo B' });
  assert.equal(used.status, 200, used.text);
  assert.equal(used.body.person.user, 'ana');
  assert.equal(
    (await one.send<ConsoleFault>('POST', LINK, { token, password: PASSWORD })).body.error.code,
    'invalid_link',
  );
  const reset = await admin<Invited>('POST', `/people/${invited.body.id}/reset`, {});
  assert.ok(await isSignedIn(one), 'a link alone ends nothing');
  const other = browser();
  await other.send('POST', LINK, { token: tokenIn(reset.body.link), password: 'another long password' });
  assert.ok(await isSignedIn(other));
  assert.ok(!(await isSignedIn(one)));
  assert.equal((await signIn(one, 'bo@example.test')).body.error.code, 'invalid_credentials', 'the old password');

  await db().updateTable('person_links').set({ expires_at: new Date() }).execute();
  const late = await admin<Invited>('POST', `/people/${invited.body.id}/reset`, {});
  await db()
    .updateTable('person_links')
    .set({ expires_at: new Date(Date.now() - 1) })
    .execute();
  const expired = await one.send<ConsoleFault>('POST', `${LINK}/read`, { token: tokenIn(late.body.link) });
  assert.equal(expired.body.error.code, 'invalid_link');
  const session = other.cookies.get('dragoman_session') ?? assert.fail();
  const { rows } = await sql<{ text: string }>`
    select s::text as text from person_sessions s union all select p::text from people p union all select l::text from person_links l`.execute(
    db(),
  );
  const stored = rows.map(({ text }) => text).join('\n');
  const hex = Buffer.from(session, 'base64url').toString('hex');
  for (const secret of [session, hex, tokenIn(late.body.link), 'another long password'])
    assert.ok(!stored.includes(secret) && !JSON.stringify(gateway.log).includes(secret));
  assert.match(stored, /\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
});

test('a link that is used while it is replaced either works or is invalid', async () => {
  const id = await addPerson(db(), { email: 'race@example.test', role: 'operator' });
  const context = { by: { actor: 'cli' }, now: Date.now() } as const;
  const use = { passwordHash, name: undefined, email: undefined, now: Date.now(), requestId: 'req_1', address: '::1' };
  for (let n = 0; n < 20; n += 1) {
    const { link } = await resetPerson(db(), id, context);
    const [used, replaced] = await Promise.allSettled([
      redeemLink(db(), { ...use, token: link.token }),
      resetPerson(db(), id, context),
    ]);
    assert.equal(replaced.status, 'fulfilled', String('reason' in replaced && replaced.reason));
    if (used.status === 'rejected') assert.equal((used.reason as ApiError).code, 'invalid_link', String(used.reason));
  }
});

test('cookies are HttpOnly and Strict; with HTTPS they have the prefix __Host- and Secure', async () => {
  await addPerson(db(), { email: 'cookie@example.test', role: 'operator', passwordHash });
  const { headers } = await signIn(browser(), 'cookie@example.test');
  assert.match(
    headers.getSetCookie().join('\n'),
    /^dragoman_session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
  );
  assert.equal(headers.get('cache-control'), 'no-store');
  const { database } = gateway;
  const secure = await startGateway({ database, env: { PUBLIC_URL: 'https://gw.example' } });
  try {
    const { port } = secure.log.find(({ msg }) => msg === 'server.ready') ?? assert.fail();
    const url = () => `http://127.0.0.1:${port}`;
    const one = new Browser(url);
    const cookie = (await signIn(one, 'cookie@example.test')).headers.getSetCookie().join('\n');
    assert.match(cookie, /^__Host-dragoman_session=[\w-]{43}; .*; Secure$/);
    assert.ok(await isSignedIn(one));
    const plain = new Browser(url);
    plain.cookies.set('dragoman_session', one.cookies.get('__Host-dragoman_session') ?? '');
    assert.ok(!(await isSignedIn(plain)), 'the plain name counts for nothing');
  } finally {
    await secure.stop();
  }
});

test('unknown addresses, wrong passwords, people without a password and disabled people get the same response', async () => {
  await addPerson(db(), { email: 'known@example.test', role: 'operator', passwordHash });
  await addPerson(db(), { email: 'invited@example.test', role: 'operator' });
  const disabled = await addPerson(db(), { email: 'disabled@example.test', role: 'operator', passwordHash });
  assert.equal((await admin('PATCH', `/people/${disabled}`, { disabled: true })).status, 200);
  const responses = await Promise.all([
    signIn(browser(), 'unknown@example.test'),
    signIn(browser(), 'known@example.test', 'a wrong password'),
    signIn(browser(), 'invited@example.test'),
    signIn(browser(), 'disabled@example.test'),
  ]);
  const bodies = new Set(responses.map(({ text }) => text));
  assert.deepEqual([...new Set(responses.map(({ status }) => status))], [401]);
  assert.equal(bodies.size, 1);
  assert.match([...bodies][0] ?? '', /invalid_credentials/);
});

test('a browser that signed in before is not locked out by the failures of others', async () => {
  await addPerson(db(), { email: 'target@example.test', role: 'operator', passwordHash });
  const own = browser();
  await signIn(own, 'target@example.test');
  await own.send('GET', SESSION);
  assert.ok(own.cookies.has('dragoman_browser'));
  const statuses: number[] = [];
  for (let n = 0; n <= SIGN_IN_FAILURES.email; n += 1)
    statuses.push((await signIn(browser(), 'target@example.test', 'a wrong password')).status);
  assert.deepEqual(statuses, [...Array(SIGN_IN_FAILURES.email).fill(401), 429]);
  const limited = await signIn(browser(), 'target@example.test');
  assert.equal(limited.status, 429, 'the right password is not tried any more');
  assert.ok(Number(limited.headers.get('retry-after')) > 60);
  assert.equal((await signIn(own, 'target@example.test')).status, 200);
  assert.equal((await signIn(browser(), 'known@example.test')).status, 200, 'other people sign in');
  own.cookies.set('dragoman_browser', `${own.cookies.get('dragoman_browser')}x`);
  assert.equal((await signIn(own, 'target@example.test')).status, 429, 'a forged browser');
});

test('a session ends when it is idle, too old, signed out, or when the person is changed', async () => {
  const id = await addPerson(db(), { email: 'session@example.test', role: 'operator', passwordHash });
  const age = (column: 'seen_at' | 'expires_at', ms: number) =>
    db()
      .updateTable('person_sessions')
      .set({ [column]: new Date(Date.now() + ms) })
      .where('person_id', '=', id)
      .execute();
  const ends: Record<string, (one: Browser) => Promise<unknown>> = {
    idle: () => age('seen_at', 1_000 - SESSION_MS.idle - 2_000),
    'too old': () => age('expires_at', -1),
    'signed out': (one) => one.send('DELETE', SESSION),
    'signed out by an operator': () => admin('POST', `/people/${id}/sign-out`, {}),
    'another role': () => admin('PATCH', `/people/${id}`, { role: 'user', user: 'ana' }),
    disabled: () => admin('PATCH', `/people/${id}`, { disabled: true }),
  };
  for (const [name, end] of Object.entries(ends)) {
    const one = await browserOf(gateway, id);
    assert.ok(await isSignedIn(one), name);
    await end(one);
    assert.ok(!(await isSignedIn(one)), name);
    assert.ok(!one.cookies.has('dragoman_session'), 'the browser forgets an ended session');
  }
  assert.equal((await admin('PATCH', `/people/${id}`, { disabled: false })).status, 200);
  const [one, other] = [await browserOf(gateway, id), await browserOf(gateway, id)];
  await age('seen_at', -SESSION_MS.touch * 2);
  const usedAt = Date.now();
  assert.ok(await isSignedIn(one));
  const { seen_at } = await db()
    .selectFrom('person_sessions')
    .select('seen_at')
    .where('person_id', '=', id)
    .orderBy('seen_at', 'desc')
    .executeTakeFirstOrThrow();
  assert.ok(seen_at.getTime() >= usedAt, 'use is noted');
  assert.equal((await other.send('DELETE', `${SESSION}?everywhere=true`)).status, 204);
  assert.ok(!(await isSignedIn(one)));
  assert.ok(!other.cookies.has('dragoman_session'));
});

test('ended sessions and links are removed, and a person has at most twenty sessions', async () => {
  const id = await addPerson(db(), { email: 'expires@example.test', role: 'operator' });
  for (let n = 0; n < 22; n += 1) await browserOf(gateway, id);
  const count = async (table: 'person_sessions' | 'person_links') =>
    (await db().selectFrom(table).selectAll().where('person_id', '=', id).execute()).length;
  assert.deepEqual([await count('person_sessions'), await count('person_links')], [20, 1]);
  await expireSignIns(db(), Date.now());
  assert.deepEqual([await count('person_sessions'), await count('person_links')], [20, 1]);
  assert.ok((await expireSignIns(db(), Date.now() + LINK_MS.invite)) >= 21);
  assert.deepEqual([await count('person_sessions'), await count('person_links')], [0, 0]);
});

test('a person changes their password: the session gets a new token and all others end', async () => {
  const id = await addPerson(db(), { email: 'changes@example.test', role: 'user', user: 'ana', passwordHash });
  const [one, other] = [await browserOf(gateway, id), await browserOf(gateway, id)];
  const path = '/console/v1/password';
  const wrong = await one.send<ConsoleFault>('POST', path, {
    current: 'a wrong password',
    password: 'new long password',
  });
  assert.equal(wrong.body.error.code, 'invalid_credentials');
  const before = one.cookies.get('dragoman_session');
  const changed = await one.send<SessionBody>('POST', path, { current: PASSWORD, password: 'new long password' });
  assert.equal(changed.status, 200, changed.text);
  assert.notEqual(one.cookies.get('dragoman_session'), before);
  assert.ok(await isSignedIn(one));
  assert.ok(!(await isSignedIn(other)));
  assert.equal((await signIn(other, 'changes@example.test', 'new long password')).status, 200);
});

test('a sign-in ends the session that the browser had, and sign-in from another site is rejected', async () => {
  const id = await addPerson(db(), { email: 'rotated@example.test', role: 'operator', passwordHash });
  const one = await browserOf(gateway, id);
  const stolen = new Browser(() => gateway.url);
  stolen.cookies.set('dragoman_session', one.cookies.get('dragoman_session') ?? '');
  assert.equal((await signIn(one, 'rotated@example.test')).status, 200);
  assert.ok(!(await isSignedIn(stolen)));
  const body = { email: 'rotated@example.test', password: PASSWORD };
  const { host } = new URL(gateway.url);
  const origins: [Record<string, string | undefined>, number][] = [
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': undefined, origin: 'https://evil.example' }, 403],
    [{ 'sec-fetch-site': undefined, origin: 'null' }, 403],
    [{ 'sec-fetch-site': undefined }, 403],
    [{ 'sec-fetch-site': undefined, origin: `http://${host}` }, 200],
  ];
  for (const [headers, status] of origins)
    assert.equal((await browser().send('POST', SESSION, body, headers)).status, status, JSON.stringify(headers));
});

test('the last operator can neither be disabled nor lose the role', async () => {
  const { rows } = await sql<{ id: string }>`
    select id from people where role = 'operator' and disabled_at is null order by id`.execute(db());
  const [last, ...others] = rows.map(({ id }) => id);
  for (const id of others) assert.equal((await admin('PATCH', `/people/${id}`, { disabled: true })).status, 200);
  for (const change of [{ disabled: true }, { role: 'user', user: 'ana' }])
    assert.equal((await admin('PATCH', `/people/${last}`, change)).status, 409);
  const [one, two] = others;
  for (const id of [one, two]) await admin('PATCH', `/people/${id}`, { disabled: false });
  await admin('PATCH', `/people/${last}`, { disabled: true });
  const both = await Promise.all([one, two].map((id) => admin('PATCH', `/people/${id}`, { disabled: true })));
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 409], 'two at once');
});

test('the commands create operators and new links', async () => {
  const made = await runHere(['admin', 'create', '--email', 'cli@example.test', '--name', 'Cli'], { env: machine() });
  assert.equal(made.code, 0, made.stderr);
  const again = await runHere(['admin', 'link', '--email', 'cli@example.test'], { env: machine() });
  const one = browser();
  const use = (link: string) =>
    one.send<SessionBody>('POST', LINK, { token: tokenIn(link.trim()), password: PASSWORD });
  assert.equal((await use(made.stdout)).status, 400, 'the new link replaces that of the invitation');
  const { person } = (await use(again.stdout)).body;
  assert.deepEqual([person.role, person.name], ['operator', 'Cli']);
});

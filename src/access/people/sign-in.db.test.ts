/** Who may sign in, and what ends with a change of a person. test/e2e/sign-in.test.ts has the same over HTTP. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { type ApiError, createSealer } from '../../core/index.ts';
import { type Database, type Db, openDatabase } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { BROWSER_MS, OIDC_STATE_MS } from '../../rules/index.ts';
import { createFirstLink, redeemLink } from './links.ts';
import { OidcClient } from './oidc-client.ts';
import { signInWithOidc } from './oidc-sign-in.ts';
import { Passwords } from './passwords.ts';
import { changePerson, invitePerson, resetPerson } from './people.ts';
import { SessionGuard } from './session-guard.ts';
import { findPersonSession, storePassword } from './sessions.ts';
import { SignIn } from './sign-in.ts';
import { LocalSignInCounts, type SignInCounts } from './sign-in-limits.ts';

const PEPPER = randomBytes(32);
const PASSWORD = 'correct horse battery';
const clock = new FakeClock();
const by = { actor: 'cli' } as const;
const passwords = new Passwords(PEPPER);
let own: TestDatabase;
let database: Database;
let db: Db;

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url, 4);
  ({ db } = database);
});
after(async () => {
  await database.close();
  await own.drop();
});

const context = () => ({ by, now: clock.now() });
const invite = (email: string) =>
  invitePerson(db, { email, name: email, role: 'operator', user: null }, context()).then(({ person, link }) => ({
    id: person.id,
    token: link.token,
  }));
const redeem = (token: string, more: { name?: string; email?: string } = {}) =>
  redeemLink(db, {
    token,
    passwordHash: 'unusable',
    name: more.name,
    email: more.email,
    now: clock.now(),
    requestId: 'req_1',
    address: '::1',
  });
const isCode =
  (code: string) =>
  (error: unknown): boolean =>
    (error as ApiError).code === code;
const setDisabled = (id: string, at: Date | null) =>
  db.updateTable('people').set({ disabled_at: at }).where('id', '=', id).execute();

test('the link of the first operator opens nothing once there is an operator', async () => {
  const first = await createFirstLink(db, { now: clock.now(), pepper: PEPPER });
  await invite('first@example.test');
  await assert.rejects(redeem(first?.token ?? '', { name: 'Eve', email: 'eve@example.test' }), isCode('invalid_link'));
});

test('a person who was disabled has no link afterwards, gets no new one and no session', async () => {
  const { id, token } = await invite('gone@example.test');
  await changePerson(db, id, { disabled: true }, context());
  await assert.rejects(resetPerson(db, id, context()), isCode('conflict'));
  await changePerson(db, id, { disabled: false }, context());
  await assert.rejects(redeem(token), isCode('invalid_link'), 'of before');
  const { link } = await resetPerson(db, id, context());
  const { token: session } = await redeem(link.token);
  const later = await resetPerson(db, id, context());
  // By hand, so that nothing else ended.
  await setDisabled(id, new Date());
  assert.equal(await findPersonSession(db, session, clock.now()), undefined);
  await assert.rejects(redeem(later.link.token), isCode('invalid_link'));
});

test('a new password makes a link that was not used invalid', async () => {
  const { id, token } = await invite('careful@example.test');
  await db.transaction().execute((tx) => storePassword(tx, { id, passwordHash: 'other', by }));
  await assert.rejects(redeem(token), isCode('invalid_link'));
});

test('a password that is replaced while it is compared opens nothing', async () => {
  const { id } = await invite('raced@example.test');
  await db
    .updateTable('people')
    .set({ password_hash: await passwords.hash(PASSWORD) })
    .where('id', '=', id)
    .execute();
  const input = { email: 'raced@example.test', password: PASSWORD, address: '::1', browser: undefined };
  const signIn = (counts: SignInCounts) =>
    new SignIn({ db, clock, passwords, pepper: PEPPER, counts }).withPassword(input);
  assert.equal((await signIn(new LocalSignInCounts(clock))).session.person.id, id);
  const replaced: SignInCounts = {
    async begin() {
      await db.updateTable('people').set({ password_hash: 'replaced' }).where('id', '=', id).execute();
      return null;
    },
    succeed() {},
  };
  await assert.rejects(signIn(replaced), isCode('invalid_credentials'));
});

test('a browser is recognised for its own person alone, and for half a year', () => {
  const late = new FakeClock();
  const signIn = new SignIn({ db, clock: late, passwords, pepper: PEPPER, counts: new LocalSignInCounts(late) });
  const browser = signIn.newBrowser('person_1');
  assert.ok(signIn.isBrowserOf('person_1', browser));
  assert.ok(!signIn.isBrowserOf('person_2', browser));
  late.advance(BROWSER_MS);
  assert.ok(!signIn.isBrowserOf('person_1', browser));
});

test('an address that the OpenID provider does not call verified stands for nobody', async () => {
  for (const verified of [undefined, false, 'true', 1]) {
    const claims = { iss: 'https://id.example', sub: 'x', email: 'root@example.test', email_verified: verified };
    const operators = [{ email: 'root@example.test' }];
    const signIn = { claims, operators, now: clock.now(), requestId: 'req_1', address: '::1' };
    assert.equal(await signInWithOidc(db, signIn), 'oidc_email_unverified', String(verified));
  }
});

test('a sign-in that stays at the OpenID provider for too long is refused before the provider is asked', async () => {
  const sealer = createSealer([['k1', 'x'.repeat(32)]]);
  const settings = { issuer: 'http://127.0.0.1:9', clientId: 'c', clientSecret: undefined, scope: 'openid' };
  const upstream = { send: () => assert.fail('the provider was asked') } as never;
  const client = new OidcClient({ settings, upstream, sealer, clock, publicUrl: () => 'https://gw.example' });
  const pending = { state: 's', nonce: 'n', verifier: 'v', expiresAt: clock.now() + OIDC_STATE_MS };
  const sealed = sealer.seal(JSON.stringify(pending), 'cookies.oidc:state');
  clock.advance(OIDC_STATE_MS);
  await assert.rejects(client.finish('code=1&state=s', sealed), /took too long/);
});

test('a request without sec-fetch-site needs the origin of its host or of PUBLIC_URL', () => {
  const guard = new SessionGuard({ db, clock, publicUrl: () => 'https://gw.example', failuresPerMinute: 1 });
  const isRefused = (headers: Readonly<Record<string, string>>): boolean => {
    try {
      guard.expectSameOrigin({ header: (name: string) => headers[name] } as unknown as Call);
      return false;
    } catch (error) {
      return isCode('cross_site_request')(error);
    }
  };
  const host = '10.0.0.5:8080';
  assert.ok(!isRefused({ host, origin: 'http://10.0.0.5:8080' }), 'by an address inside the network');
  assert.ok(!isRefused({ host, origin: 'https://gw.example' }), 'by the name that a proxy serves');
  for (const origin of ['https://evil.example', 'http://10.0.0.5', 'null'])
    assert.ok(isRefused({ host, origin }), origin);
  assert.ok(isRefused({ host }));
});

/** Sign-in with OpenID Connect, against a provider that checks state, nonce and PKCE as a real one does. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, Browser } from '../support/console.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { CLIENT, OidcProvider } from '../support/oidc-provider.ts';

const START = '/console/v1/oidc/start';
const CALLBACK = '/console/v1/oidc/callback';

const provider = new OidcProvider();
let gateway: TestGateway;
const db = () => gateway.context.database.db;

before(async () => {
  const issuer = await provider.start();
  gateway = await startGateway({
    setup: basicSetup(),
    env: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
      OIDC_OPERATORS: 'Root@example.test, groups=gateway-admins',
    },
  });
});
after(async () => {
  await gateway.stop();
  await provider.stop();
});

/** To the provider and back, as far as the address with which the provider leads back. */
async function visitProvider(one: Browser): Promise<URL> {
  const started = await one.send('GET', START);
  assert.equal(started.status, 302, started.text);
  const response = await fetch(started.headers.get('location') ?? '', { redirect: 'manual' });
  return new URL(response.headers.get('location') ?? '');
}

/** The browser follows the link of another site: it sends no CSRF token. */
const comeBack = async (one: Browser, { search }: URL): Promise<string> => {
  const headers = { 'sec-fetch-site': 'cross-site', 'x-csrf-token': undefined };
  const { status, headers: received } = await one.send('GET', `${CALLBACK}${search}`, undefined, headers);
  assert.equal(status, 302);
  return received.get('location') ?? '';
};

async function signIn(claims: Record<string, unknown>, one = new Browser(() => gateway.url)) {
  provider.claims = { email_verified: true, ...claims };
  const location = await comeBack(one, await visitProvider(one));
  const { status, body } = await one.send<{
    person?: { role: string; email: string; user: string | null };
    oidc: boolean;
  }>('GET', '/console/v1/session');
  assert.equal(body.oidc, true);
  return { location, status, person: body.person, one };
}

test('operators are created by e-mail address or claim; all others need an invitation', async () => {
  const root = await signIn({ sub: 'r', email: 'root@example.test', name: 'Root' });
  assert.deepEqual([root.location, root.person?.role], ['/console/', 'operator']);
  assert.ok(!root.one.cookies.get('dragoman_oidc'), 'the cookie of the way to the provider is gone');
  const spaced = await signIn({ sub: 's', email: ' root@example.test ' });
  assert.equal(
    spaced.location,
    '/console/sign-in?error=oidc_email_unverified',
    'an address with spaces is another one',
  );
  const byClaim = await signIn({ sub: 'g', email: 'g@example.test', groups: ['staff', 'gateway-admins'] });
  assert.equal(byClaim.person?.role, 'operator');
  const other = await signIn({ sub: 'o', email: 'other@example.test' });
  assert.deepEqual([other.location, other.status], ['/console/sign-in?error=oidc_not_invited', 401]);
  const unverified = await signIn({ sub: 'u', email: 'root@example.test', email_verified: false });
  assert.equal(unverified.location, '/console/sign-in?error=oidc_email_unverified');
  const takeover = await signIn({ sub: 'other subject', email: 'root@example.test' });
  assert.equal(takeover.location, '/console/sign-in?error=oidc_not_invited', 'the address is bound to another subject');
  await signIn({ sub: 'g', email: 'renamed@example.test', groups: ['gateway-admins'] });
  const people = await db().selectFrom('people').select(['email', 'role', 'password_hash']).orderBy('email').execute();
  assert.deepEqual(people, [
    { email: 'g@example.test', role: 'operator', password_hash: null },
    { email: 'root@example.test', role: 'operator', password_hash: null },
  ]);
});

test('an operator by a rule cannot sign in when the rule no longer matches, and their sessions end', async () => {
  const { one } = await signIn({ sub: 'g', email: 'g@example.test', groups: ['gateway-admins'] });
  const later = await signIn({ sub: 'g', email: 'g@example.test', groups: ['staff'] });
  assert.equal(later.location, '/console/sign-in?error=oidc_not_invited');
  assert.equal((await one.send('GET', '/console/v1/session')).status, 401);
});

test('an invited person signs in by their verified address, until they are disabled', async () => {
  const id = await addPerson(db(), { email: 'ann@example.test', role: 'user', user: 'ana' });
  const { person } = await signIn({ sub: 'a', email: 'Ann@Example.test' });
  assert.deepEqual([person?.email, person?.role, person?.user], ['ann@example.test', 'user', 'ana']);
  await db().updateTable('people').set({ disabled_at: new Date() }).where('id', '=', id).execute();
  assert.equal((await signIn({ sub: 'a' })).location, '/console/sign-in?error=person_disabled');
});

test('a callback of another browser, a second time, or with a wrong state, nonce, audience or signature is refused', async () => {
  const claims = { sub: 'r', email: 'root@example.test', email_verified: true };
  provider.claims = claims;
  const failed = '/console/sign-in?error=oidc_failed';
  const one = new Browser(() => gateway.url);
  const url = await visitProvider(one);
  const victim = new Browser(() => gateway.url);
  assert.equal(await comeBack(victim, url), failed, 'a browser that did not begin');
  await visitProvider(victim);
  assert.equal(await comeBack(victim, url), failed, 'the state of another browser');
  const forged = new URL(url);
  forged.searchParams.set('state', 'forged');
  const pending = one.cookies.get('dragoman_oidc') ?? assert.fail();
  assert.equal(await comeBack(one, forged), failed);
  one.cookies.set('dragoman_oidc', pending);
  assert.equal(await comeBack(one, url), '/console/');
  one.cookies.set('dragoman_oidc', pending);
  assert.equal(await comeBack(one, url), failed, 'the code works once');
  for (const faults of [{ nonce: 'wrong' }, { aud: 'another client' }, { iss: 'https://evil.example' }, { exp: 1 }]) {
    provider.faults = faults;
    const { location, status } = await signIn(claims);
    assert.deepEqual([location, status], [failed, 401], JSON.stringify(faults));
  }
  provider.faults = {};
  provider.isForging = true;
  assert.equal((await signIn(claims)).location, failed, 'a token of another key');
  provider.isForging = false;
  one.cookies.set('dragoman_oidc', `${pending.slice(0, -2)}xx`);
  assert.equal(await comeBack(one, await visitProvider(new Browser(() => gateway.url))), failed, 'a forged cookie');
  assert.ok(gateway.log.some(({ msg }) => msg === 'oidc.failed'));
  assert.ok(!JSON.stringify(gateway.log).includes(CLIENT.secret));
});

test('GET /console/v1/oidc/start is 404 without OIDC_ISSUER', async () => {
  const plain = await startGateway({ database: gateway.database });
  try {
    assert.equal((await new Browser(() => plain.url).send('GET', START)).status, 404);
  } finally {
    await plain.stop();
  }
});

// set: all; a server with two worker processes
/** Sign-in to a server with two workers, as real processes: what begins at one worker goes on at the other. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { SIGN_IN_FAILURES } from '../../src/rules/index.ts';
import { Command } from '../support/command.ts';
import { Browser, type ConsoleResponse } from '../support/console.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { CLIENT, OidcProvider } from '../support/oidc-provider.ts';
import { until } from '../support/wait.ts';

const SESSION = '/console/v1/session';
const PASSWORD = 'correct horse battery';
const EMAIL = 'ada@example.test';
/** Connections go to the workers in turn. */
const NEW_CONNECTION = { connection: 'close' };

const folder = mkdtempSync(join(tmpdir(), 'dragoman-sign-in-workers-'));
const provider = new OidcProvider();
let database: TestDatabase;
let command: Command;
let url: string;

before(async () => {
  const [issuer, opened] = await Promise.all([provider.start(), testDatabase()]);
  database = opened;
  command = new Command(['serve', '--workers', '2'], {
    env: {
      DATABASE_URL: database.url,
      DATA_DIR: join(folder, 'data'),
      MASTER_KEY: `k1:${'sign-in-master-key-'.repeat(2)}`,
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
      OIDC_OPERATORS: 'root@example.test',
    },
  });
  url = await command.ready();
});
after(async () => {
  await command?.stop();
  await database?.drop();
  await provider.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Line {
  readonly msg: string;
  readonly request?: string;
  readonly worker?: number;
}
const workerOf = ({ headers }: ConsoleResponse<unknown>): Promise<number> =>
  until('the log line', () => {
    const lines = command.stdout.split('\n').slice(0, -1);
    const found = lines
      .map((line) => JSON.parse(line) as Line)
      .find(({ msg, request }) => msg === 'request.completed' && request === headers.get('x-request-id'));
    return found?.worker;
  });

/** Sends a request again, on a connection of its own, until both workers have got one: the system chooses the worker. */
async function atBoth(send: () => Promise<ConsoleResponse<unknown>>, status: number): Promise<void> {
  const workers = new Set<number>();
  await until('both workers', async () => {
    const response = await send();
    assert.equal(response.status, status, response.text);
    return workers.add(await workerOf(response)).size === 2;
  });
}

const browser = (): Browser => new Browser(() => url);
const get = (one: Browser, path = SESSION) => one.send('GET', path, undefined, NEW_CONNECTION);
const signIn = (one: Browser, password: string) =>
  one.send('POST', SESSION, { email: EMAIL, password }, NEW_CONNECTION);

test('the primary prints one link, and a session that begins at one worker counts and ends at both', async () => {
  const [link, ...others] = await until('the link', () => command.stderr.match(/(?<=\/console\/link#)[\w-]{43}$/gm));
  assert.deepEqual(others, []);
  const one = browser();
  const person = { token: link, name: 'Ada', email: EMAIL, password: PASSWORD };
  assert.equal((await one.send('POST', '/console/v1/link', person, NEW_CONNECTION)).status, 200);
  const begun = await signIn(one, PASSWORD);
  assert.equal(begun.status, 200, begun.text);
  await atBoth(() => get(one), 200);
  const token = one.cookies.get('dragoman_session') ?? '';
  assert.equal((await one.send('DELETE', SESSION, undefined, NEW_CONNECTION)).status, 204);
  await atBoth(() => {
    one.cookies.set('dragoman_session', token);
    return get(one);
  }, 401);
});

test('a sign-in with OpenID Connect begins at one worker and ends at the other', async () => {
  provider.claims = { sub: 'r', email: 'root@example.test', email_verified: true };
  const signInAt = async (): Promise<boolean> => {
    const one = browser();
    const started = await get(one, '/console/v1/oidc/start');
    const atProvider = await fetch(started.headers.get('location') ?? '', { redirect: 'manual' });
    const { search } = new URL(atProvider.headers.get('location') ?? '');
    const finished = await get(one, `/console/v1/oidc/callback${search}`);
    assert.equal(finished.headers.get('location'), '/console/');
    assert.equal((await get(one)).status, 200);
    return (await workerOf(finished)) !== (await workerOf(started));
  };
  await until('a sign-in at two workers', signInAt);
});

test('failed sign-ins are counted over both workers', async () => {
  const responses: ConsoleResponse<unknown>[] = [];
  for (let n = 0; n <= SIGN_IN_FAILURES.email; n += 1) responses.push(await signIn(browser(), 'a wrong password'));
  assert.deepEqual(
    responses.map(({ status }) => status),
    [...Array(SIGN_IN_FAILURES.email).fill(401), 429],
  );
  await atBoth(() => signIn(browser(), 'a wrong password'), 429);
});

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { loadConfig } from '../../src/config.ts';
import { createSealer, parseMasterKeys, WrongMasterKey } from '../../src/core/index.ts';
import { type Db, joinEmbedded, openDatabase } from '../../src/db/index.ts';
import { openContext } from '../../src/main.ts';
import { loadMasterKeys } from '../../src/master-key.ts';
import { reseal } from '../../src/worker/index.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

const OLD = 'the-old-master-key-of-forty-characters-1';
const NEW = 'the-new-master-key-of-forty-characters-2';
const K1 = `k1:${OLD}`;
const K2 = `k2:${NEW}`;
const BROUGHT = 'brought-by-the-operator-0001';
const UPSTREAM = ['sk-upstream-secret-of-oa1', 'sk-upstream-secret-of-oa2', 'assets-secret-key-of-film'];
const EMAIL = 'found-in-every-dump@example.test';

const setup = {
  groups: [
    { id: 'openai', style: 'responses' },
    { id: 'film', style: 'video', variant: 'A' },
  ],
  accounts: [
    { id: 'oa1', group: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: UPSTREAM[0] },
    { id: 'oa2', group: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: UPSTREAM[1] },
    {
      id: 'fi1',
      group: 'film',
      base_url: 'http://127.0.0.1:9',
      api_key: UPSTREAM[0],
      assets: {
        base_url: 'http://127.0.0.1:9',
        access_key: 'AK',
        secret_key: UPSTREAM[2],
        region: 'r',
        project: 'p',
      },
    },
  ],
  models: [{ id: '*', groups: ['openai'] }],
  users: [{ id: 'ana', email: EMAIL }],
  keys: [
    { user: 'ana', group: 'openai', name: 'made' },
    { user: 'ana', group: 'openai', name: 'brought', key: BROUGHT },
  ],
};

async function dump(db: Db): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'public'`.execute(db);
  const texts = tables.map(async ({ name }) => {
    const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.table(name)} t`.execute(db);
    return rows.map(({ row }) => row).join('\n');
  });
  return (await Promise.all(texts)).join('\n');
}

/** In every spelling that a dump or a log could use. */
const spellings = (secret: string): string[] => {
  const bytes = Buffer.from(secret);
  return [secret, bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url'), bytes.toString('hex')];
};
const assertAbsent = (secrets: readonly string[], where: string, text: string | Buffer): void => {
  for (const [n, secret] of secrets.entries()) {
    for (const spelling of spellings(secret))
      assert.ok(!text.includes(spelling), `secret ${n} is readable in ${where}`);
  }
};

const status = async (gateway: { url: string }, key: string): Promise<number> =>
  (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;

test('no key, upstream credential or master key is readable in the database, its files or the log', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dragoman-secrets-'));
  const embedded = await joinEmbedded({ dataDir, durable: false });
  const secrets = [...UPSTREAM, BROUGHT, OLD];
  try {
    const gateway = await startGateway({
      database: { url: embedded.url, drop: async () => {} },
      env: { MASTER_KEY: K1 },
    });
    try {
      const { openai: made = '' } = await gateway.apply(setup);
      assert.match(made, /^dg-/);
      secrets.push(made);
      for (const key of [made, BROUGHT]) assert.notEqual(await status(gateway, key), 401);
      // Every way to be wrong, with the key in it.
      for (const path of [`/v1/models?key=${made}`, `/v1beta/models?key=${made}`, `/v1/nowhere?key=${made}`])
        await (await fetch(gateway.url + path)).text();
      const post = { method: 'POST', headers: { 'x-api-key': made, 'content-type': 'application/json' } };
      for (const body of ['{', '{"model":"gpt-x","messages":[{"role":"user","content":"hi"}]}'])
        await (await fetch(`${gateway.url}/v1/chat/completions`, { ...post, body })).text();
      await gateway.apply({ keys: [{ user: 'ana', group: 'openai', name: 'brought', key: `${BROUGHT}-2` }] });
      const text = await dump(gateway.ground.database.db);
      assert.ok(text.includes(EMAIL), 'the dump is a dump');
      assertAbsent(secrets, 'a dump', text);
      const log = gateway.log.map((line) => JSON.stringify(line)).join('\n');
      assert.ok(log.includes('request.completed'), 'the log is a log');
      assertAbsent(secrets, 'the log', log);
    } finally {
      await gateway.stop();
    }
  } finally {
    await embedded.leave();
  }
  let sawEmail = false;
  for (const entry of await readdir(embedded.directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name));
    sawEmail ||= bytes.includes(EMAIL);
    assertAbsent(secrets, `${entry.parentPath}/${entry.name}`, bytes);
  }
  assert.ok(sawEmail, 'the files are those of the database');
  await rm(dataDir, { recursive: true, force: true });
});

/** Name of the master key of every sealed value there is. */
async function sealedWith(db: Db): Promise<string[]> {
  const { rows } = await sql<{ sealed: string }>`
    select sealed from secrets
    union all select credential_sealed from accounts
    union all select assets_secret_sealed from accounts where assets_secret_sealed is not null
    union all select callback_secret_sealed from keys`.execute(db);
  return rows.map(({ sealed }) => sealed.split(':')[1] ?? '');
}

let database: TestDatabase;
before(async () => {
  database = await testDatabase();
});
after(() => database.drop());

/** A gateway for the time of a task; stopped whatever happens, else the test run would never end. */
async function on<T>(masterKey: string, task: (gateway: TestGateway) => Promise<T>): Promise<T> {
  const gateway = await startGateway({ database, env: { MASTER_KEY: masterKey } });
  return task(gateway).finally(() => gateway.stop());
}
const credentialsOf = (gateway: TestGateway) =>
  [...gateway.catalog().accounts('openai'), ...gateway.catalog().accounts('film')].map(({ credential }) => credential);

test('a master key is rotated without a key or a credential becoming invalid', async () => {
  const { made, credentials } = await on(K1, async (first) => {
    const { openai = '' } = await first.apply(setup);
    return { made: openai, credentials: credentialsOf(first) };
  });
  await on(`${K2},${K1}`, async (both) => {
    const { db } = both.ground.database;
    assert.notEqual(await status(both, made), 401, 'valid before anything was sealed anew');
    assert.deepEqual(new Set(await sealedWith(db)), new Set(['k1']));
    let done = 0;
    for (let batch = -1; batch !== 0; done += batch) batch = await reseal(db, both.ground.sealer);
    const sealed = await sealedWith(db);
    assert.deepEqual(new Set(sealed), new Set(['k2']));
    assert.equal(done, sealed.length, 'each once');
    assert.notEqual(await status(both, made), 401);
  });
  await on(K2, async (last) => {
    for (const key of [made, BROUGHT]) assert.notEqual(await status(last, key), 401, 'valid without the old key');
    assert.deepEqual(credentialsOf(last), credentials);
  });
});

test('more secrets than one run takes are all sealed anew', () =>
  on(K2, async (gateway) => {
    const keys = Array.from({ length: 130 }, (_, n) => ({ user: 'ana', group: 'openai', name: `n${n}` }));
    await gateway.apply({ keys });
    const { db } = gateway.ground.database;
    const sealer = createSealer(parseMasterKeys(`k3:${OLD},${K2}`) ?? []);
    const runs: number[] = [];
    do runs.push(await reseal(db, sealer));
    while (runs.at(-1) !== 0);
    assert.ok(runs.length > 2, runs.join(', '));
    assert.deepEqual(new Set(await sealedWith(db)), new Set(['k3']));
    const back = createSealer(parseMasterKeys(`${K2},k3:${OLD}`) ?? []);
    while ((await reseal(db, back)) > 0);
  }));

for (const [about, masterKey] of [
  ['a wrong secret under the same name', `k2:${OLD}`],
  ['a key of another name', K1],
] as const) {
  test(`with ${about} nothing starts, and a sentence says so`, async () => {
    const config = loadConfig({ DATABASE_URL: database.url, DATA_DIR: tmpdir(), MASTER_KEY: masterKey });
    await assert.rejects(openContext(config), (error) => {
      assert.ok(error instanceof WrongMasterKey);
      assert.match(error.message, /^[A-Z].*master key.*\.$/i);
      assert.ok(!error.message.includes(OLD));
      return true;
    });
  });
}

test('a lost master key file is not replaced by a new one', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dragoman-secrets-'));
  const config = loadConfig({ DATABASE_URL: database.url, DATA_DIR: dataDir });
  await assert.rejects(openContext(config), /master\.key is missing\. Put the file back, or set MASTER_KEY/);
  assert.deepEqual(await readdir(dataDir), []);
  await rm(dataDir, { recursive: true });
});

test('of many processes that start at once on an empty directory, all have the same master key', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dragoman-secrets-'));
  const own = await testDatabase();
  const { db, close } = openDatabase(own.url);
  const config = loadConfig({ DATABASE_URL: own.url, DATA_DIR: dataDir });
  const found = await Promise.all(Array.from({ length: 40 }, () => loadMasterKeys(config, db)));
  assert.equal(new Set(found.map(String)).size, 1);
  assert.deepEqual(await readdir(dataDir), ['master.key']);
  await close();
  await own.drop();
  await rm(dataDir, { recursive: true });
});

test('a sealed value that is moved to another row does not open, and takes nobody else down', async () => {
  const { db, close } = openDatabase(database.url);
  const move = (id: string, sealed: string) =>
    db.updateTable('accounts').set({ credential_sealed: sealed }).where('id', '=', id).execute();
  try {
    const rows = await db.selectFrom('accounts').selectAll().where('group_id', '=', 'openai').orderBy('id').execute();
    const [one, two] = rows;
    assert.ok(one && two);
    await move(one.id, two.credential_sealed);
    await move(two.id, one.credential_sealed);
    await on(K2, async (gateway) => {
      assert.deepEqual(gateway.catalog().accounts('openai'), []);
      assert.equal(gateway.catalog().accounts('film').length, 1, 'other accounts stay');
      const unreadable = gateway.log
        .filter(({ msg }) => msg === 'account.credential_unreadable')
        .map(({ account }) => account);
      assert.deepEqual([...new Set(unreadable)], [one.id, two.id]);
      await gateway.apply(setup);
      const credentials = gateway
        .catalog()
        .accounts('openai')
        .map(({ credential }) => credential);
      assert.deepEqual(credentials, UPSTREAM.slice(0, 2), 'the file puts it right');
    });
  } finally {
    await close();
  }
});

test('a secret that does not open does not keep the others from being sealed anew, and is complained about', async () => {
  const { db, close } = openDatabase(database.url);
  try {
    await db.updateTable('accounts').set({ credential_sealed: 'v1:k9:damaged' }).where('id', '=', 'oa1').execute();
    const sealer = createSealer(parseMasterKeys(`${K1},${K2}`) ?? []);
    await assert.rejects(async () => {
      while ((await reseal(db, sealer)) > 0);
    }, WrongMasterKey);
    assert.deepEqual(
      (await sealedWith(db)).filter((name) => name !== 'k1'),
      ['k9'],
    );
  } finally {
    await close();
  }
});

/** Secrets at rest: nothing readable in the database, its files or the log; master key rotation and damaged values. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { createSealer, parseMasterKeys, WrongMasterKey } from '../../src/core/index.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { type Db, joinEmbedded, openDatabase } from '../../src/platform/db/index.ts';
import { loadMasterKeys } from '../../src/platform/master-key.ts';
import { reseal } from '../../src/program/jobs/index.ts';
import { openContext } from '../../src/program/server/index.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { createFolder, removeFolder } from '../support/embedded.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';

const OLD = 'the-old-master-key-of-forty-characters-1';
const NEW = 'the-new-master-key-of-forty-characters-2';
const K1 = `k1:${OLD}`;
const K2 = `k2:${NEW}`;
const CHOSEN_KEY = 'chosen-by-the-operator-0001';
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
    { user: 'ana', group: 'openai', name: 'generated' },
    { user: 'ana', group: 'openai', name: 'chosen', key: CHOSEN_KEY },
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

/** The encodings that a dump or a log could use. */
const encodings = (secret: string): string[] => {
  const bytes = Buffer.from(secret);
  return [secret, bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url'), bytes.toString('hex')];
};
const assertAbsent = (secrets: readonly string[], where: string, text: string | Buffer): void => {
  for (const [n, secret] of secrets.entries()) {
    for (const encoding of encodings(secret))
      assert.ok(!text.includes(encoding), `secret ${n} is readable in ${where}`);
  }
};

const status = async (gateway: { url: string }, key: string): Promise<number> =>
  (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;

test('no key, upstream credential or master key is readable in the database, its files or the log', async () => {
  const dataDir = await createFolder();
  const embedded = await joinEmbedded({ dataDir, durable: false });
  const secrets = [...UPSTREAM, CHOSEN_KEY, OLD];
  try {
    const gateway = await startGateway({
      database: { url: embedded.url, drop: async () => {} },
      env: { MASTER_KEY: K1 },
    });
    try {
      const { openai: generated = '' } = await gateway.apply(setup);
      assert.match(generated, /^dg-/);
      secrets.push(generated);
      for (const key of [generated, CHOSEN_KEY]) assert.notEqual(await status(gateway, key), 401);
      // Requests that fail in different ways, with the key in them.
      for (const path of [
        `/v1/models?key=${generated}`,
        `/v1beta/models?key=${generated}`,
        `/v1/nowhere?key=${generated}`,
      ])
        await (await fetch(gateway.url + path)).text();
      const post = { method: 'POST', headers: { 'x-api-key': generated, 'content-type': 'application/json' } };
      for (const body of ['{', '{"model":"gpt-x","messages":[{"role":"user","content":"hi"}]}'])
        await (await fetch(`${gateway.url}/v1/chat/completions`, { ...post, body })).text();
      await gateway.apply({ keys: [{ user: 'ana', group: 'openai', name: 'chosen', key: `${CHOSEN_KEY}-2` }] });
      const text = await dump(gateway.context.database.db);
      assert.ok(text.includes(EMAIL), 'the dump holds plain values');
      assertAbsent(secrets, 'a dump', text);
      const log = gateway.log.map((line) => JSON.stringify(line)).join('\n');
      assert.ok(log.includes('request.completed'), 'the log holds requests');
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
  assert.ok(sawEmail, 'the files belong to the database');
  await removeFolder(dataDir, embedded.directory);
});

/** The master key id of every sealed value. */
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

/** Runs a task with a gateway and always stops it, because an open gateway keeps the test run alive. */
async function withGateway<T>(masterKey: string, task: (gateway: TestGateway) => Promise<T>): Promise<T> {
  const gateway = await startGateway({ database, env: { MASTER_KEY: masterKey } });
  return task(gateway).finally(() => gateway.stop());
}
const credentialsOf = (gateway: TestGateway) =>
  [...gateway.catalog().accounts('openai'), ...gateway.catalog().accounts('film')].map(({ credential }) => credential);

test('master key rotation keeps every API key and credential valid', async () => {
  const { key, credentials } = await withGateway(K1, async (first) => {
    const { openai = '' } = await first.apply(setup);
    return { key: openai, credentials: credentialsOf(first) };
  });
  await withGateway(`${K2},${K1}`, async (both) => {
    const { db } = both.context.database;
    assert.notEqual(await status(both, key), 401, 'valid before resealing');
    assert.deepEqual(new Set(await sealedWith(db)), new Set(['k1']));
    let done = 0;
    for (let batch = -1; batch !== 0; done += batch) batch = await reseal(db, both.context.sealer);
    const sealed = await sealedWith(db);
    assert.deepEqual(new Set(sealed), new Set(['k2']));
    assert.equal(done, sealed.length, 'each sealed once');
    assert.notEqual(await status(both, key), 401);
  });
  await withGateway(K2, async (last) => {
    for (const value of [key, CHOSEN_KEY])
      assert.notEqual(await status(last, value), 401, 'valid without the old master key');
    assert.deepEqual(credentialsOf(last), credentials);
  });
});

longTest('resealing covers more secrets than one batch', () =>
  withGateway(K2, async (gateway) => {
    const keys = Array.from({ length: 130 }, (_, n) => ({ user: 'ana', group: 'openai', name: `n${n}` }));
    await gateway.apply({ keys });
    const { db } = gateway.context.database;
    const sealer = createSealer(parseMasterKeys(`k3:${OLD},${K2}`) ?? []);
    const runs: number[] = [];
    do runs.push(await reseal(db, sealer));
    while (runs.at(-1) !== 0);
    assert.ok(runs.length > 2, runs.join(', '));
    assert.deepEqual(new Set(await sealedWith(db)), new Set(['k3']));
    const back = createSealer(parseMasterKeys(`${K2},k3:${OLD}`) ?? []);
    while ((await reseal(db, back)) > 0);
  }),
);

for (const [about, masterKey] of [
  ['a wrong secret under the same name', `k2:${OLD}`],
  ['a key of another name', K1],
] as const) {
  test(`startup fails with a short message: ${about}`, async () => {
    const config = loadConfig({ DATABASE_URL: database.url, DATA_DIR: tmpdir(), MASTER_KEY: masterKey });
    await assert.rejects(openContext(config), (error) => {
      assert.ok(error instanceof WrongMasterKey);
      assert.match(error.message, /^[A-Z].*master key.*\.$/i);
      assert.ok(!error.message.includes(OLD));
      return true;
    });
  });
}

test('a missing master key file is not replaced by a new one', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dragoman-secrets-'));
  const config = loadConfig({ DATABASE_URL: database.url, DATA_DIR: dataDir });
  await assert.rejects(openContext(config), /master\.key is missing\. Restore the file, or set MASTER_KEY/);
  assert.deepEqual(await readdir(dataDir), []);
  await rm(dataDir, { recursive: true });
});

test('concurrent processes on an empty directory share one master key', async () => {
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

test('a sealed value moved to another row does not open, and other accounts stay available', async () => {
  const { db, close } = openDatabase(database.url);
  const move = (id: string, sealed: string) =>
    db.updateTable('accounts').set({ credential_sealed: sealed }).where('id', '=', id).execute();
  try {
    const rows = await db.selectFrom('accounts').selectAll().where('group_id', '=', 'openai').orderBy('id').execute();
    const [one, two] = rows;
    assert.ok(one && two);
    await move(one.id, two.credential_sealed);
    await move(two.id, one.credential_sealed);
    await withGateway(K2, async (gateway) => {
      assert.deepEqual(gateway.catalog().accounts('openai'), []);
      assert.equal(gateway.catalog().accounts('film').length, 1, 'other accounts stay available');
      const unreadable = gateway.log
        .filter(({ msg }) => msg === 'account.credential_unreadable')
        .map(({ account }) => account);
      assert.deepEqual([...new Set(unreadable)], [one.id, two.id]);
      await gateway.apply(setup);
      const credentials = gateway
        .catalog()
        .accounts('openai')
        .map(({ credential }) => credential);
      assert.deepEqual(credentials, UPSTREAM.slice(0, 2), 'applying the file repairs it');
    });
  } finally {
    await close();
  }
});

test('resealing skips a secret that does not open and reports it', async () => {
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

/** The launcher's life with one process: starting, finding what a crash left, and where the files go. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ask,
  canRunAsNobody,
  familyOf,
  isRoot,
  Member,
  makeClosedFolder,
  makeFolder,
  NOBODY,
  postmasterPid,
  removeFolder,
  survivors,
} from '../../../test/support/embedded.ts';
import { EmbeddedUnavailable, joinEmbedded } from './index.ts';

const folder = await makeFolder();
after(() => removeFolder(folder));

test('a cold start makes the database, a warm start finds its data, and leaving leaves nothing running', async () => {
  const dataDir = join(folder, 'with a space', 'data');
  const first = await joinEmbedded({ dataDir });
  assert.equal(first.adopted, false);
  assert.equal(first.directory, join(dataDir, 'postgres'));
  await ask(first.url, 'create table kept as select 42 as value');
  const family = familyOf(await postmasterPid(first.directory));
  await first.leave();
  await first.leave();
  assert.deepEqual(survivors(family), []);
  assert.deepEqual(
    (await readdir(dataDir)).filter((name) => name !== 'postgres'),
    ['postgres.log'],
  );

  const begun = performance.now();
  const second = await joinEmbedded({ dataDir });
  const took = performance.now() - begun;
  try {
    assert.equal(await ask(second.url, 'select value from kept'), 42);
    assert.ok(took < 2_000, `a warm start took ${took} ms`);
  } finally {
    await second.leave();
  }
});

test('the database is UTF-8 with checksums, listens on no network, and the gateway is not a superuser', async () => {
  const embedded = await joinEmbedded({ dataDir: join(folder, 'with a space', 'data') });
  try {
    const show = (name: string) => ask(embedded.url, `select current_setting('${name}')`);
    assert.equal(await show('server_encoding'), 'UTF8');
    assert.equal(await show('data_checksums'), 'on');
    assert.equal(await show('listen_addresses'), '');
    assert.equal(await show('is_superuser'), 'off');
    assert.equal(await show('fsync'), 'on');
    assert.equal(await ask(embedded.url, "select upper('é')"), 'É');
    const socket = await stat(decodeURIComponent(new URL(embedded.url).hostname));
    assert.equal(socket.mode & 0o777, 0o700);
  } finally {
    await embedded.leave();
  }
});

test('what callers send does not reach the log', async () => {
  const dataDir = join(folder, 'with a space', 'data');
  const embedded = await joinEmbedded({ dataDir });
  await ask(embedded.url, 'create table once (value text primary key)');
  await ask(embedded.url, "insert into once values ('whisper')");
  await assert.rejects(ask(embedded.url, "insert into once values ('whisper')"), /duplicate key/);
  await assert.rejects(ask(embedded.url, "select 'whisper'::int"), /invalid input syntax/);
  await embedded.leave();
  assert.doesNotMatch(await readFile(join(dataDir, 'postgres.log'), 'utf8'), /whisper/);
});

test('a crash of the machine is survived, though another process has the old number by now', async () => {
  const dataDir = join(folder, 'crash');
  const first = await joinEmbedded({ dataDir, durable: false });
  await ask(first.url, 'create table kept as select 1 as value');
  const socketFolder = decodeURIComponent(new URL(first.url).hostname);
  const pidFile = await readFile(join(first.directory, 'postmaster.pid'), 'utf8');
  const { uid, gid } = await stat(first.directory);
  await first.leave();

  // A process of PostgreSQL's own account: one of another account PostgreSQL would see as stale by itself.
  const bystander = new Member({ dataDir: join(folder, 'bystander'), durable: false });
  try {
    const other = await bystander.answer();
    const otherPid = await postmasterPid(other.directory);
    await writeFile(join(first.directory, 'postmaster.pid'), pidFile.replace(/^\d+/, String(otherPid)));
    await mkdir(socketFolder, { mode: 0o700 });
    await writeFile(join(socketFolder, '.s.PGSQL.5432.lock'), pidFile.replace(/^\d+/, String(otherPid)));
    await writeFile(join(socketFolder, '.s.PGSQL.5432'), '');
    if (isRoot) {
      await chown(join(first.directory, 'postmaster.pid'), uid, gid);
      await chown(socketFolder, uid, gid);
    }
    await writeFile(join(dataDir, 'postgres.lock'), JSON.stringify({ pid: otherPid, birth: 'another', token: '' }));

    const second = await joinEmbedded({ dataDir, durable: false });
    assert.equal(second.adopted, false);
    assert.equal(await ask(second.url, 'select value from kept'), 1);
    await second.leave();

    await writeFile(join(first.directory, 'postmaster.pid'), '');
    await utimes(join(first.directory, 'postmaster.pid'), 0, 0);
    const third = await joinEmbedded({ dataDir, durable: false });
    assert.equal(await ask(third.url, 'select value from kept'), 1);
    await third.leave();
  } finally {
    await bystander.tell('leave');
  }
});

test('a postmaster that dies under its member is started again at the same address', async () => {
  const dataDir = join(folder, 'dies');
  const embedded = await joinEmbedded({ dataDir });
  try {
    await ask(embedded.url, 'create table kept as select 1 as value');
    process.kill(await postmasterPid(embedded.directory), 'SIGKILL');
    let value: unknown;
    for (let tries = 0; tries < 100 && value !== 1; tries++) {
      await sleep(50);
      value = await ask(embedded.url, 'select value from kept').catch(() => null);
    }
    assert.equal(value, 1);
  } finally {
    const family = familyOf(await postmasterPid(embedded.directory));
    await embedded.leave();
    assert.deepEqual(survivors(family), []);
  }
});

test('a very long DATA_DIR works', async () => {
  const dataDir = join(folder, 'long'.repeat(30), 'longer'.repeat(30));
  const embedded = await joinEmbedded({ dataDir, durable: false });
  assert.equal(await ask(embedded.url, 'select 1'), 1);
  await embedded.leave();
});

test('a failure is told in plain words, with what the log says', async () => {
  const dataDir = join(folder, 'broken');
  const embedded = await joinEmbedded({ dataDir, durable: false });
  await embedded.leave();
  await rm(join(embedded.directory, 'global', 'pg_control'));
  await assert.rejects(joinEmbedded({ dataDir }), (error) => {
    assert.ok(error instanceof EmbeddedUnavailable);
    assert.match(error.message, /^PostgreSQL did not start\. Look into .*postgres\.log, or set DATABASE_URL/);
    assert.match(error.message, /pg_control/);
    return true;
  });
  assert.ok(!existsSync(join(dataDir, 'postgres.lock')));
  await writeFile(join(embedded.directory, 'PG_VERSION'), '9\n');
  await assert.rejects(joinEmbedded({ dataDir }), /made by PostgreSQL 9 /);
});

test('as root, below a folder that others may not enter, the database is kept elsewhere', {
  skip: !isRoot,
}, async () => {
  const own = await makeFolder();
  const dataDir = join(await makeClosedFolder(own), 'data');
  const said: string[] = [];
  const first = await joinEmbedded({ dataDir, durable: false, say: (sentence) => said.push(sentence) });
  try {
    assert.equal(said.length, 1);
    assert.match(said[0] ?? '', /the database is kept in /);
    const pointer = JSON.parse(await readFile(join(dataDir, 'postgres.location'), 'utf8'));
    assert.equal(first.directory, join(pointer.directory, 'postgres'));
    await ask(first.url, 'create table kept as select 7 as value');
    await first.leave();
    const second = await joinEmbedded({ dataDir, durable: false, say: (sentence) => said.push(sentence) });
    assert.equal(await ask(second.url, 'select value from kept'), 7);
    await second.leave();
    assert.equal(said.length, 1);

    await rm(dirname(first.directory), { recursive: true });
    await assert.rejects(joinEmbedded({ dataDir }), /says that the database is in .*which is not there/);
  } finally {
    await removeFolder(own, first.directory);
  }
});

test('an ordinary user starts and adopts as well, on the socket and over loopback', {
  skip: isRoot && !(await canRunAsNobody()),
}, async () => {
  const account = isRoot ? NOBODY : null;
  const own = await makeFolder(account);
  await chmod(own, 0o700);
  try {
    for (const transport of ['socket', 'tcp'] as const) {
      const dataDir = join(own, transport);
      const first = new Member({ dataDir, transport, durable: false }, account);
      const { url, directory, error } = await first.answer();
      assert.equal(error, undefined);
      assert.equal(directory, join(dataDir, 'postgres'));
      assert.equal(await ask(url, 'select 1'), 1);
      await first.kill();
      const second = new Member({ dataDir, transport, durable: false }, account);
      assert.deepEqual(await second.answer(), { url, directory, adopted: true });
      const family = familyOf(await postmasterPid(directory));
      await second.tell('leave');
      assert.deepEqual(survivors(family), []);
      if (transport === 'tcp') {
        assert.equal((await stat(join(dataDir, 'postgres.password'))).mode & 0o777, 0o600);
      }
    }
  } finally {
    await removeFolder(own);
  }
});

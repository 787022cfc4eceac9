// set: sweeps; a new PostgreSQL for each case
/** One process: start, recovery after a crash, and the location of the files. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, cp, mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import {
  canRunAsNobody,
  createClosedFolder,
  createFolder,
  dataFiles,
  familyOf,
  isRoot,
  Member,
  NOBODY,
  postmasterPid,
  queryValue,
  removeFolder,
  survivors,
} from '../../../../test/support/embedded.ts';
import { until } from '../../../../test/support/wait.ts';
import { EmbeddedUnavailable, joinEmbedded } from './index.ts';

const folder = await createFolder();
after(() => removeFolder(folder));

test('joinEmbedded() creates the database, finds its data again, and leave() leaves no process running', async () => {
  const dataDir = join(folder, 'with a space', 'data');
  const first = await joinEmbedded({ dataDir });
  assert.equal(first.adopted, false);
  assert.equal(first.directory, join(dataDir, 'postgres'));
  await queryValue(first.url, 'create table kept as select 42 as value');
  const family = familyOf(await postmasterPid(first.directory));
  await first.leave();
  await first.leave();
  assert.deepEqual(survivors(family), []);
  assert.deepEqual(dataFiles(dataDir), ['postgres', 'postgres.log']);

  const second = await joinEmbedded({ dataDir });
  try {
    assert.equal(await queryValue(second.url, 'select value from kept'), 42);
  } finally {
    await second.leave();
  }
});

test('the database is UTF-8 with checksums, does not listen on the network, and its role is not a superuser', async () => {
  const embedded = await joinEmbedded({ dataDir: join(folder, 'with a space', 'data') });
  try {
    const show = (name: string) => queryValue(embedded.url, `select current_setting('${name}')`);
    assert.equal(await show('server_encoding'), 'UTF8');
    assert.equal(await show('data_checksums'), 'on');
    assert.equal(await show('listen_addresses'), '');
    assert.equal(await show('is_superuser'), 'off');
    assert.equal(await show('fsync'), 'on');
    assert.equal(await queryValue(embedded.url, "select upper('é')"), 'É');
    const socket = await stat(decodeURIComponent(new URL(embedded.url).hostname));
    assert.equal(socket.mode & 0o777, 0o700);
  } finally {
    await embedded.leave();
  }
});

test('the log contains no values of failed statements', async () => {
  const dataDir = join(folder, 'with a space', 'data');
  const embedded = await joinEmbedded({ dataDir });
  await queryValue(embedded.url, 'create table once (value text primary key)');
  await queryValue(embedded.url, "insert into once values ('secret')");
  await assert.rejects(queryValue(embedded.url, "insert into once values ('secret')"), /duplicate key/);
  await assert.rejects(queryValue(embedded.url, "select 'secret'::int"), /invalid input syntax/);
  await embedded.leave();
  assert.doesNotMatch(await readFile(join(dataDir, 'postgres.log'), 'utf8'), /secret/);
});

test('joinEmbedded() starts its own PostgreSQL on a folder that was copied while its database ran', async () => {
  const dataDir = join(folder, 'original');
  const original = await joinEmbedded({ dataDir });
  try {
    await queryValue(original.url, 'create table kept as select 1 as value');
    await cp(dataDir, join(folder, 'copy'), { recursive: true });
    const { uid, gid } = await stat(original.directory);
    if (isRoot) spawnSync('chown', ['-R', `${uid}:${gid}`, join(folder, 'copy', 'postgres')]);
    const copy = await joinEmbedded({ dataDir: join(folder, 'copy') });
    try {
      assert.equal(copy.adopted, false);
      await queryValue(copy.url, 'update kept set value = 2');
      assert.equal(await queryValue(original.url, 'select value from kept'), 1);
    } finally {
      await copy.leave();
    }
  } finally {
    await original.leave();
  }
});

test('joinEmbedded() recovers after a crash of the machine when another process has the old process id', async () => {
  const dataDir = join(folder, 'crash');
  const first = await joinEmbedded({ dataDir, durable: false });
  await queryValue(first.url, 'create table kept as select 1 as value');
  const socketFolder = decodeURIComponent(new URL(first.url).hostname);
  const pidFile = await readFile(join(first.directory, 'postmaster.pid'), 'utf8');
  const { uid, gid } = await stat(first.directory);
  await first.leave();

  // A process of the same user: PostgreSQL itself ignores the id of a process of another user.
  const bystander = new Member({ dataDir: join(folder, 'bystander'), durable: false });
  try {
    const other = await bystander.read();
    const otherPid = await postmasterPid(other.directory);
    await writeFile(join(first.directory, 'postmaster.pid'), pidFile.replace(/^\d+/, String(otherPid)));
    await mkdir(socketFolder, { mode: 0o700 });
    await writeFile(join(socketFolder, '.s.PGSQL.5432.lock'), pidFile.replace(/^\d+/, String(otherPid)));
    await writeFile(join(socketFolder, '.s.PGSQL.5432'), '');
    if (isRoot) {
      await chown(join(first.directory, 'postmaster.pid'), uid, gid);
      await chown(socketFolder, uid, gid);
    }
    await writeFile(join(dataDir, 'postgres.lock'), JSON.stringify({ pid: otherPid, birth: 'other', token: '' }));

    const second = await joinEmbedded({ dataDir, durable: false });
    assert.equal(second.adopted, false);
    assert.equal(await queryValue(second.url, 'select value from kept'), 1);
    await second.leave();

    await writeFile(join(first.directory, 'postmaster.pid'), '');
    await utimes(join(first.directory, 'postmaster.pid'), 0, 0);
    const third = await joinEmbedded({ dataDir, durable: false });
    assert.equal(await queryValue(third.url, 'select value from kept'), 1);
    await third.leave();
  } finally {
    await bystander.command('leave');
  }
});

test('a member restarts its postmaster at the same address when it dies', async () => {
  const dataDir = join(folder, 'dies');
  const embedded = await joinEmbedded({ dataDir });
  try {
    await queryValue(embedded.url, 'create table kept as select 1 as value');
    process.kill(await postmasterPid(embedded.directory), 'SIGKILL');
    const isRestarted = () =>
      queryValue(embedded.url, 'select value from kept').then(
        (value) => value === 1,
        () => false,
      );
    await until('the postmaster to be restarted', isRestarted);
  } finally {
    const family = familyOf(await postmasterPid(embedded.directory));
    await embedded.leave();
    assert.deepEqual(survivors(family), []);
  }
});

test('joinEmbedded() works with a very long DATA_DIR', async () => {
  const dataDir = join(folder, 'long'.repeat(30), 'longer'.repeat(30));
  const embedded = await joinEmbedded({ dataDir, durable: false });
  assert.equal(await queryValue(embedded.url, 'select 1'), 1);
  await embedded.leave();
});

test('joinEmbedded() reports the cause, the log file and the last log lines when PostgreSQL does not start', async () => {
  const dataDir = join(folder, 'broken');
  const embedded = await joinEmbedded({ dataDir, durable: false });
  await embedded.leave();
  await rm(join(embedded.directory, 'global', 'pg_control'));
  await assert.rejects(joinEmbedded({ dataDir }), (error) => {
    assert.ok(error instanceof EmbeddedUnavailable);
    assert.match(error.message, /^PostgreSQL did not start\. See .*postgres\.log, or set DATABASE_URL/);
    assert.match(error.message, /pg_control/);
    return true;
  });
  assert.ok(!existsSync(join(dataDir, 'postgres.lock')));
  await writeFile(join(embedded.directory, 'PG_VERSION'), '9\n');
  await assert.rejects(joinEmbedded({ dataDir }), /created by PostgreSQL 9,/);
});

test('joinEmbedded() keeps the database elsewhere when the user of PostgreSQL cannot enter DATA_DIR', {
  skip: !isRoot,
}, async () => {
  const own = await createFolder();
  const dataDir = join(await createClosedFolder(own), 'data');
  const messages: string[] = [];
  const first = await joinEmbedded({ dataDir, durable: false, notify: (message) => messages.push(message) });
  try {
    assert.equal(messages.length, 1);
    assert.match(messages[0] ?? '', /the database is kept in /);
    const pointer = JSON.parse(await readFile(join(dataDir, 'postgres.location'), 'utf8'));
    assert.equal(first.directory, join(pointer.directory, 'postgres'));
    await queryValue(first.url, 'create table kept as select 7 as value');
    await first.leave();
    const second = await joinEmbedded({ dataDir, durable: false, notify: (message) => messages.push(message) });
    assert.equal(await queryValue(second.url, 'select value from kept'), 7);
    await second.leave();
    assert.equal(messages.length, 1);

    await rm(dirname(first.directory), { recursive: true });
    await assert.rejects(joinEmbedded({ dataDir }), /points to .*, but there is no database/);
  } finally {
    await removeFolder(own, first.directory);
  }
});

test('a regular user starts and adopts a postmaster over socket and loopback', {
  skip: isRoot && !(await canRunAsNobody()),
}, async () => {
  const osUser = isRoot ? NOBODY : undefined;
  const own = await createFolder(osUser);
  await chmod(own, 0o700);
  try {
    for (const transport of ['socket', 'tcp'] as const) {
      const dataDir = join(own, transport);
      const first = new Member({ dataDir, transport, durable: false }, osUser);
      const { url, directory, error } = await first.read();
      assert.equal(error, undefined);
      assert.equal(directory, join(dataDir, 'postgres'));
      assert.equal(await queryValue(url, 'select 1'), 1);
      await first.kill();
      const second = new Member({ dataDir, transport, durable: false }, osUser);
      assert.deepEqual(await second.read(), { url, directory, adopted: true });
      const family = familyOf(await postmasterPid(directory));
      await second.command('leave');
      assert.deepEqual(survivors(family), []);
      if (transport === 'tcp') {
        assert.equal((await stat(join(dataDir, 'postgres.password'))).mode & 0o777, 0o600);
      }
    }
  } finally {
    await removeFolder(own);
  }
});

/** Sends the first message of a session as another user; prints the type of the response: R accepts, E rejects. */
const KNOCK = `
  const text = 'user\\0postgres\\0database\\0postgres\\0\\0';
  const message = Buffer.alloc(8 + text.length);
  message.writeInt32BE(message.length, 0);
  message.writeInt32BE(196608, 4);
  message.write(text, 8);
  const socket = require('node:net').connect(process.argv[1], () => socket.write(message));
  socket.once('data', (bytes) => { process.stdout.write(String.fromCharCode(bytes[0])); socket.destroy(); });
  socket.once('error', (error) => process.stdout.write(error.code));
`;

/** The response to a process of the user that PostgreSQL runs as, and to a process of root. */
async function knock({ url, directory }: { readonly url: string; readonly directory: string }): Promise<string[]> {
  const { uid, gid } = await stat(directory);
  const socket = join(decodeURIComponent(new URL(url).hostname), '.s.PGSQL.5432');
  return [{ uid, gid }, {}].map(
    (as) => spawnSync(process.execPath, ['-e', KNOCK, socket], { ...as, cwd: '/', encoding: 'utf8' }).stdout,
  );
}

test('the database of a root process rejects other processes of the user that PostgreSQL runs as', {
  skip: !isRoot || !(await canRunAsNobody()),
}, async () => {
  const dataDir = join(folder, 'root');
  for (const [rules, responses] of [
    [undefined, ['E', 'R']],
    ['local all postgres,dragoman trust\n', ['R', 'R']],
  ] as const) {
    // Rules that an operator wrote stay in force.
    if (rules !== undefined) await writeFile(join(dataDir, 'postgres', 'pg_hba.conf'), rules);
    const embedded = await joinEmbedded({ dataDir });
    try {
      assert.equal(await queryValue(embedded.url, 'select 1'), 1);
      assert.deepEqual(await knock(embedded), responses);
    } finally {
      await embedded.leave();
    }
  }
});

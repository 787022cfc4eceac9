// set: all; a new process for each command; demo.test.ts starts one too
/** The command line in its own process: messages, embedded and shared PostgreSQL, exit codes and signals. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { joinOver } from '../../src/platform/db/embedded/index.ts';
import { version } from '../../src/platform/version.ts';
import { runHere } from '../support/cli.ts';
import { Command, type CommandOptions, type CommandResult, run } from '../support/command.ts';
import { createFolder, familyOf, postmasterPid, queryValue, removeFolder, survivors } from '../support/embedded.ts';
import { until } from '../support/wait.ts';

let folder: string;
let setupFile: string;

before(async () => {
  folder = await createFolder();
  setupFile = join(folder, 'setup.yaml');
  await writeFile(
    setupFile,
    'groups:\n  - { id: claude, style: messages }\nusers:\n  - { id: ana }\nkeys:\n  - { user: ana, group: claude, name: filed }\n',
  );
});
after(() => removeFolder(folder));

/** The processes of the embedded PostgreSQL, while it runs. */
const postgresOf = async (dataDir: string): Promise<number[]> =>
  familyOf(await postmasterPid(join(dataDir, 'postgres')));
const isRunning = (dataDir: string): boolean => existsSync(join(dataDir, 'postgres', 'postmaster.pid'));
const statusOf = async (url: string, key: string): Promise<number> =>
  (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;

/** Asserts an error message for people: on stderr, at most three lines, no stack trace. */
function assertMessage({ code, stderr, stdout }: CommandResult, expected: RegExp): void {
  assert.equal(code, 1, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, expected);
  assert.doesNotMatch(stderr, /^\s+at |node_modules|node:internal|\.ts:\d|Unexpected error/m);
  assert.ok(stderr.trim().split('\n').length <= 3, stderr);
}

test('CLI --help lists every command, and --version prints the version', async () => {
  const [help, shown] = await Promise.all([run(['--help']), run(['--version'])]);
  assert.equal(help.code, 0);
  for (const command of ['serve', 'work', 'migrate', 'apply', 'key', 'admin', 'doctor'])
    assert.match(help.stdout, new RegExp(`^  ${command}\\b`, 'm'));
  assert.deepEqual([shown.code, shown.stdout], [0, `${version}\n`]);
});

test('CLI reports usage and configuration errors in a short message before anything starts', async () => {
  const dataDir = join(folder, 'never-made');
  const bad = join(folder, 'bad.yaml');
  await writeFile(bad, 'groups:\n  - { id: a, style: messages, colour: red }\n');
  const cases: [readonly string[], RegExp, CommandOptions['env']?][] = [
    [['nonsense'], /unknown command 'nonsense'/],
    [['serve', '--nonsense'], /unknown option '--nonsense'/],
    [['key', 'create'], /--user/],
    [['apply'], /'file'/],
    [['apply', join(folder, 'missing.yaml')], /missing\.yaml/],
    [['apply', folder], new RegExp(folder)],
    [['apply', bad], /groups\[0\]\.colour: /],
    [['serve', '--config', bad], /groups\[0\]\.colour: /],
    [['serve'], /\bPORT: /, { PORT: 'eighty' }],
    [['serve'], /\bMASTER_KEY: .*k1:/, { MASTER_KEY: 'short' }],
    [['migrate'], /ECONNREFUSED.*DATABASE_URL/, { DATABASE_URL: 'postgres://x@127.0.0.1:1/x' }],
    [['serve'], /ECONNREFUSED/, { DATABASE_URL: 'postgres://x@localhost:1/x' }],
  ];
  const responses = await Promise.all(
    cases.map(([args, , env]) => (args[0] === 'serve' ? run : runHere)(args, { env: { DATA_DIR: dataDir, ...env } })),
  );
  for (const [n, response] of responses.entries()) assertMessage(response, cases[n]?.[1] ?? /./);
  assert.ok(!isRunning(dataDir));
});

test('dragoman serve starts on an empty directory, a second server is rejected, commands join its database, and a stop leaves no process', async (t) => {
  const dataDir = join(folder, 'life');
  const env = { DATA_DIR: dataDir };
  const begun = performance.now();
  const first = new Command(['serve'], { env });
  const url = await first.ready();
  t.diagnostic(`ready on an empty directory after ${Math.round(performance.now() - begun)} ms`);
  const later: Command[] = [];
  try {
    assert.equal((await fetch(`${url}/readyz`)).status, 200);

    const [second, applied, migrated] = await Promise.all([
      run(['serve'], { env }),
      run(['apply', '-'], { env, stdin: readFileSync(setupFile, 'utf8') }),
      run(['migrate'], { env }),
    ]);
    assertMessage(
      { ...second, stderr: second.stderr.replace(/^Starting PostgreSQL .*\n/, '') },
      new RegExp(`\\b${first.process.pid}\\b`),
    );
    assert.equal(applied.code, 0, applied.stderr);
    assert.match(applied.stdout, /^dg-\w{49}\n$/, 'only the new key goes to stdout');
    assert.equal(migrated.code, 0, migrated.stderr);

    const [created, again, doctor, badUser, badGroup, badAddress] = await Promise.all([
      run(['key', 'create', '--user', 'bob', '--group', 'claude'], { env }),
      runHere(['apply', setupFile], { env }),
      runHere(['doctor'], { env }),
      runHere(['key', 'create', '--user', 'not an id', '--group', 'claude'], { env }),
      runHere(['key', 'create', '--user', 'bob', '--group', 'nowhere'], { env }),
      runHere(['key', 'create', '--user', 'bob', '--group', 'claude', '--name', 'x', '--addresses', '10.0.0.1,home'], {
        env,
      }),
    ]);
    assert.match(created.stdout, /^dg-\w{49}\n$/);
    assert.deepEqual([again.code, again.stdout], [0, ''], 'applying it again changes nothing');
    assert.equal(doctor.code, 0, doctor.stdout);
    assert.match(doctor.stdout, /^ok {4}Database {7}PostgreSQL \d+\.\d+, embedded, in \S+\/life\/postgres$/m);
    assert.match(doctor.stdout, /^ok {4}Configuration {2}1 groups, 0 accounts, 0 models, \d keys$/m);
    assertMessage(badUser, /--user: .*"not an id"/);
    assertMessage(badGroup, /"nowhere".*\bclaude\b/);
    assertMessage(badAddress, /--addresses: .*"home"/);

    const list = await runHere(['key', 'list'], { env });
    assert.match(list.stdout, /^key_\w+\tvalid\tana\tclaude\tfiled\tdg-\w{3}\.\.\.\w{4}$/m);
    const key = created.stdout.trim();
    assert.ok(!list.stdout.includes(key));
    await until('the server to accept the key', async () => (await statusOf(url, key)) !== 401);

    const family = await postgresOf(dataDir);
    await first.stop('SIGKILL');
    assert.ok(survivors(family).length > 0, 'a killed server leaves its database running');
    const warm = performance.now();
    const next = new Command(['serve'], { env });
    later.push(next);
    const nextUrl = await next.ready();
    t.diagnostic(`ready again after a kill in ${Math.round(performance.now() - warm)} ms`);
    assert.equal(await postmasterPid(join(dataDir, 'postgres')), family[0], 'the running database is adopted');
    assert.notEqual(await statusOf(nextUrl, key), 401, 'the key is still valid');
    const all = await postgresOf(dataDir);
    const { code, stderr } = await next.stop('SIGTERM');
    assert.equal(code, 0, stderr);
    assert.deepEqual(survivors(all), [], 'no PostgreSQL process is left');
    assert.ok(!(await readFile(join(dataDir, 'postgres.log'), 'utf8')).includes(key));

    const alone = await run(['key', 'list'], { env });
    assert.equal(alone.code, 0);
    assert.match(alone.stdout, /\tbob\t/);
    assert.ok(!isRunning(dataDir), 'a command that started the database stops it');
    const revoked = await runHere(['key', 'revoke', /^(key_\w+)\tvalid\tbob/m.exec(alone.stdout)?.[1] ?? ''], { env });
    assert.equal(revoked.code, 0, revoked.stderr);
    assert.ok(!isRunning(dataDir));
  } finally {
    for (const command of [first, ...later]) command.process.kill('SIGKILL');
    await run(['migrate'], { env });
  }
});

test('servers and commands start concurrently on a shared PostgreSQL over TCP', async () => {
  const postgres = await joinOver('tcp', { dataDir: join(folder, 'tcp'), durable: false });
  const env = { DATABASE_URL: postgres.url, DATA_DIR: join(folder, 'tcp-data') };
  const server = new Command(['serve'], { env });
  try {
    const migrations = await Promise.all([1, 2, 3].map(() => run(['migrate'], { env })));
    assert.deepEqual(
      migrations.map(({ code }) => code),
      [0, 0, 0],
    );
    const url = await server.ready();
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    const files = await readdir(new URL('../../migrations/', import.meta.url));
    const steps = files.filter((file) => file.endsWith('.sql'));
    assert.equal(
      await queryValue(
        postgres.url,
        'select count(*)::int from (select name from kysely_migration union all select migration from schema_versions) run',
      ),
      steps.length,
      'each migration ran once',
    );

    const taken = await run(['serve'], { env: { ...env, PORT: new URL(url).port } });
    assertMessage(
      { ...taken, stderr: taken.stderr.replace(/^Connecting .*\n/, ''), stdout: '' },
      new RegExp(`${new URL(url).port}.*\\bPORT\\b`),
    );
    const replica = new Command(['serve'], { env });
    await replica.ready();
    assert.equal((await replica.stop()).code, 0, 'several servers may share a database');

    await runHere(['apply', setupFile], { env });
    const empty = join(folder, 'empty.yaml');
    await writeFile(empty, '{}');
    const [dry, unconfirmed] = await Promise.all([
      runHere(['apply', empty, '--prune', '--dry-run'], { env }),
      runHere(['apply', empty, '--prune'], { env }),
    ]);
    assert.equal(dry.code, 0);
    assert.match(dry.stderr, /group claude/);
    assert.equal(unconfirmed.code, 1);
    assert.match(unconfirmed.stderr, /--yes/);
    const refused = await runHere(['apply', empty, '--prune', '--yes'], { env });
    const [, count = ''] = /--confirm (\d+)/.exec(refused.stderr) ?? [];
    const pruned = await runHere(['apply', empty, '--prune', '--yes', '--confirm', count], { env });
    assert.match(pruned.stderr, /group claude/, 'the dry run and the unconfirmed run changed nothing');

    const { code, stdout } = await server.stop();
    assert.equal(code, 0);
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
    assert.ok(events.includes('server.ready') && events.includes('server.stopped'), 'every log line is JSON');
  } finally {
    server.process.kill('SIGKILL');
    await server.ended;
    await postgres.leave();
  }
});

test('dragoman serve reports a port in use and stops the embedded database', async () => {
  const occupant = createServer().listen(0, '127.0.0.1');
  await until('the port', () => occupant.listening);
  const address = occupant.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const dataDir = join(folder, 'port');
  try {
    const taken = await run(['serve'], { env: { DATA_DIR: dataDir, PORT: String(port) } });
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, new RegExp(String(port)));
    assert.ok(!isRunning(dataDir));
  } finally {
    occupant.close();
  }
});

test('dragoman serve rejects a wrong master key', async () => {
  const dataDir = join(folder, 'port');
  const wrong = await run(['serve'], { env: { DATA_DIR: dataDir, MASTER_KEY: `k1:${'wrong'.repeat(8)}` } });
  assertMessage({ ...wrong, stderr: wrong.stderr.replace(/^Starting .*\n/, '') }, /master key/i);
  assert.ok(!isRunning(dataDir));
});

/** A Node on the PATH that is too old for the code. */
const oldNode = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((entry) => !entry.includes('node_modules'))
  .map((entry) => join(entry, 'node'))
  .find((file) => existsSync(file) && Number(/^v(\d+)/.exec(String(execFileSync(file, ['--version'])))?.[1]) < 24);

test('launcher runs the bundled Node when started by an old one, and passes on exit codes and signals', {
  skip: oldNode === undefined && 'no Node below 24 is on the PATH',
}, async () => {
  assert.ok(oldNode);
  const options = { node: oldNode, env: { DATA_DIR: join(folder, 'port') } };
  const [good, bad, doctor] = await Promise.all([
    run(['--version'], options),
    run(['nonsense'], options),
    run(['doctor'], options),
  ]);
  assert.equal(good.code, 0);
  assertMessage(bad, /unknown command/);
  assert.match(doctor.stdout, /^ok {4}Node +v(2[4-9]|[3-9]\d)\./m, 'the code runs on the bundled Node');
  const server = new Command(['serve'], options);
  try {
    const url = await server.ready();
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
    const family = await postgresOf(options.env.DATA_DIR);
    const { code, signal } = await server.stop('SIGTERM');
    assert.deepEqual([code, signal], [0, null]);
    assert.deepEqual(survivors(family), []);
  } finally {
    server.process.kill('SIGTERM');
    await server.ended;
  }
});

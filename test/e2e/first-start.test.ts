// set: all; a new process and PostgreSQL for each case
/** The first hour of an operator: starts that are refused, keys that are shown once, signals, and where the data is. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { runHere } from '../support/cli.ts';
import { Command, run } from '../support/command.ts';
import { testDatabase } from '../support/database.ts';
import {
  canRunAsNobody,
  createClosedFolder,
  createFolder,
  familyOf,
  isRoot,
  postmasterPid,
  removeFolder,
  survivors,
} from '../support/embedded.ts';
import { request, Wire } from '../support/raw.ts';
import { until } from '../support/wait.ts';

let folder: string;
let setupFile: string;

before(async () => {
  folder = await createFolder();
  setupFile = join(folder, 'setup.yaml');
  writeFileSync(
    setupFile,
    'groups: [{ id: claude, style: messages }]\nmodels: [{ id: free-model, groups: [claude] }]\nusers: [{ id: ana }]\nkeys: [{ user: ana, group: claude }]\n',
  );
});
after(() => removeFolder(folder));

const KEY = /\bdg-[0-9A-Za-z]{49}\b/g;
const TOKEN = /\bdga-[0-9A-Za-z]{43}\b/g;
const isRunning = (dataDir: string): boolean => existsSync(join(dataDir, 'postgres', 'postmaster.pid'));

async function ask(url: string, key: string, model: string): Promise<number> {
  const response = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  await response.text();
  return response.status;
}

test('a second serve on the same DATA_DIR is refused, exits, and changes neither the demo nor the configuration', async () => {
  const env = { DATA_DIR: join(folder, 'second'), DEMO: 'auto' };
  const first = new Command(['serve'], { env });
  try {
    const url = await first.ready();
    const keys = first.stderr.match(KEY) ?? [];
    const [again, configured] = await Promise.all([
      run(['serve'], { env }),
      run(['serve', '--config', setupFile], { env }),
    ]);
    for (const { code, stderr, stdout } of [again, configured]) {
      assert.equal(code, 1, stderr);
      assert.match(stderr, new RegExp(`process ${first.process.pid}\\b.*DATA_DIR`));
      assert.equal(stdout, '', 'no key was created');
    }
    for (const key of new Set(keys))
      for (const model of ['demo-messages', 'demo-responses', 'demo-generate'])
        assert.equal(await ask(url, key, model), 200, `every demo key serves ${model}`);
    const created = await runHere(['key', 'create', '--user', 'bob', '--group', 'claude'], { env });
    assert.match(created.stderr, /no provider group "claude"/, 'the refused configuration was not applied');
  } finally {
    await first.stop();
  }
});

test('a demo start that is refused exits, and the next start shows the keys, the token and the link of the first operator', async () => {
  const occupant = createServer().listen(0, '127.0.0.1');
  await until('the port', () => occupant.listening);
  const address = occupant.address();
  const env = { DATA_DIR: join(folder, 'refused'), DEMO: 'auto' };
  try {
    const taken = await run(['serve'], { env: { ...env, PORT: String(typeof address === 'object' && address?.port) } });
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /is taken\. Stop what uses it, or set PORT/);
    const bad = await run(['serve'], { env: { ...env, HOST: '192.0.2.1' } });
    assert.equal(bad.code, 1);
    assert.match(bad.stderr, /Cannot listen on 192\.0\.2\.1:0: .* Set HOST to an address of this machine/);
    for (const { stderr } of [taken, bad]) assert.doesNotMatch(stderr, /\bdga?-/);
    assert.ok(!isRunning(env.DATA_DIR));
  } finally {
    occupant.close();
  }
  const server = new Command(['serve'], { env });
  await server.ready();
  const link = await until('the link', () => /^ {2}(http\S+\/console\/link#)([\w-]{43})$/m.exec(server.stderr));
  const url = await server.ready();
  assert.equal(link[1], `${url}/console/link#`);
  const used = await fetch(`${url}/console/v1/link`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'application/json' },
    body: JSON.stringify({ token: link[2], name: 'Ada', email: 'ada@example.test', password: 'a long password' }),
  });
  assert.equal(used.status, 200, await used.text());
  const { code, stderr } = await server.stop();
  assert.equal(code, 0, stderr);
  assert.ok(stderr.includes('models that a key may use'));
  assert.equal(new Set(stderr.match(KEY)).size, 3);
  assert.equal(new Set(stderr.match(TOKEN)).size, 1);
});

test('serve --config with a taken port of its API, its metrics or its health exits, and applies nothing on a shared database', async () => {
  const database = await testDatabase();
  const occupant = createServer().listen(0, '127.0.0.1');
  await until('the port', () => occupant.listening);
  const address = occupant.address();
  const env = { DATA_DIR: join(folder, 'shared'), DATABASE_URL: database.url };
  try {
    const port = String(typeof address === 'object' && address?.port);
    for (const setting of ['PORT', 'METRICS_PORT', 'HEALTH_PORT']) {
      const refused = await run(['serve', '--config', setupFile], { env: { ...env, [setting]: port } });
      assert.deepEqual([refused.code, refused.stdout], [1, ''], setting);
      assert.match(refused.stderr, new RegExp(`or set ${setting} to another one`));
    }
    const doctor = await runHere(['doctor'], { env });
    assert.match(
      doctor.stdout,
      /Configuration +empty; "dragoman apply FILE" .*, DEMO=on dragoman serve installs a demo$/m,
    );
  } finally {
    occupant.close();
    await database.drop();
  }
});

test('serve --config after the demo says that its keys fail, and that apply --prune removes it', async () => {
  const env = { DATA_DIR: join(folder, 'second') };
  const server = new Command(['serve', '--config', setupFile], { env });
  await server.ready();
  const { stderr } = await server.stop();
  assert.match(stderr, /demo keys get 502. To remove it: npx dragoman apply \S+setup\.yaml --prune$/m);
  assert.match(stderr, /^Not in the file, and kept: .* and \d+ more\. To see and remove .*--prune$/m);
  assert.match(
    stderr,
    /^Models without a price: free-model of claude\. Requests get model_not_priced: .*prices import/m,
  );
  const refused = await runHere(['apply', setupFile, '--prune', '--yes'], { env });
  const [, count = ''] = /--confirm (\d+)/.exec(refused.stderr) ?? [];
  const pruned = await runHere(['apply', setupFile, '--prune', '--yes', '--confirm', count], { env });
  assert.equal(pruned.code, 0, pruned.stderr);
  assert.doesNotMatch(pruned.stderr, /Not in the file/);
  const key = await runHere(['key', 'create', '--user', 'new', '--group', 'claude'], { env });
  assert.match(key.stderr, /^The balance of new is empty, .*402\. Add credit with POST \/admin\/v1\/credits/m);
});

for (const [about, signal] of [
  ['closing the terminal', 'SIGHUP'],
  ['SIGTERM', 'SIGTERM'],
] as const)
  test(`${about} drains and leaves no PostgreSQL process`, async () => {
    const DATA_DIR = join(folder, signal);
    const server = new Command(['serve'], { env: { DATA_DIR, DRAIN_MS: '60000' } });
    const url = await server.ready();
    const family = familyOf(await postmasterPid(join(DATA_DIR, 'postgres')));
    const wire = new Wire(url);
    wire.send(request('GET /healthz HTTP/1.1'));
    assert.equal((await wire.response())?.status, 200);
    const { code, stderr } = await server.stop(signal);
    assert.equal(code, 0, stderr);
    assert.match(stderr, new RegExp(`${signal} received\\. Stopping`));
    assert.deepEqual(survivors(family), []);
  });

test('a second Ctrl-C ends a drain at once and leaves no PostgreSQL process', async (t) => {
  const DATA_DIR = join(folder, 'twice');
  const server = new Command(['serve'], { env: { DATA_DIR, DEMO: 'auto', DRAIN_MS: '600000' } });
  t.after(() => server.process.kill('SIGKILL'));
  const url = await server.ready();
  const family = familyOf(await postmasterPid(join(DATA_DIR, 'postgres')));
  const wire = new Wire(url);
  const authorization = `Bearer ${server.stderr.match(KEY)?.[0]}`;
  // A request whose body never ends keeps the drain waiting.
  wire.send(
    request(
      'POST /v1/messages HTTP/1.1',
      [
        ['authorization', authorization],
        ['content-length', '100'],
      ],
      '{',
    ),
  );
  await until('the request', async () =>
    /^dragoman_open_requests 2$/m.test(await (await fetch(`${url}/metrics`)).text()),
  );
  server.process.kill('SIGINT');
  await until('the drain', () => server.stderr.includes('Stopping: open requests'));
  assert.equal(survivors(family).length > 0, true);
  await until('the process to end', () => {
    server.process.kill('SIGINT');
    return server.process.exitCode !== null;
  });
  assert.equal((await server.ended).code, 1);
  assert.match(server.stderr, /Stopping at once\./);
  assert.deepEqual(survivors(family), []);
  wire.end();
});

test('a signal during the start of PostgreSQL leaves no PostgreSQL process', async () => {
  const DATA_DIR = join(folder, 'early');
  const commands = [new Command(['serve'], { env: { DATA_DIR } }), new Command(['migrate'], { env: { DATA_DIR } })];
  await until('PostgreSQL', () => isRunning(DATA_DIR));
  const family = familyOf(await postmasterPid(join(DATA_DIR, 'postgres')));
  await Promise.all(commands.map((command) => command.stop('SIGINT')));
  assert.deepEqual(survivors(family), []);
});

test('a DATA_DIR that cannot be created or written gives a sentence with the next step, in doctor too', async () => {
  const file = join(folder, 'a-file');
  writeFileSync(file, '');
  for (const [DATA_DIR, reason] of [
    [join(file, 'data'), 'cannot be created: a part of the path is a file'],
    [file, 'cannot be created: it is a file'],
    ['/proc/sys', 'cannot be written: '],
  ] as const) {
    const [served, doctor] = await Promise.all([
      run(['serve'], { env: { DATA_DIR } }),
      runHere(['doctor'], { env: { DATA_DIR } }),
    ]);
    const expected = new RegExp(`DATA_DIR ${DATA_DIR} ${reason}.*Set DATA_DIR to a folder that user \\d+ can write`);
    assert.equal(served.code, 1);
    assert.match(served.stderr, expected);
    assert.doesNotMatch(served.stderr, /^\s+at |Unexpected/m);
    assert.match(doctor.stdout, new RegExp(`^BAD +Disk +${expected.source}`, 'm'));
  }
});

test('a read-only DATA_DIR of the same user is reported as such', async (t) => {
  if (isRoot && !(await canRunAsNobody())) return t.skip('another user cannot read this folder');
  const DATA_DIR = join(folder, 'read-only');
  mkdirSync(DATA_DIR);
  chmodSync(DATA_DIR, 0o555);
  const { stderr } = await run(['serve'], { env: { DATA_DIR }, ...(isRoot && { uid: 65_534 }) });
  assert.match(stderr, /DATA_DIR \S+read-only cannot be written: permission denied\. Set DATA_DIR/);
});

test('serve and doctor say where the database is when it cannot be in DATA_DIR', {
  skip: !isRoot && 'only PostgreSQL of root runs as another user',
}, async () => {
  const DATA_DIR = join(await createClosedFolder(folder), 'data');
  const env = { DATA_DIR };
  try {
    for (const start of ['first', 'second']) {
      const server = new Command(['serve'], { env });
      await server.ready();
      const { stderr } = await server.stop();
      assert.match(stderr, /^The database is in \S+, outside DATA_DIR\. Back up both;/m, start);
    }
    const doctor = await runHere(['doctor'], { env });
    assert.match(doctor.stdout, /^ok +Database +PostgreSQL \S+, embedded, in \S+, outside DATA_DIR: back up both$/m);
  } finally {
    const { directory } = JSON.parse(readFileSync(join(DATA_DIR, 'postgres.location'), 'utf8'));
    await removeFolder(dirname(DATA_DIR), join(directory, 'postgres'));
  }
});

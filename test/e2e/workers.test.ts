// set: all; kills and reloads of three worker processes
/** A server with three workers, as real processes: shared limits, a killed worker, a reload, merged metrics and an orderly stop. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { type Database, openDatabase } from '../../src/platform/db/index.ts';
import { version } from '../../src/platform/version.ts';
import { Command, run } from '../support/command.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { until } from '../support/wait.ts';

const WORKERS = 3;
const keyOf = (name: string): string => `workers-test-key-of-${name}`;
/** One dollar per input token and a context of one token: each call reserves one dollar. */
const COSTLY = { context: 1, prices: { input: '1000000', output: '0' } };
const SLOW = 'demo-messages@events=30;gap=30';

const folder = mkdtempSync(join(tmpdir(), 'dragoman-workers-'));
const dataDir = join(folder, 'data');
let sim: Sim;
let database: TestDatabase;
let opened: Database;
let command: Command;
let env: Record<string, string>;
let url: string;

before(async () => {
  [sim, database] = await Promise.all([startSim(), testDatabase()]);
  opened = openDatabase(database.url, 2);
  env = {
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    MASTER_KEY: `k1:${'workers-master-key-'.repeat(2)}`,
    WORKERS: String(WORKERS),
    DRAIN_MS: '10000',
    USAGE_FLUSH_MS: '200',
    HEALTH_PORT: '0',
  };
  const names = ['plain', 'rpm', 'open', 'spend'];
  writeFileSync(
    join(folder, 'setup.json'),
    JSON.stringify({
      groups: ['claude', 'limited'].map((id) => ({ id, style: 'messages' })),
      accounts: [
        { id: 'cl1', group: 'claude', base_url: sim.url, api_key: 'sk-upstream', max_concurrency: 1000 },
        { id: 'limited', group: 'limited', base_url: sim.url, api_key: 'sk-limited', rpm: 20 },
      ],
      models: [
        { id: 'costly', groups: ['claude'], upstream: SLOW, ...COSTLY },
        { id: 'demo-*', groups: ['claude', 'limited'], prices: { input: '3', output: '15' } },
      ],
      users: names.map((id) => ({ id, balance: '1000' })),
      keys: [
        ...[{}, { rpm: 60 }, { concurrency: 4 }, { spend_day: '5' }].map((limits, n) => ({
          user: names[n],
          group: 'claude',
          key: keyOf(names[n] ?? ''),
          ...limits,
        })),
        { user: 'plain', group: 'limited', key: keyOf('limited') },
      ],
    }),
  );
  command = new Command(['serve', '--config', join(folder, 'setup.json')], { env });
  url = await command.ready();
});
after(async () => {
  await command?.stop();
  await opened?.close();
  await database?.drop();
  await sim?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Sent {
  readonly status: number;
  readonly id: string;
  readonly body: string;
}

/** On a connection of its own, so that any worker may get the request. */
const post = async (key: string, over: object = {}, agent: Agent | false = false): Promise<IncomingMessage> => {
  const sent = request(`${url}/v1/messages`, {
    method: 'POST',
    agent,
    headers: { 'x-api-key': keyOf(key), 'content-type': 'application/json' },
  });
  sent.end(
    JSON.stringify({ model: 'demo-messages', max_tokens: 60, messages: [{ role: 'user', content: 'x' }], ...over }),
  );
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
};
const send = async (key: string, over: object = {}): Promise<Sent> => {
  const response = await post(key, over);
  const id = String(response.headers['x-request-id'] ?? response.headers['request-id'] ?? '');
  return { status: response.statusCode ?? 0, id, body: await text(response) };
};
const openStreams = (count: number, key = 'plain', model = SLOW): Promise<IncomingMessage[]> =>
  Promise.all(Array.from({ length: count }, () => post(key, { model, stream: true })));
const countOf = (statuses: readonly (number | undefined)[], status: number): number =>
  statuses.filter((one) => one === status).length;

interface Line {
  readonly msg: string;
  readonly worker?: number;
  readonly pid?: number;
  readonly port?: number;
}
const logLines = (msg: string): Line[] =>
  command.stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line.msg === msg);
/** The process of each worker, the newest one. */
const pids = (): Map<number, number> =>
  new Map(logLines('worker.ready').map(({ worker = 0, pid = 0 }) => [worker, pid] as const));
const requestTotal = async (): Promise<number> => {
  const response = await fetch(`${url}/metrics`, { headers: { connection: 'close' } });
  const counts = (await response.text()).matchAll(
    /^dragoman_request_duration_seconds_count\{operation="messages\.create".*\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
};

test('the server prints one ready line, and every worker writes its number into its log lines', async () => {
  await until('the ready line', () => /^Dragoman is ready/m.test(command.stderr));
  const served = await until('the log of all workers', async () => {
    await Promise.all(Array.from({ length: 12 }, () => send('plain')));
    const found = new Set(logLines('request.completed').map(({ worker }) => worker));
    return found.size === WORKERS ? found : undefined;
  });
  assert.deepEqual([...served].sort(), [1, 2, 3]);
  assert.equal(command.stderr.match(/^Dragoman is ready/gm)?.length, 1);
  await until('the log of their starts', () => pids().size === WORKERS);
});

test('health checks need no worker to say that the server is alive, and one to say that it is ready', async () => {
  const check = async (path: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${logLines('health.ready')[0]?.port}${path}`);
    return [response.status, await response.json()];
  };
  assert.deepEqual(await check('/readyz'), [200, { status: 'ready' }]);
  const [running = 0, ...stopped] = pids().values();
  for (const pid of stopped) process.kill(pid, 'SIGSTOP');
  assert.deepEqual(await check('/readyz'), [200, { status: 'ready' }]);
  process.kill(running, 'SIGSTOP');
  assert.deepEqual(await check('/readyz'), [503, { status: 'not ready', reason: 'the workers do not respond' }]);
  assert.deepEqual(await check('/healthz'), [200, { status: 'alive', version }]);
  for (const pid of [running, ...stopped]) process.kill(pid, 'SIGCONT');
  await until('a worker', async () => (await fetch(url)).status === 404);
});

test('a limit of 60 requests per minute holds over all workers', async () => {
  const begun = performance.now();
  const statuses = (await Promise.all(Array.from({ length: 90 }, () => send('rpm')))).map(({ status }) => status);
  const minutes = Math.ceil((performance.now() - begun) / 60_000);
  const admitted = countOf(statuses, 200);
  assert.ok(admitted >= 60 && admitted <= 60 * minutes, `${admitted} of 90 in ${minutes} minutes`);
  assert.equal(countOf(statuses, 429), 90 - admitted);
});

test('the requests per minute of an account hold over all workers, and all of them can be used', async () => {
  const begun = performance.now();
  const served = (): number =>
    sim.journal.requests.filter(({ headers }) => JSON.stringify(headers).includes('sk-limited')).length;
  // A call that finds no permit on its worker waits for one of another.
  await until('all of the limit', async () => {
    await Promise.all(Array.from({ length: 4 }, () => send('limited')));
    return served() >= 20;
  });
  const statuses = (await Promise.all(Array.from({ length: 30 }, () => send('limited')))).map(({ status }) => status);
  const minutes = Math.ceil((performance.now() - begun) / 60_000);
  assert.ok(served() <= 20 * minutes, `${served()} requests in ${minutes} minutes`);
  if (minutes === 1) assert.equal(countOf(statuses, 529), 30);
});

test('limits of concurrency and of spending hold over all workers', async () => {
  const streams = await openStreams(12, 'open');
  assert.deepEqual(
    [
      countOf(
        streams.map(({ statusCode }) => statusCode),
        200,
      ),
      countOf(
        streams.map(({ statusCode }) => statusCode),
        429,
      ),
    ],
    [4, 8],
  );
  for (const stream of streams) stream.destroy();
  const costly = await openStreams(20, 'spend', 'costly');
  assert.equal(
    countOf(
      costly.map(({ statusCode }) => statusCode),
      200,
    ),
    5,
  );
  for (const stream of costly) stream.destroy();
  await until('the slots to be free', async () => (await send('open')).status === 200);
});

test('a killed worker is replaced while the others serve, and no charge is lost or doubled', async () => {
  const before = pids();
  const totalBefore = await requestTotal();
  const [victim = 0] = [...before.values()];
  const done: Sent[] = [];
  let isLoading = true;
  const load = Array.from({ length: 8 }, async () => {
    while (isLoading)
      await send('plain').then(
        (sent) => done.push(sent),
        () => {},
      );
  });
  await until('some requests', () => done.length > 40);
  process.kill(victim, 'SIGKILL');
  const [killed] = [...before].find(([, pid]) => pid === victim) ?? [];
  await until('the replacement', () => pids().get(killed ?? 0) !== victim);
  const atReplacement = done.length;
  await until('requests after it', () => done.length > atReplacement + 40);
  isLoading = false;
  await Promise.all(load);
  assert.ok(done.every(({ status }) => status === 200));
  assert.ok((await requestTotal()) >= totalBefore, 'no total decreases');
  await until('every response to be charged', async () => {
    const rows = await opened.db
      .selectFrom('usage_records')
      .select('request_id')
      .where('user_id', '=', 'plain')
      .execute();
    const charged = rows.map(({ request_id }) => request_id);
    assert.equal(new Set(charged).size, charged.length, 'a request is charged twice');
    return done.every(({ id }) => charged.includes(id));
  });
});

test('a reload replaces every worker without a dropped stream, and totals stay', async () => {
  const before = pids();
  const total = await requestTotal();
  let isReloading = true;
  const bodies: string[] = [];
  // Twenty streams are open at any moment, whenever a worker is replaced.
  const load = Array.from({ length: 20 }, async () => {
    while (isReloading) bodies.push(await text(await post('plain', { model: SLOW, stream: true })));
  });
  const reloaded = run(['reload'], { env: { ...env, CORS_ORIGINS: 'https://app.example' } });
  const { code, stderr } = await reloaded;
  isReloading = false;
  await Promise.all(load);
  assert.equal(code, 0, stderr);
  assert.equal(stderr.match(/^Worker \d of 3: process \d+ is ready/gm)?.length, WORKERS);
  for (const body of bodies) assert.match(body, /event: message_stop/);
  await until('the log of the new workers', () => [...pids()].every(([worker, pid]) => pid !== before.get(worker)));
  assert.equal(await requestTotal(), total + bodies.length);
  const { headers } = await fetch(`${url}/v1/models`, { headers: { origin: 'https://app.example' } });
  assert.equal(headers.get('access-control-allow-origin'), 'https://app.example', 'the new settings are in force');
});

test('a reload that cannot work changes nothing and says why', async () => {
  const before = pids();
  const port = await run(['reload'], { env: { ...env, PORT: '65000' } });
  assert.deepEqual([port.code, /PORT cannot change in a reload/.test(port.stderr)], [1, true], port.stderr);
  const key = await run(['reload'], { env: { ...env, TLS_CERT: '/nowhere', TLS_KEY: '/nowhere' } });
  assert.equal(key.code, 1);
  assert.match(key.stderr, /Worker 1 of 3: the new process failed, and the old one stays\..*TLS_CERT/);
  assert.deepEqual(pids(), before);
  assert.equal((await send('plain')).status, 200);
  const elsewhere = await run(['reload'], { env: { DATA_DIR: join(folder, 'other') } });
  assert.match(elsewhere.stderr, /No server with several workers runs on/);
});

test('a second server on the same port is refused, and its workers end', async () => {
  const { code, stderr } = await run(['serve'], {
    env: { ...env, WORKERS: '2', DATA_DIR: join(folder, 'second'), PORT: new URL(url).port },
  });
  assert.equal(code, 1);
  assert.match(stderr, /Port \d+ on 127\.0\.0\.1 is taken/);
});

test('a stop lets the streams of all workers finish, and leaves no journal behind', async () => {
  const streams = await openStreams(9);
  const bodies = Promise.all(streams.map((stream) => text(stream)));
  const { code } = await command.stop();
  assert.equal(code, 0);
  for (const body of await bodies) assert.match(body, /event: message_stop/);
  assert.deepEqual(readdirSync(join(dataDir, 'journal')), []);
  assert.deepEqual(await opened.db.selectFrom('replicas').select('id').execute(), []);
});

test('a server whose workers end at once again and again gives up with a reason', async () => {
  const [marker, preload] = [join(folder, 'die'), join(folder, 'die.mjs')];
  writeFileSync(
    preload,
    `import { existsSync } from 'node:fs';
     if (process.env.DRAGOMAN_PRIMARY !== undefined && existsSync(${JSON.stringify(marker)})) process.exit(3);`,
  );
  const server = new Command(['serve'], {
    env: { ...env, WORKERS: '2', DATA_DIR: join(folder, 'third'), NODE_OPTIONS: `--import=${preload}` },
  });
  await server.ready();
  writeFileSync(marker, '');
  const running = await until('the log of both workers', () => {
    const found = [...server.stdout.matchAll(/"pid":(\d+),"msg":"worker\.ready"/g)];
    return found.length === 2 ? found : undefined;
  });
  for (const [, pid] of running) process.kill(Number(pid), 'SIGKILL');
  const { code, stderr } = await server.ended;
  assert.equal(code, 1);
  assert.match(stderr, /The workers ended 5 times in a row soon after their start, the last one with exit code 3/);
});

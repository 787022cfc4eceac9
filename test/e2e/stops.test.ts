// set: sweeps; a new process for each dependency that hangs
/**
 * The end of a process after SIGTERM or a refused start, whatever a dependency does. `npm run soak -- stops` goes through all rows of the
 * table.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BEDROCK, type Sim, serviceAccountKey, startSim, VERTEX } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { type LaunchedProcess, launch } from '../support/process.ts';
import { noRedis, startRedis, type TestRedis } from '../support/redis.ts';
import { MISBEHAVIOURS, type Misbehaviour, TcpRelay } from '../support/tcp-relay.ts';
import { HANGING_MS, until } from '../support/wait.ts';

type Dependency = 'Redis' | 'PostgreSQL' | 'provider' | 'collector' | 'Google sign-in' | 'AWS sign-in';
/** `refused`: the start fails by itself. `start`: SIGTERM comes while the process waits for the dependency. */
type Moment = 'refused' | 'start' | 'serving' | 'stop';

interface Program {
  readonly args: readonly string[];
  readonly workers: number;
}

const PROGRAMS = {
  'one process': { args: ['serve'], workers: 1 },
  'two workers': { args: ['serve'], workers: 2 },
  work: { args: ['work'], workers: 1 },
  apply: { args: ['apply', 'SETUP'], workers: 1 },
  doctor: { args: ['doctor', '--accounts'], workers: 1 },
} as const satisfies Record<string, Program>;

interface Row {
  readonly program: keyof typeof PROGRAMS;
  readonly dependency: Dependency;
  readonly how: Misbehaviour;
  readonly moment: Moment;
}

/** The moments at which a server uses each dependency. */
const MOMENTS: Readonly<Record<Dependency, readonly Moment[]>> = {
  Redis: ['refused', 'start', 'serving', 'stop'],
  PostgreSQL: ['refused', 'start', 'serving', 'stop'],
  provider: ['serving', 'stop'],
  collector: ['serving', 'stop'],
  'Google sign-in': ['serving'],
  'AWS sign-in': ['serving'],
};

const rowsOf = (program: Row['program'], moments: Partial<typeof MOMENTS>): Row[] =>
  Object.entries(moments).flatMap(([dependency, list]) =>
    list.flatMap((moment) => {
      const hasTls = dependency === 'PostgreSQL' || dependency === 'Redis';
      const isConnecting = moment === 'refused' || moment === 'start';
      const ways = [...MISBEHAVIOURS, ...(hasTls && isConnecting ? (['hangs in TLS'] as const) : [])];
      return ways.map((how): Row => ({ program, dependency: dependency as Dependency, how, moment }));
    }),
  );

const ALL_ROWS: readonly Row[] = [
  ...rowsOf('one process', MOMENTS),
  ...rowsOf('two workers', MOMENTS),
  ...rowsOf('work', { PostgreSQL: ['refused', 'start', 'serving'] }),
  ...rowsOf('apply', { PostgreSQL: ['refused', 'start'] }),
  ...rowsOf('doctor', { PostgreSQL: ['refused', 'start'], Redis: ['refused', 'start'] }),
];
/** Every dependency at every moment, with the behaviour that libraries handle worst. */
const FEW_ROWS = ALL_ROWS.filter(
  ({ program, how, dependency }) => how === 'says nothing' && program === 'one process' && !isSignIn(dependency),
);
function isSignIn(dependency: Dependency): boolean {
  return dependency.endsWith('sign-in');
}
function nameOf({ program, dependency, how, moment }: Row): string {
  return `${program} ends when ${dependency} ${how} (${moment})`;
}

const { STOPS } = process.env;
const ROWS = STOPS === undefined ? FEW_ROWS : ALL_ROWS.filter((row) => nameOf(row).includes(STOPS));

/** Processes at a time. */
const LANES = 3;
const MASTER_KEY = `k1:${'s'.repeat(40)}`;

let redis: TestRedis;
let sim: Sim;
let collector: Server;
let gateway: TestGateway;
let setupFile: string;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-stops-'));
  redis = await startRedis();
  sim = await startSim();
  collector = createServer((request, response) => request.resume().on('end', () => response.end('{}')));
  await new Promise<void>((resolve) => void collector.listen(0, '127.0.0.1', resolve));
  gateway = await startGateway({ env: { MASTER_KEY } });
  setupFile = join(folder, 'setup.json');
  writeFileSync(setupFile, JSON.stringify(basicSetup(sim.url)));
});
after(async () => {
  collector?.close();
  await gateway?.stop();
  await sim?.close();
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const targetOf = (dependency: Dependency): string =>
  ({
    Redis: redis.url,
    PostgreSQL: gateway.database.url,
    provider: sim.url,
    collector: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    'Google sign-in': sim.url,
    'AWS sign-in': sim.url,
  })[dependency];

test('processes end, whatever a dependency does', {
  concurrency: LANES,
  skip: noRedis,
  timeout: HANGING_MS * 3 + ROWS.length * 30_000,
}, async (t) => {
  await Promise.all(
    ROWS.map((row, number) => t.test(nameOf(row), { timeout: HANGING_MS * 3 }, () => check(row, number))),
  );
});

/** How the account of a row signs in. */
function credentialOf(dependency: Dependency, relayUrl: string): object {
  if (dependency === 'Google sign-in') {
    const cloud = { kind: 'vertex', project: VERTEX.project, location: 'us', auth: 'service-account' };
    return { api_key: serviceAccountKey(relayUrl), cloud };
  }
  const api_key = `${BEDROCK.key.id}:${BEDROCK.key.secret}`;
  const role = { role_arn: BEDROCK.role, token_url: `${relayUrl}/aws-sts` };
  if (dependency === 'AWS sign-in')
    return { api_key, cloud: { kind: 'bedrock', region: BEDROCK.region, auth: 'access-key', ...role } };
  return { api_key: 'sk-upstream' };
}

/** The same server, with TLS. */
function overTls(url: string): string {
  const secure = new URL(url.replace(/^redis:/, 'rediss:'));
  if (secure.protocol !== 'rediss:') secure.searchParams.set('sslmode', 'require');
  return secure.href;
}

async function check(row: Row, number: number): Promise<void> {
  const relay = await TcpRelay.start(targetOf(row.dependency));
  await checkBehind(relay, row, number).finally(() => relay.close());
}

async function checkBehind(relay: TcpRelay, row: Row, number: number): Promise<void> {
  const { program, dependency, how, moment } = row;
  // Each row has a group of its own, whose account may be behind a relay.
  const group = `g${number}`;
  const relayUrl = relay.url.replace(/\/$/, '');
  const url = how === 'hangs in TLS' ? overTls(relay.url) : relay.url;
  const keys = await gateway.apply({
    groups: [{ id: group, style: 'messages' }],
    accounts: [
      {
        id: `a${number}`,
        group,
        base_url: dependency === 'provider' ? relayUrl : sim.url,
        ...credentialOf(dependency, relayUrl),
      },
    ],
    models: [{ id: 'demo-*', groups: [group] }],
    users: [{ id: 'ana', balance: '100' }],
    keys: [{ user: 'ana', group, name: 'stops' }],
  });
  const { args, workers } = PROGRAMS[program];
  const isEarly = moment === 'refused' || moment === 'start';
  if (isEarly) relay.misbehave(how);
  const one = launch(
    args.map((arg) => (arg === 'SETUP' ? setupFile : arg)),
    {
      DATABASE_URL: dependency === 'PostgreSQL' ? url : gateway.database.url,
      REDIS_URL: dependency === 'Redis' ? url : redis.url,
      ...(dependency === 'collector' && { OTEL_EXPORTER_OTLP_ENDPOINT: relay.url }),
      MASTER_KEY,
      DATA_DIR: join(folder, String(number)),
      HOST: '127.0.0.1',
      // A server whose port is taken is refused.
      PORT: moment === 'refused' && dependency === 'Redis' ? new URL(gateway.url).port : '0',
      DEMO: 'off',
      DRAIN_BEFORE_MS: '300',
      DRAIN_MS: '500',
      WORKERS: String(workers),
    },
  );
  try {
    await bringTo(row, { one, relay, key: keys[group] ?? '' });
    const code = await exitOf(one, nameOf(row));
    if (program === 'doctor' && dependency === 'Redis') return;
    if (moment === 'refused') assert.equal(code, 1, one.output());
    else if (!isEarly && dependency !== 'PostgreSQL') assert.equal(code, 0, one.output());
  } finally {
    one.child.kill('SIGKILL');
  }
}

/** Ends when the process is about to end. */
async function bringTo(
  { program, dependency, how, moment }: Row,
  { one, relay, key }: { readonly one: LaunchedProcess; readonly relay: TcpRelay; readonly key: string },
): Promise<void> {
  if (moment === 'refused') return;
  if (moment === 'start') {
    // Nobody sees connections to a port where nothing listens.
    if (how === 'refuses') await one.until(/Connecting|ready|running|ok /).catch(() => {});
    else await until('a connection', () => relay.touches > 0 || hasEnded(one));
    return void one.child.kill();
  }
  const ready = await one.until(program === 'work' ? /are running/ : /ready at (\S+)/);
  const url = ready[1];
  const isStreaming = dependency === 'provider';
  if (isSignIn(dependency)) relay.misbehave(how);
  if (url) {
    const call = fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: isStreaming ? 'demo-messages@gap=300' : 'demo-messages',
        stream: isStreaming,
        max_tokens: 50,
        messages: [{ role: 'user', content: 'Hello!' }],
      }),
    });
    if (isSignIn(dependency)) {
      let isOver = false;
      void call
        .catch(() => {})
        .finally(() => {
          isOver = true;
        });
      await until('the sign-in', () => isOver || relay.touches > 0);
      return void one.child.kill();
    }
    const response = await call;
    assert.equal(response.status, 200, await response.clone().text());
    const read = response.text().catch(() => {});
    if (!isStreaming) await read;
  }
  if (moment === 'stop') {
    one.child.kill();
    await one.until(/server\.draining/);
    return relay.misbehave(how);
  }
  relay.misbehave(how);
  const isUsedAgain = dependency === 'PostgreSQL' && how !== 'refuses';
  if (isUsedAgain) await until('PostgreSQL to be used', () => relay.touches > 0);
  one.child.kill();
}

const hasEnded = ({ child }: LaunchedProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function exitOf(one: LaunchedProcess, name: string): Promise<number | null> {
  const begun = performance.now();
  await until('the process to end', () => hasEnded(one)).catch((error: unknown) => {
    throw new Error(`still running:\n${one.output()}`, { cause: error });
  });
  if (process.env.STOPS_TIMES)
    process.stderr.write(`${name}: ended after ${Math.round(performance.now() - begun)} ms\n`);
  return one.child.exitCode;
}

// set: all; servers of two versions, in a process each
/**
 * The way back from an upgrade: the code of a version runs on the schema of the next one, beside it and after it, and
 * refuses a schema that it cannot run on. `npm run release -- back` does it with the code of the last release.
 */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../bench/child.ts';
import { ROOT } from '../../scripts/modules.ts';
import { type Sim, startSim } from '../../sim/index.ts';
import { openDatabase } from '../../src/platform/db/index.ts';
import { type CommandResult, run } from '../support/command.ts';
import { emptyDatabase, type TestDatabase } from '../support/database.ts';
import { type LaunchedProcess, launch } from '../support/process.ts';
import { PROGRAM } from '../support/program.ts';
import { copyAs, type VersionTree, versionAfter, versionTree } from '../support/version-tree.ts';
import { until } from '../support/wait.ts';

/** The folder with the code of the older version; this tree, which starts faster, by default. */
const BACK_OLDER = process.env.BACK_OLDER;
/** How many calls of each kind pass between two steps. */
const CALLS = Number(process.env.BACK_CALLS ?? 20);
const MASTER_KEY = `k1:${'b'.repeat(40)}`;
const KEY = 'key-of-ana-000000000000000';

const older = BACK_OLDER === undefined ? { ...versionTree(ROOT), program: PROGRAM } : versionTree(BACK_OLDER);
const nextVersion = versionAfter(versionTree(ROOT).version);
const EXPAND = `-- runs with: ${older.version}
alter table users add column next_note text;
alter table usage_records add column next_count int not null default 0;
create table next_notes (id bigint generated always as identity primary key, note text not null);
`;
const CONTRACT = `-- runs with: ${nextVersion}
alter table users drop column email;
`;

let folder: string;
let sim: Sim;
let expanding: VersionTree;
let contracting: VersionTree;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-back-'));
  sim = await startSim();
  const copy = (name: string, text: string): VersionTree =>
    copyAs({ folder: join(folder, name), version: nextVersion, migrations: { [`9000_${name}`]: text } });
  expanding = copy('expand', EXPAND);
  contracting = copy('contract', CONTRACT);
  const account = (group: string, path: string) => ({
    id: `${group}-account`,
    group,
    base_url: `${sim.url}${path}`,
    api_key: 'sk-upstream',
    max_concurrency: 100,
  });
  const prices = { input: '100', output: '100' };
  const setup = {
    groups: [
      { id: 'claude', style: 'messages' },
      { id: 'openai', style: 'responses' },
    ],
    accounts: [account('claude', ''), account('openai', '/v1')],
    models: [
      { id: 'demo-messages*', groups: ['claude'], prices },
      { id: 'demo-responses', groups: ['openai'], prices },
    ],
    users: [{ id: 'ana', balance: '1000' }],
    keys: ['claude', 'openai'].map((group) => ({ user: 'ana', group, key: `${KEY}-${group}` })),
  };
  writeFileSync(join(folder, 'setup.json'), JSON.stringify(setup));
  const accounts = setup.accounts.map((one) => ({ ...one, max_concurrency: null }));
  writeFileSync(join(folder, 'unlimited.json'), JSON.stringify({ ...setup, accounts }));
});
after(async () => {
  await sim?.close();
  rmSync(folder, { recursive: true, force: true });
});

const envOf = (database: TestDatabase, name: string): Record<string, string> => {
  const DATA_DIR = join(folder, 'data', name);
  mkdirSync(DATA_DIR, { recursive: true });
  return { DATABASE_URL: database.url, DATA_DIR, MASTER_KEY, DEMO: 'off', HOST: '127.0.0.1', USAGE_FLUSH_MS: '200' };
};

/** A server of one version, started as often as a test likes. */
class Server {
  readonly url: string;
  readonly #program: string;
  readonly #env: Record<string, string>;
  #process: LaunchedProcess | undefined;

  private constructor(port: number, { program }: VersionTree, env: Record<string, string>) {
    this.url = `http://127.0.0.1:${port}`;
    this.#program = program;
    // Long enough for requests that were sent before the load went elsewhere.
    this.#env = { ...env, PORT: String(port), DRAIN_BEFORE_MS: '1000' };
  }

  static async of(tree: VersionTree, env: Record<string, string>): Promise<Server> {
    return new Server(await freePort(), tree, env);
  }

  async start(...args: readonly string[]): Promise<this> {
    this.#process = launch(['serve', ...args], this.#env, { program: this.#program });
    await this.#process.until(/is ready/);
    return this;
  }

  async stop(): Promise<void> {
    assert.equal(await this.#process?.stop(), 0, this.output());
  }

  async end(): Promise<void> {
    await this.#process?.stop();
  }

  output(): string {
    return this.#process?.output() ?? '';
  }

  async readiness(): Promise<{ readonly status: number; readonly body: string }> {
    const response = await fetch(`${this.url}/readyz`);
    return { status: response.status, body: await response.text() };
  }
}

const KINDS = ['calls', 'streams', 'responses'] as const;
type Kind = (typeof KINDS)[number];

/** Calls of each kind, one after the other, on the servers in turn. */
class Load {
  readonly served: Record<Kind, number> = { calls: 0, streams: 0, responses: 0 };
  readonly failures: string[] = [];
  retries = 0;
  readonly servers = new Set<Server>();
  #isOver = false;
  #turn = 0;
  readonly #lanes: readonly Promise<void>[];

  constructor(first: Server) {
    this.servers.add(first);
    this.#lanes = KINDS.flatMap((kind) => [this.#run(kind), this.#run(kind)]);
  }

  get total(): number {
    return KINDS.reduce((sum, kind) => sum + this.served[kind], 0);
  }

  /** Waits until some more calls of each kind are served. */
  async pass(): Promise<void> {
    const from = { ...this.served };
    await until('calls', () => {
      assert.deepEqual(this.failures, []);
      return KINDS.every((kind) => this.served[kind] >= from[kind] + CALLS);
    });
  }

  /** As an operator stops a server: the load balancer is told first. */
  async without(server: Server, task: () => Promise<void>): Promise<void> {
    this.servers.delete(server);
    await task();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#lanes);
  }

  async #run(kind: Kind): Promise<void> {
    while (!this.#isOver) {
      const outcome = await this.#call(kind).catch((error: Error) => `${error} ${error.cause ?? ''}`);
      if (outcome === 'served') this.served[kind] += 1;
      else if (outcome === 'retry') this.retries += 1;
      else this.failures.push(`${kind}: ${outcome}`);
      await pause(20);
    }
  }

  async #call(kind: Kind): Promise<string> {
    this.#turn += 1;
    const server = [...this.servers][this.#turn % this.servers.size];
    const isResponse = kind === 'responses';
    const response = await fetch(`${server?.url}/v1/${isResponse ? 'responses' : 'messages'}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${KEY}-${isResponse ? 'openai' : 'claude'}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(BODIES[kind]),
    });
    const text = await response.text();
    const isWhole = response.status === 200 && text.includes(kind === 'streams' ? 'event: message_stop' : '"usage"');
    if (isWhole) return 'served';
    const mayRetry = response.headers.has('retry-after') && text.includes('shutting_down');
    return mayRetry ? 'retry' : `${response.status} ${text.slice(0, 300)}`;
  }
}

const MESSAGE = { max_tokens: 50, messages: [{ role: 'user', content: 'Hello!' }] };
const BODIES: Readonly<Record<Kind, object>> = {
  calls: { ...MESSAGE, model: 'demo-messages' },
  streams: { ...MESSAGE, model: 'demo-messages@gap=20', stream: true },
  responses: { model: 'demo-responses', input: 'Hello!' },
};

test('a version is restarted and scaled on the schema of the next one, and takes over from it, under load', {
  timeout: 900_000,
}, async (t) => {
  const database = await emptyDatabase();
  const servers: Server[] = [];
  const server = async (tree: VersionTree, name: string): Promise<Server> => {
    const made = await Server.of(tree, envOf(database, name));
    servers.push(made);
    return made;
  };
  try {
    const first = await server(older, 'first');
    await first.start('--config', join(folder, 'setup.json'));
    const load = new Load(first);
    try {
      await load.pass();
      // The upgrade begins.
      const next = await server(expanding, 'next');
      load.servers.add(await next.start());
      await removeLimits(database);
      await load.pass();
      // A server of the older version restarts, and another one comes.
      await load.without(first, async () => {
        await first.stop();
        await first.start();
      });
      load.servers.add(first);
      const second = await server(older, 'second');
      load.servers.add(await second.start());
      await load.pass();
      assert.deepEqual(await first.readiness(), { status: 200, body: '{"status":"ready"}' });
      // The upgrade is given up, and made again later.
      await load.without(next, () => next.stop());
      await load.pass();
      await checkOlder(database, second);
      load.servers.add(await next.start());
      await load.without(first, () => first.stop());
      await load.without(second, () => second.stop());
      await load.pass();
    } finally {
      await load.stop();
    }
    assert.deepEqual(load.failures, []);
    await Promise.all(servers.map((one) => one.end()));
    assert.deepEqual(await countRows(database), { records: load.total, responses: load.served.responses });
    const counts = KINDS.map((kind) => `${load.served[kind]} ${kind}`).join(', ');
    t.diagnostic(`${older.version} and ${nextVersion}: ${counts} served, none failed, ${load.retries} told to retry`);
  } finally {
    await Promise.all(servers.map((one) => one.end()));
    // Fails when the ledger does not add up.
    await database.drop();
  }
});

/** What only the newer version can say: the accounts take as many calls as their provider does. */
async function removeLimits(database: TestDatabase): Promise<void> {
  const command = { program: expanding.program, env: envOf(database, 'command-apply') };
  const { code, stdout, stderr } = await run(['apply', join(folder, 'unlimited.json')], command);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stderr, /account openai-account changed/);
}

/** What the older version says of the newer schema. Another tree may be older than these sentences. */
async function checkOlder(database: TestDatabase, server: Server): Promise<void> {
  const commands = await Promise.all([runOlder(database, ['migrate']), runOlder(database, ['doctor'])]);
  for (const { code, stdout, stderr } of commands) assert.equal(code, 0, stdout + stderr);
  if (BACK_OLDER !== undefined) return;
  const [migrated, checked] = commands;
  const sentence = new RegExp(
    `The schema of the database is newer than Dragoman ${older.version}, which can run on it\\. It does not know 9000_expand \\(runs with ${older.version} or later\\)`,
  );
  assert.match(migrated?.stderr ?? '', sentence);
  assert.match(checked?.stdout ?? '', new RegExp(`^note {2}Version +${sentence.source}$`, 'm'));
  assert.match(server.output(), /"msg":"schema\.newer_found"/);
  assert.match(server.output(), sentence);
}

const runOlder = (database: TestDatabase, args: readonly string[]): Promise<CommandResult> =>
  run(args, { program: older.program, env: envOf(database, `command-${args[0]}`) });

async function countRows({ url }: TestDatabase): Promise<{ readonly records: number; readonly responses: number }> {
  const { db, close } = openDatabase(url, 2);
  const count = async (table: 'usage_records' | 'stored_responses'): Promise<number> => {
    const row = await db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll().as('n'))
      .executeTakeFirstOrThrow();
    return Number(row.n);
  };
  try {
    return { records: await count('usage_records'), responses: await count('stored_responses') };
  } finally {
    await close();
  }
}

test('a version refuses a schema that only a later one can run on, and says which', {
  timeout: 900_000,
}, async () => {
  const database = await emptyDatabase();
  const first = await Server.of(older, envOf(database, 'refusing'));
  try {
    await first.start('--config', join(folder, 'setup.json'));
    const migrated = await run(['migrate'], { program: contracting.program, env: envOf(database, 'contracting') });
    assert.equal(migrated.code, 0, migrated.stderr);
    const { status, body } = await first.readiness();
    await first.end();
    const outcomes = await Promise.all(
      ['serve', 'work', 'migrate', 'doctor'].map((command) => runOlder(database, [command])),
    );
    for (const { code, stdout, stderr } of outcomes) assert.equal(code, 1, stdout + stderr);
    if (BACK_OLDER !== undefined) return;
    const refusal = `The database needs Dragoman ${nextVersion} or later, because of 9000_contract; this is ${older.version}. Start ${nextVersion}, or restore a backup of ${older.version}: docs/runbook.md, "Go back".`;
    for (const { stdout, stderr } of outcomes) assert.ok(`${stdout}${stderr}`.includes(refusal), stdout + stderr);
    assert.equal(status, 503);
    assert.deepEqual(JSON.parse(body), { status: 'not ready', reason: refusal });
  } finally {
    await first.end();
    await database.drop();
  }
});

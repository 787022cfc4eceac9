// set: all; every crash point of every kind of call
/**
 * A gateway process is killed at every crash point between a request and its charge, over HTTP, SSE and WebSocket.
 * The next process must find each call charged exactly or not at all, charged if the client had the complete response,
 * and no wallet lease left. With `CRASH_SEEDS=1,2,3` each crash point also meets each kind of call alone, for each seed.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { WebSocket } from 'ws';
import { type Sim, startSim } from '../../sim/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { type Database, openDatabase } from '../../src/platform/db/index.ts';
import type { CrashStep } from '../support/crash.ts';
import { CrashLane, inLanes, killsMs } from '../support/crash-lane.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { inParallel, random } from '../support/ledger-process.ts';
import type { LaunchedProcess } from '../support/process.ts';
import { until } from '../support/wait.ts';

const SEEDS = process.env.CRASH_SEEDS?.split(',').map(Number) ?? [20_261_115];
const IS_THOROUGH = process.env.CRASH_SEEDS !== undefined;
const LANES = 2;

// ---------------------------------------------------------------- kinds of call

type Kind = {
  readonly name: string;
  readonly group: 'openai' | 'claude' | 'gemini';
  readonly model: string;
  readonly sort: 'unary' | 'stream' | 'socket';
  /** True when the client got the complete response; false when it broke off. */
  readonly call: (url: string, key: string, onBegun: () => void) => Promise<boolean>;
};

/** One event per read. */
const PACED = '@events=6;gap=8';
const HELLO = [{ role: 'user', content: 'hello' }];

const KINDS: readonly Kind[] = [
  // Long enough that the first bytes are sent before the response is complete.
  kind('native unary', 'claude', 'unary', 'demo-messages@big=100000', (model) =>
    post('/v1/messages', { model, messages: HELLO, max_tokens: 100 }, '"stop_reason":"end_turn"'),
  ),
  kind('native stream', 'claude', 'stream', `demo-messages${PACED}`, (model) =>
    post('/v1/messages', { model, messages: HELLO, max_tokens: 100, stream: true }, 'event: message_stop'),
  ),
  kind('relayed turn', 'openai', 'socket', `demo-responses${PACED}`, turn),
  kind('converted unary', 'openai', 'unary', 'demo-responses', (model) =>
    post('/v1/messages', { model, messages: HELLO, max_tokens: 100 }, '"stop_reason":"end_turn"'),
  ),
  kind('converted stream', 'gemini', 'stream', `demo-generate${PACED}`, (model) =>
    post('/v1/chat/completions', { model, messages: HELLO, stream: true }, 'data: [DONE]'),
  ),
  kind('converted turn', 'claude', 'socket', 'demo-messages@events=7;gap=8', turn),
  kind('image', 'openai', 'unary', 'demo-image', (model) =>
    post('/v1/images/generations', { model, prompt: 'a lamp', size: '1024x1024', quality: 'high' }, '"b64_json"'),
  ),
  kind('embedding', 'openai', 'unary', 'demo-embedding', (model) =>
    post('/v1/embeddings', { model, input: 'hello' }, '"embedding"'),
  ),
];

function kind(
  name: string,
  group: Kind['group'],
  sort: Kind['sort'],
  model: string,
  callOf: (model: string) => Kind['call'],
): Kind {
  return { name, group, sort, model, call: callOf(model) };
}

/** A response is complete when HTTP ended it and its last text is there. */
function post(path: string, body: object, lastText: string): Kind['call'] {
  return async (url, key, onBegun) => {
    try {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      assert.equal(response.status, 200, path);
      onBegun();
      assert.ok(
        (await response.text()).replaceAll('": "', '":"').includes(lastText),
        `${path} ended without its last text`,
      );
      return true;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return false;
    }
  };
}

function turn(model: string): Kind['call'] {
  return async (url, key, onBegun) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, {
      headers: { authorization: `Bearer ${key}` },
    });
    try {
      return await new Promise<boolean>((resolve, reject) => {
        socket.on('open', () => socket.send(JSON.stringify({ type: 'response.create', model, input: 'hello' })));
        socket.on('error', () => resolve(false));
        socket.on('close', () => resolve(false));
        socket.on('message', (data) => {
          const { type } = JSON.parse(String(data)) as { type: string };
          onBegun();
          if (type === 'error') reject(new assert.AssertionError({ message: String(data) }));
          if (type === 'response.completed') resolve(true);
        });
      });
    } finally {
      socket.terminate();
    }
  };
}

// ---------------------------------------------------------------- processes and database

const PRICES = { input: '2', cached_input: '0.5', cache_write: '2.5', output: '10' };
const GROUPS = ['openai', 'claude', 'gemini'] as const;
const SCARCE = 'scarce';
const FENCED = ['fenced', 'fenced-later'] as const;

const laneUser = (lane: number): string => `lane${lane}`;
const sampleUser = (kind: Kind): string => `sample-${KINDS.indexOf(kind)}`;
const keyOf = (user: string, group: string): string => `key-of-${user}-for-the-group-${group}`;

let own: TestDatabase;
let database: Database;
let sim: Sim;
let directory: string;
const lanes: Lane[] = [];
/** Cost of one call of each kind in nano-dollars, once the simulated prompt cache is warm. */
const costs = new Map<Kind, bigint>();

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url);
  sim = await startSim();
  directory = mkdtempSync(join(tmpdir(), 'dragoman-kill-'));
  writeFileSync(join(directory, 'setup.json'), JSON.stringify(setup()));
  for (let n = 0; n < LANES; n += 1) lanes.push(new Lane(n));
  await lanes[0]?.start(['--config', join(directory, 'setup.json')]);
  await lanes[0]?.arm('call.admitting', Number.POSITIVE_INFINITY);
  await Promise.all(lanes.slice(1).map((lane) => lane.start()));
  for (let round = 0; round < 2; round += 1)
    await Promise.all(KINDS.map(async (kind) => assert.ok(await lanes[0]?.call(kind, sampleUser(kind)), kind.name)));
  for (const kind of KINDS) costs.set(kind, await costOfLast(sampleUser(kind)));
});

after(async () => {
  for (const lane of lanes) await lane.stop();
  await sim.close();
  await checkLedger(database.db).finally(async () => {
    await database.close();
    await own.drop();
    rmSync(directory, { recursive: true, force: true });
  });
});

function setup(): object {
  const lanesAndSamples = [
    ...KINDS.map(sampleUser),
    ...Array.from({ length: LANES }, (_, n) => laneUser(n)),
    ...FENCED,
  ];
  const users = [...lanesAndSamples.map((id) => ({ id, balance: '1000' })), { id: SCARCE, balance: '0.01' }];
  return {
    groups: [
      { id: 'openai', style: 'responses' },
      { id: 'claude', style: 'messages' },
      { id: 'gemini', style: 'generate-content' },
    ],
    accounts: [
      { id: 'oa1', group: 'openai', base_url: `${sim.url}/v1`, api_key: 'sk-upstream-oa1' },
      { id: 'cl1', group: 'claude', base_url: sim.url, api_key: 'sk-upstream-cl1' },
      { id: 'ge1', group: 'gemini', base_url: sim.url, api_key: 'sk-upstream-ge1' },
    ],
    models: [
      { id: 'demo-image', groups: ['openai'], prices: { input: '5', per_image: { '1024x1024/high': '0.17' } } },
      { id: 'demo-embedding', groups: ['openai'], prices: { input: '0.02', output: '0' } },
      { id: 'demo-*', groups: GROUPS, prices: PRICES },
    ],
    users,
    keys: users.flatMap(({ id }) => GROUPS.map((group) => ({ user: id, group, name: 'k', key: keyOf(id, group) }))),
  };
}

async function costOfLast(user: string): Promise<bigint> {
  const rows = await until(`two calls of ${user}`, async () => {
    const found = await database.db
      .selectFrom('usage_records')
      .select(['nanos'])
      .where('user_id', '=', user)
      .orderBy('at', 'desc')
      .execute();
    return found.length === 2 ? found : undefined;
  });
  const cost = rows[0]?.nanos ?? 0n;
  assert.ok(cost > 0n, `${user} has a cost`);
  return cost;
}

/** A lane with a user of its own. */
class Lane extends CrashLane {
  readonly user: string;

  constructor(n: number, user = laneUser(n)) {
    super({ directory, name: `data${n}`, databaseUrl: own.url });
    this.user = user;
  }

  call(kind: Kind, user = this.user, onBegun = () => {}): Promise<boolean> {
    return kind.call(this.url, keyOf(user, kind.group), onBegun);
  }
}

// ---------------------------------------------------------------- assertions

/** Charged calls and their total cost, by model name: every kind of call has its own model. */
type Charged = ReadonlyMap<string, { readonly calls: number; readonly nanos: bigint }>;

async function chargedTo(user: string): Promise<Charged> {
  const { rows } = await sql<{ model: string; calls: bigint; nanos: bigint }>`
    select model, count(*) as calls, sum(nanos)::bigint as nanos from usage_records where user_id = ${user} group by model`.execute(
    database.db,
  );
  return new Map(rows.map(({ model, calls, nanos }) => [model, { calls: Number(calls), nanos }]));
}

interface SentCalls {
  readonly kind: Kind;
  /** Calls whose client got the complete response, and all calls. */
  readonly whole: number;
  readonly all: number;
}

/**
 * Once the next process is ready: every call is charged exactly or not at all, complete ones are charged, and ledger,
 * leases and journal are consistent.
 */
async function expectExact(lane: Lane, then: Charged, sent: readonly SentCalls[], about: string): Promise<string> {
  const { user } = lane;
  const now = await chargedTo(user);
  const ends = sent.map(({ kind, whole, all }) => {
    const before = then.get(kind.model) ?? NOTHING;
    const after = now.get(kind.model) ?? NOTHING;
    const calls = after.calls - before.calls;
    assert.ok(calls >= whole && calls <= all, `${about}: ${kind.name}: ${calls} charged of ${all}, ${whole} complete`);
    assert.equal(
      after.nanos - before.nanos,
      BigInt(calls) * (costs.get(kind) ?? 0n),
      `${about}: ${kind.name}: exact cost`,
    );
    return `${kind.name} ${calls}/${whole}/${all}`;
  });
  await checkLedger(database.db);
  const { rows } = await sql<object>`
    select (select coalesce(sum(nanos), 0)::bigint from entries where credit = ${user}) -
        (select coalesce(sum(nanos), 0)::bigint from entries where debit = ${user}) - (w.credits - w.debits) as unexplained,
      (select coalesce(sum(nanos), 0)::bigint from entries where debit = ${user}) as charged,
      (select coalesce(sum(nanos), 0)::bigint from usage_daily where user_id = ${user}) as rolled_up,
      w.held, (select count(*) from leases where user_id = ${user}) as leases
    from wallets w where w.user_id = ${user}`.execute(database.db);
  const sum = now.values().reduce((total, { nanos }) => total + nanos, 0n);
  assert.deepEqual(rows, [{ unexplained: 0n, charged: sum, rolled_up: sum, held: 0n, leases: 0n }], about);
  assert.equal(readdirSync(join(lane.dataDir, 'journal')).length, 1, `${about}: only the live process has a journal`);
  return `${about}: ${ends.join(', ')}`;
}

const NOTHING = { calls: 0, nanos: 0n };

// ---------------------------------------------------------------- crash points of a call

interface Point {
  readonly step: CrashStep;
  /** How often these calls reach the crash point at least. */
  readonly times: (kinds: readonly Kind[]) => number;
  /** Reached only by a process that has not served a call yet. */
  readonly isFirst?: true;
}

const isRelayed = ({ sort, group }: Kind): boolean => sort === 'socket' && group === 'openai';
const onceOnly = (): number => 1;
const eachCall = (kinds: readonly Kind[]): number => kinds.length;

const DURING_CALL: readonly Point[] = [
  { step: 'call.admitting', times: eachCall },
  { step: 'lease.taken', times: onceOnly, isFirst: true },
  { step: 'call.admitted', times: eachCall },
  { step: 'upstream.sent', times: eachCall },
  // The head of a relayed turn arrived when its upstream WebSocket was opened.
  { step: 'upstream.head_received', times: (kinds) => kinds.filter((one) => !isRelayed(one)).length },
  {
    step: 'upstream.data_received',
    times: (kinds) => kinds.reduce((sum, { sort }) => sum + (sort === 'unary' ? 1 : 6), 0),
  },
  { step: 'record.appended', times: eachCall },
  { step: 'journal.rotated', times: onceOnly, isFirst: true },
  { step: 'journal.writing', times: onceOnly },
  { step: 'journal.torn', times: onceOnly },
  { step: 'journal.written', times: onceOnly },
  { step: 'call.written', times: eachCall },
  { step: 'flush.begun', times: onceOnly },
  { step: 'flush.recorded', times: onceOnly },
  { step: 'flush.committed', times: onceOnly },
];
/** Crash points of the recovery at the next start. */
const DURING_RECOVERY: readonly CrashStep[] = [
  'recover.claimed',
  'flush.begun',
  'flush.recorded',
  'flush.committed',
  'recover.replayed',
  'recover.removed',
];
const STOPPING: readonly CrashStep[] = ['close.begun', 'close.drained', 'close.removed'];

for (const seed of SEEDS) {
  const below = random(seed);
  const pick = <T>(all: readonly T[]): T => all[below(all.length)] as T;

  test(`crash recovery charges exactly after SIGKILL at every crash point of unary, streamed and WebSocket calls (seed ${seed})`, {
    timeout: killsMs(DURING_CALL.length),
  }, async (t) => {
    const runs = DURING_CALL.flatMap((point) =>
      [KINDS, ...(IS_THOROUGH ? KINDS.map((one) => [one]) : [])].flatMap((kinds) => {
        const times = point.times(kinds);
        return times === 0 ? [] : [{ point, kinds, warm: point.isFirst ? 0 : below(2), nth: 1 + below(times) }];
      }),
    );
    const ends: string[] = [];
    await inLanes(lanes, runs, async (lane, { point: { step }, kinds, warm, nth }) => {
      const then = await chargedTo(lane.user);
      for (let n = 0; n < warm; n += 1) await Promise.all(kinds.map((one) => lane.call(one)));
      await lane.arm(step, nth);
      const whole = await Promise.all(kinds.map((one) => lane.call(one)));
      await lane.died(`${step}#${nth}`);
      await lane.start();
      const sent = kinds.map((one, n) => ({ kind: one, whole: warm + Number(whole[n]), all: warm + 1 }));
      ends.push(await expectExact(lane, then, sent, `${step}#${nth}`));
    });
    t.diagnostic(`seed ${seed}, ${runs.length} kills (charged/complete/all): ${ends.join('; ')}`);
  });

  test(`crash recovery charges every complete response after SIGKILL (seed ${seed})`, async () => {
    await inLanes(lanes, [1], async (lane) => {
      const then = await chargedTo(lane.user);
      const whole = await Promise.all(KINDS.map((one) => lane.call(one)));
      lane.child.kill('SIGKILL');
      assert.ok(whole.every(Boolean));
      await lane.died('SIGKILL');
      await lane.start();
      const sent = KINDS.map((one) => ({ kind: one, whole: 1, all: 1 }));
      await expectExact(lane, then, sent, 'after the responses');
    });
  });

  test(`crash recovery charges exactly when it is killed itself (seed ${seed})`, async () => {
    await inLanes(lanes, someOf(DURING_RECOVERY), async (lane, step) => {
      const one = pick(KINDS);
      const then = await chargedTo(lane.user);
      await lane.arm('call.written', 1);
      await lane.call(one);
      await lane.died('call.written');
      await lane.dieStarting(step);
      await lane.start();
      await expectExact(lane, then, [{ kind: one, whole: 1, all: 1 }], step);
    });
  });

  test(`crash recovery charges exactly after SIGKILL during a graceful stop, which completes running calls (seed ${seed})`, async () => {
    await inLanes(lanes, STOPPING, async (lane, step) => {
      const one = pick(KINDS.filter(({ sort }) => sort !== 'unary'));
      const then = await chargedTo(lane.user);
      await lane.arm(step, 1);
      // Once: a second signal, on a machine that stood still for a second, would end the stop.
      let stop = (): void => {
        stop = () => {};
        lane.child.kill('SIGTERM');
      };
      const isWhole = await lane.call(one, lane.user, () => stop());
      assert.ok(isWhole, `${one.name} was cut by ${step}`);
      await lane.died(step);
      await lane.start();
      await expectExact(lane, then, [{ kind: one, whole: 1, all: 1 }], step);
    });
  });

  test(`crash recovery charges exactly after SIGKILL while a wallet lease is renewed under load (seed ${seed})`, async () => {
    await inLanes(lanes, [1], async (lane) => {
      const one = pick(KINDS.filter(({ sort }) => sort === 'stream'));
      const then = await chargedTo(lane.user);
      await lane.arm('lease.taken', 2);
      const responses = await Promise.all(Array.from({ length: 60 }, () => lane.call(one)));
      await lane.died('the second lease');
      await lane.start();
      const sent = { kind: one, whole: responses.filter(Boolean).length, all: responses.length };
      await expectExact(lane, then, [sent], 'lease.taken#2');
    });
  });
}

test('crash recovery charges exactly after SIGKILL right after a lease was returned', async () => {
  const lane = new Lane(LANES, SCARCE);
  const one = KINDS.find(({ name }) => name === 'converted unary') as Kind;
  await lane.start();
  try {
    const then = await chargedTo(lane.user);
    await lane.arm('lease.returned', 1);
    assert.ok(await lane.call(one));
    await lane.died('lease.returned');
    await lane.start();
    await expectExact(lane, then, [{ kind: one, whole: 1, all: 1 }], 'lease.returned');
  } finally {
    await lane.stop();
  }
});

test('crash recovery charges exactly when a fenced replica is killed as it learns of its fencing', async () => {
  const [one] = KINDS as [Kind];
  const steps = someOf<CrashStep>(['replica.fenced', 'replica.renewed']);
  await inParallel(LANES, steps.length, async (n) => {
    const step = steps[n] as CrashStep;
    const lane = new Lane(LANES + 1 + n, FENCED[n]);
    const otherUser = sampleUser(one);
    let other: LaunchedProcess | undefined;
    try {
      await lane.start();
      const then = await chargedTo(lane.user);
      const before = (await chargedTo(otherUser)).get(one.model);
      assert.ok(await lane.call(one));
      await lane.arm(step, 1);
      // Its heartbeat would show that it is alive.
      lane.child.kill('SIGSTOP');
      await makeStale(lane);
      other = lane.launch([]);
      await other.until(/Dragoman is ready/);
      assert.equal(await leasesOf(lane.user), 0n, 'the other process has returned the leases');
      lane.child.kill('SIGCONT');
      // This replica has no lease on that wallet, so it asks the database and learns that it is fenced.
      assert.equal(await lane.call(one, otherUser), false);
      await lane.died(step);
      await other.stop();
      await lane.start();
      await expectExact(lane, then, [{ kind: one, whole: 1, all: 1 }], step);
      assert.deepEqual((await chargedTo(otherUser)).get(one.model), before);
    } finally {
      await other?.stop();
      await lane.stop();
    }
  });
});

/** Makes the replica look like one on another host without a heartbeat for an hour. */
async function makeStale(lane: Lane): Promise<void> {
  const journal = join(lane.dataDir, 'journal');
  const [replica = ''] = readdirSync(journal);
  const path = join(journal, replica, 'owner.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), host: 'elsewhere' }));
  await sql`update replicas set seen_at = now() - interval '1 hour' where id = ${replica}`.execute(database.db);
}

async function leasesOf(user: string): Promise<bigint> {
  const { rows } = await sql<{ n: bigint }>`select count(*) as n from leases where user_id = ${user}`.execute(
    database.db,
  );
  return rows[0]?.n ?? 0n;
}

// ---------------------------------------------------------------- running the kills

/** Every second element in a normal run, because each process start takes time. */
function someOf<T>(all: readonly T[]): readonly T[] {
  return IS_THOROUGH ? all : all.filter((_, n) => n % 2 === 0);
}

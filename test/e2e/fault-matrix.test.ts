// set: sweeps; every fault in every dialect
/**
 * Every fault of the simulator in every dialect, native and converted, unary, streamed and over WebSocket, on one gateway over real
 * sockets: the right error or the complete reply, failover where it is allowed, one charge or none, and nothing left open.
 */
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { CONNECTION_FAULT_CASES, type FaultPort } from '../../sim/fault-ports.ts';
import { type Damage, FAULT_CASES, type FaultCase, type Sim, startSim } from '../../sim/index.ts';
import { findLedgerFaults } from '../../src/ledger/wallets/check.ts';
import { RETRY_BUDGET, TIMEOUTS, type Timeouts } from '../../src/rules/index.ts';
import {
  CONVERTED_LANES,
  isNative,
  LANE_GROUPS,
  type Lane,
  type LaneGroup,
  laneName,
  laneSetup,
  NATIVE_LANES,
  type Outcome,
  PROMPT,
  runLane,
} from '../support/fault-lanes.ts';
import { type LogLine, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

/** For faults that only a time limit ends: long enough for the healthy calls beside them on a busy machine. */
const SHORT = { connect: 6_000, firstByte: 6_000, idle: 6_000 };
/** Cases at the same time; each has some twenty calls. */
const CONCURRENCY = 4;
/** These mostly wait. */
const SLOW_CONCURRENCY = 16;
/** The ledger puts usage that cannot be true into quarantine instead of charging it. */
const INVALID_USAGE = /^usage=(?:negative|huge|text|fraction)$/;
/** Faults that put the whole account into cooldown, which would affect other cases of its group. */
const COOLS_ACCOUNT = /^(?:status=40[12]|bad_key|status=429;retry_after=\w+)$/;

let faulty: Sim;
let healthy: Sim;
let gateway: TestGateway;
let keys: Record<string, string> = {};
const ports: FaultPort[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const lines = new Map<string, LogLine>();
const unhandled: unknown[] = [];

type Backing = 'alone' | 'backed';
const BACKINGS: readonly Backing[] = ['alone', 'backed'];

interface Scenario {
  readonly fault: FaultCase;
  readonly lane: Lane;
  readonly backing: Backing;
  readonly group: string;
  /** Names the scenario in the log, so that one line belongs to it. */
  readonly model: string;
  readonly damage: Damage;
}

/** Names of groups with the address of their first account; undefined is the faulty simulator. */
const groups = new Map<string, { readonly group: LaneGroup; readonly backing: Backing; readonly url?: string }>();
let count = 0;

function lanesOf({ damage }: FaultCase, n: number): Lane[] {
  const chosen = [...NATIVE_LANES, ...CONVERTED_LANES.map((lanes) => lanes[n % lanes.length] as Lane)];
  const http = chosen.flatMap((lane): Lane[] => [
    ...(damage.unary ? [lane] : []),
    ...(damage.stream ? [{ ...lane, mode: 'stream' } as const] : []),
  ]);
  const turns: LaneGroup[] = damage.stream ? ['openai', n % 2 === 0 ? 'claude' : 'gemini'] : [];
  const relayed: LaneGroup[] = damage.socket ? ['relayed'] : [];
  return [...http, ...[...turns, ...relayed].map((group): Lane => ({ client: 'responses', group, mode: 'websocket' }))];
}

function scenariosOf(fault: FaultCase, n: number): Scenario[] {
  return lanesOf(fault, n).flatMap((lane) =>
    backingsFor(lane, n).map((backing): Scenario => {
      count += 1;
      const isOwn = COOLS_ACCOUNT.test(fault.words);
      const group = isOwn ? `own-${count}` : `${lane.group}-${backing}`;
      if (isOwn) groups.set(group, { group: lane.group, backing });
      return { fault, lane, backing, group, model: modelOf(fault), damage: damageOf(fault, lane) };
    }),
  );
}

/** Native calls run with and without a second account, the others in turn. */
const backingsFor = (lane: Lane, n: number): readonly Backing[] =>
  isNative(lane) && lane.mode !== 'websocket' ? BACKINGS : [BACKINGS[n % 2] as Backing];

const modelOf = ({ words }: FaultCase): string => `demo-${count}${words === '' ? '' : `@${words}`}`;
const damageOf = ({ damage }: FaultCase, { mode, group }: Lane): Damage =>
  damage[mode === 'websocket' ? (group === 'relayed' ? 'socket' : 'stream') : mode] ?? 'open';

for (const group of LANE_GROUPS) for (const backing of BACKINGS) groups.set(`${group}-${backing}`, { group, backing });
const CASES = FAULT_CASES.map((fault, n) => ({ fault, scenarios: scenariosOf(fault, n) }));
const CONNECTION_CASES = CONNECTION_FAULT_CASES.map((fault, n) => ({
  fault,
  /** Each has a group of its own, because a refused connection puts the account into cooldown. */
  scenarios: scenariosOf(fault, n).map((scenario, m): Scenario => ({ ...scenario, group: `port-${n}-${m}` })),
}));

before(async () => {
  // Most calls here need a second attempt, which no server allows.
  Object.assign(RETRY_BUDGET as { floor: number }, { floor: Number.MAX_SAFE_INTEGER });
  process.on('unhandledRejection', (error) => void unhandled.push(error));
  [faulty, healthy, gateway] = await Promise.all([
    startSim({ name: 'faulty' }),
    startSim({ name: 'healthy', faults: false }),
    startGateway(),
  ]);
  const { push } = gateway.log;
  gateway.log.push = (...added) => {
    for (const line of added) if (line.msg === 'request.completed') lines.set(String(line.model), line);
    return push.apply(gateway.log, added);
  };
  for (const { fault, scenarios } of CONNECTION_CASES) {
    const port = await fault.open(faulty.url);
    ports.push(port);
    for (const { group, lane, backing } of scenarios) groups.set(group, { group: lane.group, backing, url: port.url });
  }
  keys = await gateway.apply(setup());
});
after(async () => {
  agent.destroy();
  await gateway?.stop();
  await Promise.all([faulty?.close(), healthy?.close(), ...ports.map((port) => port.close())]);
});

function setup(): object {
  const ids = [...groups.keys()];
  const rows = [...groups].map(([id, { group, backing, url = faulty.url }]) =>
    laneSetup(id, group, backing === 'backed' ? [url, healthy.url] : [url]),
  );
  return {
    groups: rows.map(({ group }) => group),
    // With a number, so that no refusal teaches an account how many calls it takes: more would go to the other one, or wait.
    accounts: rows.flatMap(({ accounts }) => accounts.map((account) => ({ ...account, max_concurrency: 1_000 }))),
    models: [{ id: '*', groups: ids, prices: { input: '1', output: '2' } }],
    users: [{ id: 'ana', email: 'ana@example.test', balance: '1000000' }],
    keys: ids.map((group) => ({ user: 'ana', group, name: 'test' })),
  };
}

// ---------------------------------------------------------------- one scenario

/** The log line says how many accounts were tried; its request id leads to the charges. */
interface Result extends Outcome {
  readonly attempts: number;
  readonly request: string;
}

const results: { readonly scenario: Scenario; readonly result: Result }[] = [];

async function run(scenario: Scenario): Promise<Result> {
  const { lane, group, model, fault } = scenario;
  const key = keys[group] ?? assert.fail(`no key for ${group}`);
  const outcome = await runLane(lane, { url: gateway.url, key, model, hasTool: fault.needsTool === true, agent });
  const line = await until(`the log line of ${model}`, () => lines.get(model));
  const request = String(line.request);
  // A line may be written before the failure of a stream is known.
  const failed = gateway.log.filter(({ msg, request: id }) => msg === 'attempt.failed' && id === request).length;
  const result = { ...outcome, attempts: Number(line.attempts ?? failed + 1), request };
  results.push({ scenario, result });
  return result;
}

const isWhole = ({ text }: Outcome, { words, needsTool }: FaultCase): boolean =>
  needsTool === true || (words.includes('big=') && text.length >= 20_000) || text.endsWith(`You said: "${PROMPT}".`);

/** What a client of the gateway must see after this damage. */
const EXPECT: Readonly<Record<Damage, (result: Result, scenario: Scenario) => void>> = {
  none: assertReply,
  late(result, scenario) {
    const { fault, lane } = scenario;
    // The provider's own bytes after its final event are forwarded too.
    if (!(fault.hasBytes && isNative(lane) && result.end === 'both')) assertReply(result, scenario);
  },
  before(result, scenario) {
    const { fault, lane } = scenario;
    if (fault.hasBytes && lane.mode !== 'unary' && isNative(lane)) return EXPECT.mid(result, scenario);
    if (scenario.backing === 'backed' && scenario.lane.group !== 'relayed') {
      assert.equal(result.end, 'complete', `failover, not ${result.status} ${result.code}`);
      assert.equal(result.attempts, 2);
      assert.ok(isWhole(result, fault), `whole text: ${result.text}`);
      return;
    }
    assertError(result, lane);
  },
  mid(result, scenario) {
    // Nothing of it may have reached the client yet; then the whole reply comes from the other account.
    if (result.attempts === 2)
      return assert.ok(result.end === 'complete' && isWhole(result, scenario.fault), result.text);
    assert.equal(result.end, 'error', 'a broken stream is an error');
    assert.equal(result.attempts, 1, 'no failover after content');
  },
  rejected(result) {
    assert.equal(result.end, 'error');
    assert.ok(result.status === 200 || (result.status >= 400 && result.status < 500), `status ${result.status}`);
    assert.equal(result.attempts, 1, 'the request itself is at fault');
  },
  open(result, scenario) {
    assert.notEqual(result.end, 'both');
    if (result.end === 'complete' && result.attempts === 2) assert.ok(isWhole(result, scenario.fault), result.text);
  },
};

function assertReply(result: Result, { fault }: Scenario): void {
  assert.equal(result.end, 'complete', `${result.status} ${result.code}`);
  assert.equal(result.attempts, 1);
  assert.ok(isWhole(result, fault), `whole text: ${result.text}`);
}

function assertError(result: Result, { group }: Lane): void {
  assert.equal(result.end, 'error');
  // An error frame of the provider keeps its status.
  const statuses = [200, 403, 404, 429, 502, 503, 504, 529, ...(group === 'relayed' ? [500] : [])];
  assert.ok(statuses.includes(result.status), `status ${result.status}`);
}

/** Runs the lanes of a case side by side and reports all that fail. */
async function runCase(scenarios: readonly Scenario[]): Promise<void> {
  const failures: string[] = [];
  await Promise.all(
    scenarios.map(async (scenario) => {
      try {
        EXPECT[scenario.damage](await run(scenario), scenario);
      } catch (error) {
        failures.push(
          `${laneName(scenario.lane)}, ${scenario.backing}: ${String(error instanceof Error ? error.message : error).replaceAll('\n', ' ')}`,
        );
      }
    }),
  );
  assert.deepEqual(failures, []);
}

const ALL = [...CASES, ...CONNECTION_CASES];

describe('faults', { concurrency: CONCURRENCY }, () => {
  for (const { fault, scenarios } of ALL.filter((one) => !one.fault.isSlow))
    test(`fault "${fault.name}" gives the reply or an error of the dialect`, () => runCase(scenarios));
});

describe('faults that a time limit ends', { concurrency: SLOW_CONCURRENCY }, () => {
  before(() => {
    for (const name of ['unary', 'stream'] as const) Object.assign(TIMEOUTS[name] as Timeouts, SHORT);
  });
  for (const { fault, scenarios } of ALL.filter((one) => one.fault.isSlow))
    test(`fault "${fault.name}" gives the reply or an error of the dialect`, () => runCase(scenarios));
});

// ---------------------------------------------------------------- afterwards

/** The provider fails at the end, or ends without having begun a reply. */
const FREE_WIRES: ReadonlySet<string> = new Set(['wire=sse_error_after', 'wire=sse_only_done']);

describe('after all faults', () => {
  test('every complete reply is charged once, an error at most once, and the ledger adds up', async () => {
    const { db } = gateway.context.database;
    const complete = results.filter(
      ({ scenario, result }) => result.end === 'complete' && !INVALID_USAGE.test(scenario.fault.words),
    );
    const read = async (): Promise<Map<string, number>> => {
      const charged = db.selectFrom('usage_records').select(['request_id', 'nanos']).where('fault', 'is', null);
      const rows = await charged.execute();
      const charges = new Map<string, number>();
      for (const { request_id } of rows) charges.set(request_id, (charges.get(request_id) ?? 0) + 1);
      return charges;
    };
    await until('all usage records', async () => {
      const charges = await read();
      return complete.every(({ result }) => charges.has(result.request));
    }).catch(() => undefined);
    const charges = await read();
    const wrong = results.flatMap(({ scenario, result }) => {
      const number = charges.get(result.request) ?? 0;
      const max = result.end === 'error' && result.status >= 400 ? 0 : 1;
      const isFree = INVALID_USAGE.test(scenario.fault.words) || FREE_WIRES.has(scenario.fault.words);
      return number > max || (result.end === 'complete' && number === 0 && !isFree)
        ? [`${scenario.fault.name}, ${laneName(scenario.lane)}: ${result.end} ${result.status}, ${number} charges`]
        : [];
    });
    assert.deepEqual(wrong, []);
    assert.deepEqual(await findLedgerFaults(db), []);
  });

  test('no socket stays open, at the clients or at the providers', async () => {
    agent.destroy();
    await until('no open client connection', async () => (await metric('dragoman_open_connections')) <= 1);
    assert.equal(await metric('dragoman_open_requests'), 1, 'only the one that reads the metrics');
    const open = async (): Promise<number> =>
      (await faulty.connections()) +
      (await healthy.connections()) +
      ports.reduce((sum, port) => sum + port.connections(), 0);
    await until('no open provider connection', async () => (await open()) === 0);
  });

  test('the gateway is healthy: no internal error, no unhandled rejection, and it works', async () => {
    assert.deepEqual(
      gateway.log.filter(({ msg }) => msg === 'request.internal_error'),
      [],
    );
    assert.deepEqual(unhandled, []);
    const fault: FaultCase = { name: 'none', words: '', damage: { stream: 'none' } };
    for (const lane of NATIVE_LANES) {
      count += 1;
      const scenario = {
        fault,
        lane,
        backing: 'backed',
        group: `${lane.group}-backed`,
        model: modelOf(fault),
        damage: 'none',
      } as const;
      assertReply(await run(scenario), scenario);
    }
    assert.equal((await fetch(`${gateway.url}/readyz`)).status, 200);
  });
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`, { headers: { connection: 'close' } })).text();
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1]);
}

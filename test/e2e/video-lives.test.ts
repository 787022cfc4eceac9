// set: all; two hundred random lives of tasks
/**
 * Two hundred random lives of video tasks on PostgreSQL: a misbehaving provider, two workers, prices that change, callers that cancel.
 * Time is moved, not waited for. At the end money, statuses, announcements and reports must agree.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { inspect } from 'node:util';
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { parseNanos } from '../../src/core/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { inParallel, random } from '../support/ledger-process.ts';
import { fewer } from '../support/long-test.ts';
import { SEED } from '../support/properties.ts';
import { callVideo, TASKS, TEST_VARIANTS, type TestVariant, taskBody, textItem, videoSetup } from '../support/video.ts';
import { passTime, type TestWorkers, testWorkers } from '../support/video-following.ts';

const LIVES = fewer(120, 80);
const USERS = 10;
const HOUR = 3_600_000;
const HOOK = 'https://hooks.example.com/video';
const below = random(SEED);
const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;

/** Dollars per million tokens, by the order in which they are in force. */
const PRICES = ['7', '9.5', '3.000001'] as const;

let sim: Sim;
let gateway: TestGateway;
let workers: TestWorkers;
const db = () => gateway.context.database.db;
const userName = (n: number) => `user-${n}`;
const keyOf = (user: string) => `key-of-${user}-000000000000000`;

function setup(price: string): object {
  const users = Array.from({ length: USERS }, (_, n) => userName(n));
  const base = videoSetup(sim.video.url) as { models: { id: string; prices?: object }[] };
  return {
    ...base,
    models: base.models.map((model) =>
      model.prices ? { ...model, prices: { video: price, video_with_video_input: price } } : model,
    ),
    users: users.map((id) => ({ id, balance: '1000' })),
    keys: users.map((id) => ({ user: id, group: 'openai', name: 'one', key: keyOf(id) })),
  };
}

before(async () => {
  sim = await startSim({
    video: {
      clock: 'manual',
      rateLimits: false,
      concurrency: LIVES,
      queueLimit: LIVES,
      queuedMs: 30_000,
      runningMs: 90_000,
    },
  });
  gateway = await startGateway({ setup: setup(PRICES[0]) });
  workers = testWorkers(gateway);
});
after(async () => {
  workers.close();
  await gateway.stop();
  await sim.close();
});

/** What the provider does with a task, from often to rare. */
const LIFE = [
  () => '',
  () => `queued=${below(600_000)};running=${below(4 * HOUR)}`,
  () => `fail=${pick(['InternalServiceError', 'OutputVideoSensitiveContentDetected', 'QuotaExceeded'])}`,
  () => 'fail=InternalServiceError;fail_in=queued',
  () => `usage=${pick(['missing', 'negative', 'zero', 'huge', 'text', 'fraction', 'unequal'])}`,
  () => `usage_after=${below(20 * HOUR)}`,
  () => 'unknown_status=processing',
  () => `backwards${pick(['', '=terminal'])}`,
  () => `stuck=${pick(['queued', 'running'])}`,
  () => `resolution=${pick(['480p', '720p', '1080p'])}`,
] as const;
const FAULTS = [
  () => '',
  () => `on=get;fault=${pick([500, 502, 503, 429])};times=${1 + below(12)}`,
  () => `on=get;fault=404;times=${1 + below(12)}`,
  () => `on=get;${pick(['reset', 'truncated', 'html', 'eof_mid'])};times=${1 + below(6)}`,
] as const;

interface Created {
  readonly id: string;
  readonly user: string;
  readonly variant: TestVariant;
  readonly hasCallback: boolean;
}

async function createLife(n: number): Promise<Created> {
  const user = userName(n % USERS);
  const variant = pick(TEST_VARIANTS);
  const hasCallback = below(3) > 0;
  const triggers = [pick(LIFE)(), pick(FAULTS)(), pick(['', 'callbacks=duplicated', 'callbacks=dropped'])];
  const text = triggers.filter(Boolean).map((trigger) => `[sim:${trigger}]`);
  const body = taskBody(variant, {
    content: [textItem(`life ${n} ${text.join(' ')}`)],
    duration: 4 + below(12),
    resolution: pick(['480p', '720p']),
    ...(hasCallback && { callback_url: HOOK }),
    ...(variant === 'A' && below(2) === 0 && { execution_expires_after: 3_600 + below(200_000) }),
  });
  const response = await callVideo(gateway.url, TASKS, { body, key: keyOf(user) });
  assert.equal(response.status, 200, `${text.join(' ')}: ${JSON.stringify(response.body)}`);
  return { id: String(response.body.id), user, variant, hasCallback };
}

/** Cancels some queued tasks of variant A, as their owners. A task may have left the queue meanwhile. */
async function cancelSome(lives: readonly Created[]): Promise<void> {
  for (const { id, user, variant } of lives) {
    if (variant !== 'A' || below(25) > 0) continue;
    const { status, body } = await callVideo(gateway.url, `${TASKS}/${id}`, { method: 'DELETE', key: keyOf(user) });
    assert.ok([204, 404, 409].includes(status), JSON.stringify(body));
  }
}

interface Settled {
  readonly reference: string;
  readonly nanos: bigint;
  readonly tokens: bigint;
}

async function settledHolds(): Promise<Settled[]> {
  const { rows } = await sql<Settled>`
    select h.reference, h.settled_nanos as nanos, t.usage_tokens as tokens
    from holds h join video_tasks t on h.reference = 'task:' || t.id where h.state = 'settled'`.execute(db());
  return rows;
}

/** The cost in nano-dollars, rounded up. */
const costOf = (tokens: bigint, price: string): bigint => (tokens * (parseNanos(price) ?? 0n) + 999_999n) / 1_000_000n;

test('V 3, V 6, V 8: many lives end with exact charges, resolved holds and one announcement per change', async () => {
  const lives: Created[] = [];
  await inParallel(4, LIVES, async (n) => void lives.push(await createLife(n)));
  const seen = new Set<string>();
  const jumps = [
    ...Array.from({ length: 30 }, () => 5_000 + below(60_000)),
    ...Array.from({ length: 20 }, () => below(HOUR)),
    ...Array.from({ length: 16 }, () => 6 * HOUR + below(HOUR)),
  ];
  for (const [round, ms] of jumps.entries()) {
    if (round === 15 || round === 35) await gateway.apply(setup(PRICES[round === 15 ? 1 : 2]));
    const price = PRICES[round < 15 ? 0 : round < 35 ? 1 : 2];
    await sim.video.clock.advance(ms);
    await passTime(db(), ms);
    if (round < 20) await cancelSome(lives);
    await workers.round();
    for (const { reference, nanos, tokens } of await settledHolds()) {
      if (seen.has(reference)) continue;
      seen.add(reference);
      assert.equal(nanos, costOf(tokens, price), `${reference} at the price in force`);
    }
  }
  await expectConsistent(lives);
});

interface End {
  readonly id: string;
  readonly status: string;
  readonly version: number;
  readonly hold: string;
  readonly tokens: bigint | null;
  readonly reviewed: boolean;
  readonly next: Date | null;
}

async function expectConsistent(lives: readonly Created[]): Promise<void> {
  await checkLedger(db());
  const { rows: ends } = await sql<End>`
    select t.id, t.status, t.version, h.state as hold, t.usage_tokens as tokens, t.review_until is not null as reviewed,
      t.next_check_at as next
    from video_tasks t join holds h on h.reference = 'task:' || t.id`.execute(db());
  assert.equal(ends.length, LIVES);
  for (const end of ends) {
    const holds = end.status === 'succeeded' ? (end.tokens === null ? 'review' : 'settled') : 'released';
    assert.equal(end.hold, holds, inspect(end));
    assert.ok(['succeeded', 'failed', 'expired', 'cancelled'].includes(end.status), inspect(end));
    assert.equal(end.reviewed, end.hold === 'review');
    assert.equal(end.next, null, 'nothing is left to look at');
  }
  for (const status of ['succeeded', 'failed', 'expired', 'cancelled'])
    assert.ok(
      ends.some((end) => end.status === status),
      `no task is ${status}`,
    );
  for (const hold of ['settled', 'released', 'review'])
    assert.ok(
      ends.some((end) => end.hold === hold),
      `no hold is ${hold}`,
    );
  await expectAnnounced(lives, ends);
  await expectReported(lives);
}

async function expectAnnounced(lives: readonly Created[], ends: readonly End[]): Promise<void> {
  const { rows: events } = await sql<{ task: string; version: number; type: string }>`
    select task_id as task, version, convert_from(body, 'UTF8')::jsonb ->> 'type' as type
    from callback_events order by task_id, version`.execute(db());
  for (const { id, hasCallback } of lives) {
    const end = ends.find((one) => one.id === id);
    const own = events.filter(({ task }) => task === id);
    const versions = Array.from({ length: hasCallback ? (end?.version ?? 0) - 1 : 0 }, (_, n) => n + 2);
    assert.deepEqual(
      own.map(({ version }) => version),
      versions,
      id,
    );
    if (hasCallback) assert.equal(own.at(-1)?.type, end?.status);
  }
}

/** The usage report of each user shows the settled tasks and their cost. */
async function expectReported(lives: readonly Created[]): Promise<void> {
  const settled = await settledHolds();
  for (let n = 0; n < USERS; n += 1) {
    const user = userName(n);
    const own = settled.filter(({ reference }) =>
      lives.some(({ id, user: of }) => of === user && reference === `task:${id}`),
    );
    const total = own.reduce((sum, { nanos }) => sum + nanos, 0n);
    const { body } = await callVideo(gateway.url, '/v1/usage', { key: keyOf(user) });
    const { total: reported } = body as unknown as { total: { video_tasks: number; cost: string } };
    assert.deepEqual([reported.video_tasks, parseNanos(reported.cost)], [own.length, total], user);
  }
}

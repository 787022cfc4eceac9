/** Settlement of video tasks: prices, multipliers, usage that is missing or invalid, and workers that compete, hang or are late. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import type { Account } from '../../src/catalog/index.ts';
import { formatNanos, systemClock } from '../../src/core/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import type { Db } from '../../src/platform/db/index.ts';
import { ACCOUNT_RATES, REVIEW } from '../../src/rules/index.ts';
import { applyReport } from '../../src/video/tasks/apply.ts';
import { Follower } from '../../src/video/tasks/follow.ts';
import { type QueryOutcome, type ReportedTask, VideoProvider } from '../../src/video/upstream/client.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import {
  callVideo,
  KEYS,
  TASKS,
  type TestVariant,
  taskBody,
  textItem,
  VIDEO_MODELS,
  VIDEO_PRICES,
  videoSetup,
} from '../support/video.ts';
import { makeDue, passTime, type TestWorkers, testWorkers } from '../support/video-following.ts';
import { until } from '../support/wait.ts';

/** 480p, 16:9, 5 seconds. */
const TOKENS = Math.floor((864 * 496 * (24 * 5 + 1)) / 1024);

let sim: Sim;
let gateway: TestGateway;
let db: Db;
let workers: TestWorkers;
const admin = adminApi(() => gateway.url);
/** Milliseconds that the clock of the workers is ahead. */
let ahead = 0;
const clock = {
  ...systemClock,
  now: () => Date.now() + ahead,
  elapsed: () => performance.now() + ahead,
};

before(async () => {
  sim = await startSim({ video: { clock: 'manual', rateLimits: false, queuedMs: 10_000, runningMs: 10_000 } });
  gateway = await startGateway({ env: { ADMIN_TOKEN }, setup: videoSetup(sim.video.url) });
  db = gateway.context.database.db;
  workers = testWorkers(gateway, clock);
});
beforeEach(async () => {
  ahead = 0;
  // Tasks of other tests must not be looked at.
  await sql`update video_tasks set next_check_at = null`.execute(db);
});
after(async () => {
  workers?.close();
  await gateway?.stop();
  await sim?.close();
});

/** As ana; tests that create many use another key, because the requests of a user are limited. */
async function create(variant: TestVariant = 'EP', triggers = '', key: string = KEYS.ana): Promise<string> {
  const content = [textItem(triggers === '' ? 'A lighthouse' : `[sim:${triggers}]`)];
  const { status, body } = await callVideo(gateway.url, TASKS, { body: taskBody(variant, { content }), key });
  assert.equal(status, 200, JSON.stringify(body));
  return String(body.id);
}

const rowOf = (id: string) => db.selectFrom('video_tasks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const holdOf = (id: string) =>
  db.selectFrom('holds').selectAll().where('reference', '=', `task:${id}`).executeTakeFirstOrThrow();
const recordsOf = (id: string) =>
  db.selectFrom('usage_records').select(['nanos', 'usage']).where('request_id', '=', id).execute();
const logged = (msg: string, id: string) => gateway.log.filter((line) => line.msg === msg && line.task === id);

/** Lets the provider finish and looks at the tasks. */
async function finish(...ids: string[]): Promise<void> {
  await sim.video.clock.advance(30_000);
  for (const id of ids) await makeDue(db, id);
  await workers.round();
}

async function expectCharge(id: string, nanos: bigint): Promise<void> {
  const { state, settled_nanos } = await holdOf(id);
  assert.deepEqual([state, settled_nanos], ['settled', nanos]);
  assert.deepEqual(
    (await recordsOf(id)).map((record) => record.nanos),
    [nanos],
  );
  await checkLedger(db);
}

// ---------------------------------------------------------------- prices

const withModel = (change: object) => {
  const setup = videoSetup(sim.video.url) as { models: { id: string }[]; accounts: { id: string }[] };
  return { ...setup, models: setup.models.map((one) => (one.id === VIDEO_MODELS.EP ? { ...one, ...change } : one)) };
};

test('V 8: a task is charged at the price in force when it is settled', async () => {
  const id = await create();
  await gateway.apply(withModel({ prices: { video: '11', video_with_video_input: '5' } }));
  await finish(id);
  await expectCharge(id, BigInt(TOKENS) * 11_000n);
  await gateway.apply(videoSetup(sim.video.url));
});

test('include=charge shows what a task holds, and once it is charged tokens, price and rate', async () => {
  const id = await create();
  const read = async (path: string, key?: string) => {
    const { status, body } = await callVideo(gateway.url, `${path}/${id}?include=charge`, { key });
    assert.equal(status, key === KEYS.bob ? 404 : 200);
    return body.charge;
  };
  const held = { currency: 'USD', state: 'held', charged: null, tokens: null, price: null, rate: null };
  const { nanos: maxNanos } = await holdOf(id);
  assert.deepEqual(await read(TASKS), { ...held, held: formatNanos(maxNanos) });
  await finish(id);
  const { price_id } = await db
    .selectFrom('usage_records')
    .select('price_id')
    .where('request_id', '=', id)
    .executeTakeFirstOrThrow();
  const charged = formatNanos(BigInt(TOKENS) * 7_000n);
  const expected = {
    ...{ currency: 'USD', state: 'settled', held: formatNanos(maxNanos), charged },
    ...{ tokens: TOKENS, price: String(price_id), rate: '7' },
  };
  for (const path of [TASKS, '/v1/videos']) assert.deepEqual(await read(path), expected);
  assert.equal(await read(TASKS, KEYS.bob), undefined);
  const { body } = await callVideo(gateway.url, `${TASKS}/${id}?include=charge&include=parameters`);
  assert.ok(body.charge && body.parameters);
  const { body: plain } = await callVideo(gateway.url, `${TASKS}/${id}?include=parameters`);
  assert.ok(!('charge' in plain));
});

test('a task is charged at the rate of the resolution that was produced, or of the requested one without a report', async () => {
  await gateway.apply(withModel({ prices: { video: { '480p': '3', '720p': '8' } } }));
  const order = async (): Promise<string> => {
    const { status, body } = await callVideo(gateway.url, TASKS, { body: taskBody('EP', { resolution: '720p' }) });
    assert.equal(status, 200, JSON.stringify(body));
    return String(body.id);
  };
  const report = async (id: string, more: Partial<ReportedTask>) =>
    applyReport(workers.services, await rowOf(id), {
      kind: 'found',
      value: { ...reportOf(id, 'succeeded'), ...more },
    });
  for (const [resolution, rate] of [
    ['480p', 3_000n],
    [undefined, 8_000n],
  ] as const) {
    const id = await order();
    await report(id, { resolution });
    await expectCharge(id, 100n * rate);
  }
  // The resolution is known from the success on, although the usage comes later or from an operator.
  const [later, decided] = [await order(), await order()];
  for (const id of [later, decided]) await report(id, { resolution: '480p', usageTokens: undefined });
  await report(later, { resolution: undefined });
  await expectCharge(later, 100n * 3_000n);
  await admin('POST', `/reviews/${decided}/settle`, { tokens: 100, reason: 'bill' });
  await expectCharge(decided, 100n * 3_000n);
  await gateway.apply(videoSetup(sim.video.url));
});

test('V 8: the multipliers of user and group at settlement apply', async () => {
  const id = await create();
  const setup = videoSetup(sim.video.url) as { groups: { id: string }[]; users: { id: string }[] };
  const change = (multipliers: { group: string; user: string }) => ({
    ...setup,
    groups: setup.groups.map((one) => (one.id === 'ep' ? { ...one, multiplier: multipliers.group } : one)),
    users: setup.users.map((one) => (one.id === 'ana' ? { ...one, multiplier: multipliers.user } : one)),
  });
  await gateway.apply(change({ group: '1.5', user: '0.8' }));
  await finish(id);
  await expectCharge(id, (BigInt(TOKENS) * 7_000n * 12n) / 10n);
  await gateway.apply(change({ group: '1', user: '1' }));
});

test('what the provider charges is booked by the cost rate of the resolution and the multiplier of the account', async () => {
  const { accounts, ...setup } = withModel({ prices: VIDEO_PRICES, cost: { video: { '480p': '2', '720p': '4' } } });
  const dear = accounts.map((one) => (one.id === 'account-ep' ? { ...one, cost_multiplier: '1.5' } : one));
  await gateway.apply({ ...setup, accounts: dear });
  const id = await create();
  await finish(id);
  const [record] = await sql<{ cost_nanos: bigint | null }>`
    select cost_nanos from usage_records where request_id = ${id}`
    .execute(db)
    .then(({ rows }) => rows);
  assert.equal(record?.cost_nanos, BigInt(TOKENS) * 3_000n);
  await gateway.apply({ ...setup, accounts: accounts.map((one) => ({ ...one, cost_multiplier: '1' })) });
  await gateway.apply(videoSetup(sim.video.url));
});

test('V 8: a success without a price stays in review with a log line, and is settled once there is a price', async () => {
  const id = await create();
  await sql`delete from models where pattern = ${VIDEO_MODELS.EP}`.execute(db);
  await gateway.apply({ groups: [{ id: 'ep', style: 'video', variant: 'EP', name: 'without its model' }] });
  await finish(id);
  assert.equal((await holdOf(id)).state, 'review');
  assert.equal(logged('task.price_missing', id).length, 1);
  assert.deepEqual((await admin('POST', `/reviews/${id}/settle`, { tokens: 5, reason: 'r' })).status, 409);
  assert.equal((await rowOf(id)).usage_tokens, BigInt(TOKENS), 'the usage is known');
  for (let n = 0; n < 3; n += 1) {
    await passTime(db, 2 * REVIEW.everyMs);
    await workers.round();
    assert.equal((await holdOf(id)).state, 'review');
    assert.notEqual((await rowOf(id)).next_check_at, null, 'it is looked at again');
  }
  await passTime(db, 2 * REVIEW.forMs);
  await gateway.apply(withModel({ prices: { video: '3', video_with_video_input: '3' } }));
  await workers.round();
  await expectCharge(id, BigInt(TOKENS) * 3_000n);
  assert.equal((await rowOf(id)).review_until, null);
  await gateway.apply(videoSetup(sim.video.url));
});

// ---------------------------------------------------------------- usage

for (const usage of ['negative', 'text', 'fraction', 'huge', 'zero'] as const)
  test(`V 8: ${usage} usage is never charged: the task stays in review, with a log line`, async () => {
    const id = await create('EP', `usage=${usage}`);
    await finish(id);
    await passTime(db, REVIEW.everyMs * 2);
    await workers.round();
    assert.equal((await holdOf(id)).state, 'review');
    const { body } = await callVideo(gateway.url, `${TASKS}/${id}`);
    assert.deepEqual([body.status, 'usage' in body], ['succeeded', false]);
    assert.deepEqual(
      logged('task.usage_missing', id).map(({ reported }) => reported),
      ['invalid'],
    );
    assert.deepEqual(await recordsOf(id), []);
    const { data } = (await admin('GET', '/reviews?limit=100')).body as { data: { task: string; reported: string }[] };
    assert.match(data.find(({ task }) => task === id)?.reported ?? '', /^completion_tokens .+, total_tokens .+$/);
  });

for (const [about, made, tokens, isCharged] of [
  ['what was held', {}, 3 * (TOKENS + 1), true],
  ['what was held', {}, 3 * (TOKENS + 1) + 1, false],
  ['its 480p and 4 seconds', { resolution: '480p', duration: 4 }, 123 * TOKENS, false],
  ['a smaller video than was asked for', { resolution: '480p', duration: 1 }, 3 * TOKENS, false],
  ['its frames', { resolution: '480p', frames: 49 }, 3 * TOKENS, false],
] as const)
  test(`V 8: usage of ${tokens} tokens is ${isCharged ? 'charged' : 'reviewed'} against ${about}`, async () => {
    const id = await create();
    const value = { ...reportOf(id, 'succeeded'), ...made, usageTokens: tokens, usage: { total_tokens: tokens } };
    const report = async () => applyReport(workers.services, await rowOf(id), { kind: 'found', value });
    await report();
    if (isCharged) return expectCharge(id, BigInt(tokens) * 7_000n);
    await report();
    assert.deepEqual([(await holdOf(id)).state, await recordsOf(id)], ['review', []]);
    assert.equal(logged('task.usage_missing', id)[0]?.reported, 'invalid');
    const { body } = await callVideo(gateway.url, `${TASKS}/${id}`);
    assert.deepEqual([body.status, 'usage' in body], ['succeeded', false]);
    const { data } = (await admin('GET', '/reviews?limit=100')).body as { data: { task: string; reported: string }[] };
    assert.match(data.find(({ task }) => task === id)?.reported ?? '', new RegExp(`^${tokens} tokens, where .+ allow`));
    await applyReport(workers.services, await rowOf(id), success(id));
    await expectCharge(id, 100n * 7_000n);
  });

async function inReview(): Promise<string> {
  const id = await create('EP', 'usage=missing');
  await finish(id);
  assert.equal((await holdOf(id)).state, 'review');
  return id;
}

test('V 8: an operator settles a review by the tokens of the bill, once, with an audit line', async () => {
  const id = await inReview();
  const { body: list } = await admin<{ data: { task: string; held: string }[] }>('GET', '/reviews?user=ana&limit=1000');
  assert.ok(list.data.some(({ task, held }) => task === id && Number(held) > 0));
  const settle = () => admin('POST', `/reviews/${id}/settle`, { tokens: 1_000, reason: 'bill of November' });
  const responses = await Promise.all([settle(), settle(), settle()]);
  assert.deepEqual(responses.map(({ status }) => status).toSorted(), [200, 404, 404]);
  const resolved = responses.find(({ status }) => status === 200)?.body;
  assert.deepEqual([resolved?.outcome, resolved?.charge], ['charged', '0.007']);
  await expectCharge(id, 7_000_000n);
  assert.equal((await callVideo(gateway.url, `${TASKS}/${id}`)).body.status, 'succeeded');
  const { body: audit } = await admin<{ data: { action: string }[] }>('GET', `/audit?subject=task:${id}`);
  assert.deepEqual(
    audit.data.map(({ action }) => action),
    ['review.settled'],
  );
  assert.equal((await admin('POST', `/reviews/${id}/release`, { reason: 'again' })).status, 404);
});

test('V 8: an operator releases a review without a charge', async () => {
  const id = await inReview();
  const { status, body } = await admin('POST', `/reviews/${id}/release`, { reason: 'not on the bill' });
  assert.deepEqual([status, body.outcome, body.charge], [200, 'released', '0']);
  assert.equal((await holdOf(id)).state, 'released');
  assert.equal((await rowOf(id)).next_check_at, null);
  await finish(id);
  assert.deepEqual(await recordsOf(id), []);
  await checkLedger(db);
});

test('an operator cannot settle a task that is not in review, nor with tokens that cannot be usage', async () => {
  const id = await create();
  assert.equal((await admin('POST', `/reviews/${id}/settle`, { tokens: 5, reason: 'r' })).status, 404);
  for (const tokens of [-1, 0.5, '5', 1e9 + 1])
    assert.equal((await admin('POST', `/reviews/${id}/settle`, { tokens, reason: 'r' })).status, 400, String(tokens));
  assert.equal((await holdOf(id)).state, 'held');
});

// ---------------------------------------------------------------- competing, late and hanging looks

const success = (id: string): QueryOutcome<ReportedTask> => ({ kind: 'found', value: reportOf(id, 'succeeded') });
const reportOf = (id: string, status: string): ReportedTask => ({
  id,
  status,
  model: undefined,
  createdAt: undefined,
  safetyIdentifier: undefined,
  error: undefined,
  videoUrl: status === 'succeeded' ? 'https://results.example.test/1.mp4' : undefined,
  lastFrameUrl: undefined,
  usageTokens: status === 'succeeded' ? 100 : undefined,
  duration: undefined,
  resolution: undefined,
  ratio: undefined,
  seed: undefined,
  framespersecond: undefined,
});

test('V 8: a report that is applied many times at once settles once', async () => {
  const id = await create();
  const row = await rowOf(id);
  const changed = await Promise.all(Array.from({ length: 20 }, () => applyReport(workers.services, row, success(id))));
  assert.equal(changed.filter(Boolean).length, 1);
  assert.equal((await rowOf(id)).version, 2);
  await expectCharge(id, 700_000n);
});

test('two workers take each task that is due once', async () => {
  const ids = await Promise.all(Array.from({ length: 12 }, () => create('HC', 'stuck=queued', KEYS.bob)));
  for (const id of ids) await makeDue(db, id);
  const { requests } = sim.video.journal;
  const begun = requests.length;
  const pair = [workers.worker(), workers.worker()];
  const taken = await Promise.all(pair.map((worker) => worker.run()));
  await Promise.all(pair.map((worker) => worker.whenIdle()));
  assert.equal((taken[0] as number) + (taken[1] as number), ids.length);
  assert.equal(requests.slice(begun).filter(({ operation }) => operation === 'get').length, ids.length);
  // On a slow machine they would be due again in the next test.
  await db.updateTable('video_tasks').set({ next_check_at: null }).where('id', 'in', ids).execute();
});

/** A provider whose responses the test decides. */
class ScriptedProvider extends VideoProvider {
  readonly asked: string[] = [];
  #respond: (account: Account, upstreamId: string) => Promise<QueryOutcome<ReportedTask>>;

  constructor(respond: (account: Account, upstreamId: string) => Promise<QueryOutcome<ReportedTask>>) {
    super(undefined as never);
    this.#respond = respond;
  }

  override get(account: Account, upstreamId: string): Promise<QueryOutcome<ReportedTask>> {
    this.asked.push(account.id);
    return this.#respond(account, upstreamId);
  }
}

const scripted = (respond: ConstructorParameters<typeof ScriptedProvider>[0]) => {
  const provider = new ScriptedProvider(respond);
  return { provider, follower: new Follower({ ...workers.services, provider }) };
};

test('V 3: a check that outlives its interval changes nothing after a newer check', async () => {
  for (const late of [
    success('late'),
    { kind: 'found', value: reportOf('late', 'running') },
    { kind: 'missing' },
  ] as const) {
    const id = await create();
    const gate = Promise.withResolvers<QueryOutcome<ReportedTask>>();
    const slow = scripted(() => gate.promise);
    await makeDue(db, id);
    // The provider's own report may lock the task for a moment.
    await until('the task to be taken', async () => (await slow.follower.run()) === 1);
    await makeDue(db, id);
    assert.equal(await slow.follower.run(), 1, 'its time is over, so it is taken');
    assert.equal(slow.provider.asked.length, 1, 'but the same worker does not ask twice');
    await finish(id);
    const settled = await rowOf(id);
    assert.equal(settled.status, 'succeeded');
    gate.resolve(late);
    await slow.follower.whenIdle();
    assert.deepEqual(await rowOf(id), settled);
    await expectCharge(id, BigInt(TOKENS) * 7_000n);
  }
});

test('an account that hangs delays no other account and takes no more looks than its slots', async () => {
  const hanging = await Promise.all(Array.from({ length: 30 }, () => create('EP', '', KEYS.bob)));
  const healthy = await create('A');
  const gate = Promise.withResolvers<QueryOutcome<ReportedTask>>();
  const { follower, provider } = scripted((account, id) =>
    account.id === 'account-ep' ? gate.promise : Promise.resolve(success(id)),
  );
  for (const id of [...hanging, healthy]) await makeDue(db, id);
  await follower.run();
  await until('the healthy account', async () => (await rowOf(healthy)).status === 'succeeded');
  ahead = 10_000;
  for (const id of hanging) await makeDue(db, id);
  await follower.run();
  assert.equal(provider.asked.filter((id) => id === 'account-ep').length, ACCOUNT_RATES.concurrentGets);
  gate.resolve({ kind: 'failed', status: undefined });
  await follower.stop();
});

test('an account pauses after a 429, and the tasks of other accounts are looked at', async () => {
  const [limited, other] = [await create('EP'), await create('HC')];
  let isLimited = true;
  const { follower, provider } = scripted(async (account, id) =>
    account.id === 'account-ep' && isLimited
      ? { kind: 'failed', status: 429 }
      : { kind: 'found', value: reportOf(id, 'queued') },
  );
  const look = async (): Promise<string[]> => {
    for (const id of [limited, other]) await makeDue(db, id);
    provider.asked.length = 0;
    await follower.run();
    await follower.whenIdle();
    return provider.asked.toSorted();
  };
  assert.deepEqual(await look(), ['account-ep', 'account-hc']);
  assert.deepEqual(await look(), ['account-hc']);
  assert.equal((await rowOf(limited)).status, 'queued');
  isLimited = false;
  ahead = 31_000;
  assert.deepEqual(await look(), ['account-ep', 'account-hc']);
});

test('V 3: a task whose account was removed expires and releases its hold', async () => {
  const id = await create('HC');
  await sql`update video_tasks set account_id = 'removed' where id = ${id}`.execute(db);
  await makeDue(db, id);
  await passTime(db, 48 * 3_600_000 + 30 * 60_000);
  await workers.round();
  assert.equal((await rowOf(id)).status, 'queued', 'a last check may still come');
  await passTime(db, 31 * 60_000);
  await workers.round();
  assert.deepEqual([(await rowOf(id)).status, (await holdOf(id)).state], ['expired', 'released']);
});

test('V 3: a cancellation that could not be sent is sent by the worker', async () => {
  const id = await create('A', 'stuck=queued;on=delete;fault=500;times=1');
  const { status } = await callVideo(gateway.url, `${TASKS}/${id}`, { method: 'DELETE' });
  assert.equal(status, 204);
  assert.equal((await rowOf(id)).status, 'queued');
  await finish(id);
  assert.deepEqual([(await rowOf(id)).status, (await holdOf(id)).state], ['cancelled', 'released']);
});

test('a task that has ended at the provider is not deleted there, and is charged', async () => {
  const id = await create('A');
  await sim.video.clock.advance(30_000);
  const begun = sim.video.journal.requests.length;
  const { status, body } = await callVideo(gateway.url, `${TASKS}/${id}`, { method: 'DELETE' });
  assert.deepEqual([status, body.error?.code], [409, 'task_not_cancellable']);
  const asked = sim.video.journal.requests.slice(begun).map(({ operation }) => operation);
  assert.deepEqual(asked, ['get'], 'a deletion would remove the result');
  await finish(id);
  assert.equal((await rowOf(id)).status, 'succeeded');
  await expectCharge(id, BigInt(TOKENS) * 7_000n);
});

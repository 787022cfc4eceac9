// set: all; every crash point of background responses
/**
 * A gateway process is killed at every crash point of creating a background response. Its hold ends soon: charged once where the id of the
 * response was stored, otherwise released when the lease of the process has ended. A process that lives renews its lease.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { openWorkerServices } from '../../src/program/server/command-services.ts';
import { BACKGROUND } from '../../src/rules/index.ts';
import { jsonResponse, startCanned } from '../support/canned.ts';
import type { CrashStep } from '../support/crash.ts';
import { CrashLane, killsMs } from '../support/crash-lane.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { HeldClock } from '../support/held-clock.ts';
import { until } from '../support/wait.ts';

const REQUEST = { model: 'demo-responses', input: 'hello', background: true, max_output_tokens: 100 };
const STEPS: readonly CrashStep[] = [
  'background.held',
  'upstream.sent',
  'upstream.head_received',
  'background.accepted',
  'background.recorded',
];

let sim: Sim;
let gateway: TestGateway;
let lane: CrashLane;
let directory: string;
let key: string;
let googleKey: string;
let run: () => Promise<unknown>;
let closeWorker: () => Promise<void>;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  const { models, ...rest } = basicSetup(sim.url) as { models: object[] };
  const prices = { input: '1000', output: '10000' };
  const keys = await gateway.apply({ ...rest, models: models.map((model) => ({ ...model, prices })) });
  key = keys.openai ?? assert.fail('no key');
  googleKey = keys.gemini ?? assert.fail('no key');
  const worker = await openWorkerServices(gateway.context);
  closeWorker = worker.close;
  run = async () => worker.background.jobs[0]?.run();
  directory = mkdtempSync(join(tmpdir(), 'dragoman-background-kill-'));
  lane = new CrashLane({ directory, name: 'data', databaseUrl: gateway.database.url });
});
after(async () => {
  await lane.stop();
  await closeWorker();
  await gateway.stop();
  await sim.close();
  rmSync(directory, { recursive: true, force: true });
});

const create = (url: string) =>
  fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(REQUEST),
  }).catch(() => undefined);

/** State, and seconds until the next check. */
async function newestRow() {
  const { rows } = await sql<{ reference: string; state: string; seconds: number; hold: string }>`
    select b.reference, b.state, extract(epoch from b.next_check_at - now())::float8 as seconds, h.state as hold
    from background_responses b join holds h using (reference) order by b.created_at desc limit 1`.execute(
    gateway.context.database.db,
  );
  return rows[0] ?? assert.fail('no row');
}
const makeDue = () =>
  sql`update background_responses set next_check_at = now() - interval '1 second' where state in ('sending', 'running')`.execute(
    gateway.context.database.db,
  );
const chargesOf = async (reference: string): Promise<number> => {
  const id = reference.replace('background:', '');
  const { rows } = await sql`select from usage_records where request_id = ${id}`.execute(gateway.context.database.db);
  return rows.length;
};

test('a process that is killed while it creates a background response leaves no hold', {
  timeout: killsMs(STEPS.length),
}, async () => {
  for (const step of STEPS) {
    await lane.start();
    await lane.arm(step, 1);
    await create(lane.url);
    await lane.died(step);
    const left = await newestRow();
    assert.deepEqual([left.state, left.hold], [step === 'background.recorded' ? 'running' : 'sending', 'held'], step);
    assert.ok(left.seconds <= BACKGROUND.sendLeaseMs / 1_000, `${step}: it is decided within the lease`);
    await run();
    if (left.state === 'sending') assert.equal((await newestRow()).hold, 'held', 'not before the lease has ended');
    await makeDue();
    await run();
    const { state, hold, reference } = await newestRow();
    const isCharged = step === 'background.recorded';
    assert.deepEqual([state, hold], isCharged ? ['settled', 'settled'] : ['released', 'released'], step);
    assert.equal(await chargesOf(reference), isCharged ? 1 : 0, step);
    await checkLedger(gateway.context.database.db);
  }
});

test('a process that is killed while it makes a cached content leaves it paid and owned, or neither', {
  timeout: killsMs(STEPS.length),
}, async () => {
  const { db } = gateway.context.database;
  const keep = (url: string) =>
    fetch(`${url}/v1beta/cachedContents`, {
      method: 'POST',
      headers: { 'x-goog-api-key': googleKey, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'models/demo-generate', contents: [{ parts: [{ text: 'hello' }] }] }),
    }).catch(() => undefined);
  let owned = 0;
  for (const step of STEPS) {
    await lane.start();
    await lane.arm(step, 1);
    await keep(lane.url);
    await lane.died(step);
    await makeDue();
    await run();
    const { state, hold, reference } = await newestRow();
    const isRecorded = step === 'background.recorded';
    assert.deepEqual([state, hold], isRecorded ? ['settled', 'settled'] : ['released', 'released'], step);
    assert.equal(await chargesOf(reference), isRecorded ? 1 : 0, step);
    owned += isRecorded ? 1 : 0;
    assert.equal((await db.selectFrom('provider_objects').selectAll().execute()).length, owned, step);
    await checkLedger(db);
  }
  assert.equal(owned, 1);
});

test('a process that waits for the provider keeps the hold', async () => {
  const provider = await startCanned();
  const clock = new HeldClock(BACKGROUND.renewMs);
  const second = await startGateway({ database: gateway.database, clock });
  try {
    const answer = Promise.withResolvers<void>();
    const queued = jsonResponse(JSON.stringify({ id: 'resp_slow1', object: 'response', status: 'queued', output: [] }));
    provider.respondWith(async (response, request) => {
      await answer.promise;
      await queued(response, request);
    });
    const keys = await second.apply({
      groups: [{ id: 'slow', style: 'responses' }],
      accounts: [{ id: 'slow1', group: 'slow', base_url: `${provider.url}/v1`, api_key: 'sk-s' }],
      models: [{ id: '*', groups: ['slow'], prices: { input: '1', output: '1' } }],
      users: [{ id: 'patient', balance: '100' }],
      keys: [{ user: 'patient', group: 'slow' }],
    });
    key = keys.slow ?? assert.fail('no key');
    const others = clock.waiting(BACKGROUND.renewMs);
    const response = create(second.url);
    await until('the request', () => provider.requests.length > 0);
    await makeDue();
    clock.fire(BACKGROUND.renewMs);
    await until('the renewed lease', async () => (await newestRow()).seconds > 0);
    await run();
    assert.deepEqual([(await newestRow()).state, (await newestRow()).hold], ['sending', 'held']);
    answer.resolve();
    assert.equal((await response)?.status, 200);
    assert.equal((await newestRow()).state, 'running');
    await until('the end of renewals', () => clock.waiting(BACKGROUND.renewMs) <= others);
    provider.respondWith(jsonResponse(JSON.stringify({ id: 'resp_slow1', status: 'failed', usage: null })));
    await makeDue();
    await run();
  } finally {
    await second.stop();
    await provider.close();
  }
});

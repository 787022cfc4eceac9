// set: all; every crash point of batches
/** A gateway process is killed at every crash point of a batch. Another one ends the batch: no request is sent twice, and each has one result. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { toFile } from 'openai';
import { type Sim, startSim } from '../../sim/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import type { CrashStep } from '../support/crash.ts';
import { CrashLane, killsMs } from '../support/crash-lane.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

/** With what becomes of the request that was under way. */
const STEPS = {
  'batch.taken': 'lost',
  'upstream.sent': 'lost',
  'batch.answered': 'lost',
  'batch.recorded': 'served',
  'batch.written': 'served',
} as const satisfies Partial<Record<CrashStep, 'lost' | 'served'>>;

let sim: Sim;
let gateway: TestGateway;
let lane: CrashLane;
let directory: string;
let key: string;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  const { models, ...rest } = basicSetup(sim.url) as { models: object[] };
  const prices = { input: '1000', output: '10000' };
  const keys = await gateway.apply({ ...rest, models: models.map((model) => ({ ...model, prices })) });
  key = keys.openai ?? assert.fail('no key');
  directory = mkdtempSync(join(tmpdir(), 'dragoman-batch-kill-'));
  lane = new CrashLane({ directory, name: 'data', databaseUrl: gateway.database.url });
});
after(async () => {
  await lane.stop();
  await gateway.stop();
  await sim.close();
  rmSync(directory, { recursive: true, force: true });
});

test('a process that is killed while it works on a batch loses its request at most, and sends none twice', {
  timeout: killsMs(Object.keys(STEPS).length * 2),
}, async () => {
  const { db } = gateway.context.database;
  const body = { model: 'demo-responses', input: 'hello', max_output_tokens: 50 };
  const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/responses', body });
  for (const [step, outcome] of Object.entries(STEPS)) {
    sim.journal.clear();
    await lane.start();
    const client = openai(lane.url, key);
    const file = await client.files.create({ file: await toFile(Buffer.from(line), 'in.jsonl'), purpose: 'batch' });
    await lane.arm(step as CrashStep, 1);
    await client.batches
      .create({ input_file_id: file.id, endpoint: '/v1/responses', completion_window: '24h' }, { maxRetries: 0 })
      .catch(() => undefined);
    await lane.died(step);
    await sql`update batch_lines set lease_until = now() where state = 'sent'`.execute(db);
    await lane.start();
    const next = openai(lane.url, key);
    const [{ id } = assert.fail('no batch')] = (await next.batches.list({ limit: 1 })).data;
    await until(`the end after ${step}`, async () => (await next.batches.retrieve(id)).status === 'completed');
    const { request_counts: counts } = await next.batches.retrieve(id);
    const isServed = outcome === 'served';
    assert.deepEqual(counts, { total: 1, completed: isServed ? 1 : 0, failed: isServed ? 0 : 1 }, step);
    assert.ok(sim.journal.requests.length <= 1, `${step}: ${sim.journal.requests.length} requests`);
    await checkLedger(db);
    await lane.stop();
  }
});

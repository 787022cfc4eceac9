// set: all; every crash point of batches at a provider
/** A gateway process is killed at every crash point of a batch at a provider. Another one ends it: nothing is made or charged twice. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { type Sim, startSim } from '../../sim/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { type BatchProvider, checkSoon, startBatchProvider } from '../support/batch-provider.ts';
import type { CrashStep } from '../support/crash.ts';
import { CrashLane, killsMs } from '../support/crash-lane.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

/** Where the requests end: at the provider, with the gateway, or nowhere, because nobody knows whether they were sent. */
const STEPS = {
  'batch.held': 'gateway',
  'batch.uploaded': 'gateway',
  'batch.submitting': 'lost',
  'batch.created': 'provider',
  'batch.collected': 'provider',
  'batch.settled': 'provider',
} as const satisfies Partial<Record<CrashStep, 'gateway' | 'lost' | 'provider'>>;
const STYLES = ['openai', 'claude'] as const;

let sim: Sim;
let provider: BatchProvider;
let gateway: TestGateway;
let lane: CrashLane;
let directory: string;
let keys: Record<string, string>;
const db = () => gateway.context.database.db;

before(async () => {
  sim = await startSim();
  provider = await startBatchProvider(() => sim.url);
  gateway = await startGateway();
  const { models, accounts, ...rest } = basicSetup(provider.url) as { models: object[]; accounts: { group: string }[] };
  const prices = { input: '1000', output: '10000', tiers: { batch: { multiplier: '0.5' } } };
  const own: Readonly<Record<string, object>> = {
    openai: { features: ['responses', 'batches'] },
    claude: { features: ['messages', 'batches'] },
  };
  keys = await gateway.apply({
    ...rest,
    models: models.map((model) => ({ ...model, prices })),
    accounts: accounts.map((account) => ({ ...account, ...own[account.group] })),
  });
  directory = mkdtempSync(join(tmpdir(), 'dragoman-provider-batch-kill-'));
  await checkSoon(db());
  lane = new CrashLane({ directory, name: 'data', databaseUrl: gateway.database.url });
  await lane.start();
});
after(async () => {
  await lane.stop();
  await gateway.stop();
  await provider.close();
  await sim.close();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(() => {
  provider.log.length = 0;
  provider.batches.length = 0;
  sim.journal.clear();
});

const body = { model: 'demo-responses', input: 'hello', max_output_tokens: 50 };
const params = { model: 'demo-messages', max_tokens: 50, messages: [{ role: 'user' as const, content: 'hi' }] };
const clientOf = (): OpenAI => openai(lane.url, keys.openai ?? '');

async function create(style: (typeof STYLES)[number], step: CrashStep): Promise<void> {
  if (style === 'claude') {
    await lane.arm(step, 1);
    const requests = [1, 2].map((n) => ({ custom_id: `own-${n}`, params }));
    await anthropic(lane.url, keys.claude ?? '')
      .messages.batches.create({ requests })
      .catch(() => undefined);
    return;
  }
  const lines = [1, 2].map((n) =>
    JSON.stringify({ custom_id: `own-${n}`, method: 'POST', url: '/v1/responses', body }),
  );
  const content = await toFile(Buffer.from(lines.join('\n')), 'in.jsonl');
  const file = await clientOf().files.create({ file: content, purpose: 'batch' });
  await lane.arm(step, 1);
  await clientOf()
    .batches.create({ input_file_id: file.id, endpoint: '/v1/responses', completion_window: '24h' })
    .catch(() => undefined);
}

interface EndedBatch {
  readonly id: string;
  readonly state: string;
  readonly succeeded: number;
  readonly errored: number;
}

for (const style of STYLES)
  for (const [step, outcome] of Object.entries(STEPS))
    test(`${style}: after ${step} the requests end: ${outcome}`, { timeout: killsMs(3) }, async () => {
      // The process that ended the batch of the test before.
      if (!lane.isRunning) await lane.start();
      await create(style, step as CrashStep);
      await lane.died(step);
      await lane.start();
      let batch: EndedBatch | undefined;
      await until(`the end after ${step}`, async () => {
        // As if the lease of the process had ended.
        await sql`update provider_batches set next_check_at = now() where state in ('held', 'submitting')`.execute(
          db(),
        );
        const { rows } = await sql<EndedBatch>`select * from batches order by created_at desc limit 1`.execute(db());
        [batch] = rows;
        return batch?.state === 'ended' && (await sql`select from provider_batches`.execute(db())).rows.length === 0;
      });
      assert.deepEqual([batch?.succeeded, batch?.errored], outcome === 'lost' ? [0, 2] : [2, 0]);
      const path = style === 'openai' ? '/v1/responses' : '/v1/messages';
      const made = provider.log.filter(
        (line) => line === `POST ${style === 'openai' ? '/v1' : '/v1/messages'}/batches`,
      );
      assert.equal(made.length, outcome === 'provider' ? 1 : 0);
      assert.equal(provider.log.filter((line) => line === `POST ${path}`).length, outcome === 'gateway' ? 2 : 0);
      const charges = await sql<{ n: string }>`
        select reference as n from entries where reference = ${`settle:batch:${batch?.id}`}`.execute(db());
      assert.equal(charges.rows.length, outcome === 'provider' ? 1 : 0);
      const { rows: holds } = await sql`select from holds where state = 'held'`.execute(db());
      assert.equal(holds.length, 0);
      await checkLedger(db());
    });

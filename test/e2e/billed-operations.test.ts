/**
 * Every operation that a provider is paid for leaves a charge, and no other does. The list below is written apart from the endpoint
 * table on purpose: a row that loses its mark fails here.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import {
  FEATURES,
  INFERENCE_ENDPOINTS,
  type InferenceOperation,
  inferenceRow,
  isInference,
  OPERATIONS,
} from '../../src/rules/index.ts';
import { checkBookedCosts } from '../support/booked-costs.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;
let cacheName: string;
/** Each change of the cached content extends it further. */
let seconds = 3_600;

const PRICES = { input: '1', output: '10', image_output: '40', per_search: '0.01' };
before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  const setup = basicSetup(sim.url) as { models: object[]; accounts: { group: string }[] };
  const features = [...FEATURES.responses, 'search'];
  keys = await gateway.apply({
    ...setup,
    accounts: setup.accounts.map((account) => (account.group === 'openai' ? { ...account, features } : account)),
    models: setup.models.map((model) => ({ ...model, prices: PRICES, cost: PRICES })),
  });
  const made = await fetch(`${gateway.url}/v1beta/cachedContents`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.gemini}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'models/demo-generate', ...CONTENTS }),
  });
  cacheName = ((await made.json()) as { name: string }).name;
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

interface PaidCall {
  readonly group: string;
  readonly method?: 'POST' | 'PATCH';
  readonly path: string;
  body(): string | FormData;
}

const json =
  (body: object): (() => string) =>
  () =>
    JSON.stringify(body);
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };

/** The operations that are charged (G 4), each with a request that costs something. */
const PAID: Readonly<Record<string, PaidCall>> = {
  'messages.create': {
    group: 'claude',
    path: '/v1/messages',
    body: json({ model: 'demo-messages', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }),
  },
  'chat.create': {
    group: 'openai',
    path: '/v1/chat/completions',
    body: json({ model: 'demo-responses', messages: [{ role: 'user', content: 'Hello' }] }),
  },
  'responses.create': {
    group: 'openai',
    path: '/v1/responses',
    body: json({ model: 'demo-responses', input: 'Hello' }),
  },
  'responses.compact': {
    group: 'openai',
    path: '/v1/responses/compact',
    body: json({ model: 'demo-responses', input: [{ role: 'user', content: 'Hello' }] }),
  },
  'search.create': {
    group: 'openai',
    path: '/v1/alpha/search',
    body: json({ model: 'demo-responses', commands: { search_query: [{ q: 'Hello' }] } }),
  },
  'embeddings.create': {
    group: 'openai',
    path: '/v1/embeddings',
    body: json({ model: 'demo-embedding', input: 'Hello' }),
  },
  'images.generate': {
    group: 'openai',
    path: '/v1/images/generations',
    body: json({ model: 'demo-image', prompt: 'A lamp', size: '1024x1024' }),
  },
  'images.edit': {
    group: 'openai',
    path: '/v1/images/edits',
    body() {
      const form = new FormData();
      form.set('model', 'demo-image');
      form.set('prompt', 'A lamp');
      form.set('image', new Blob([PNG], { type: 'image/png' }), 'lamp.png');
      return form;
    },
  },
  'generate.create': {
    group: 'gemini',
    path: '/v1beta/models/demo-generate:generateContent',
    body: json(CONTENTS),
  },
  'generate.stream': {
    group: 'gemini',
    path: '/v1beta/models/demo-generate:streamGenerateContent?alt=sse',
    body: json(CONTENTS),
  },
  'interactions.create': {
    group: 'gemini',
    path: '/v1beta/interactions',
    body: json({ model: 'demo-generate', input: 'Hello' }),
  },
  'caches.create': {
    group: 'gemini',
    path: '/v1beta/cachedContents',
    body: json({ model: 'models/demo-generate', ...CONTENTS }),
  },
  'caches.update': {
    group: 'gemini',
    method: 'PATCH',
    path: '/v1beta/{cache}',
    body() {
      seconds += 3_600;
      return JSON.stringify({ ttl: `${seconds}s` });
    },
  },
  'generate.embed': {
    group: 'gemini',
    path: '/v1beta/models/demo-generate:embedContent',
    body: json({ content: { parts: [{ text: 'Hello' }] } }),
  },
  'generate.batchEmbed': {
    group: 'gemini',
    path: '/v1beta/models/demo-generate:batchEmbedContents',
    body: json({ requests: [{ model: 'models/demo-generate', content: { parts: [{ text: 'Hello' }] } }] }),
  },
};

/** Makes the call and returns the operation and the cost of its usage record; undefined when it left none. */
async function chargeOf({
  group,
  path,
  body,
  method = 'POST',
}: PaidCall): Promise<{ operation: string; nanos: bigint } | undefined> {
  const sent = body();
  const response = await fetch(gateway.url + path.replace('{cache}', cacheName), {
    method,
    headers: {
      authorization: `Bearer ${keys[group]}`,
      ...(typeof sent === 'string' && { 'content-type': 'application/json' }),
    },
    body: sent,
  });
  assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`);
  await response.arrayBuffer();
  const id = response.headers.get('x-request-id') ?? assert.fail('no request id');
  const line = await until('the log line', () =>
    gateway.log.find(({ msg, request }) => msg === 'request.completed' && request === id),
  );
  if (line.cost === undefined) return undefined;
  return until('the usage record', async () => {
    const row = await gateway.context.database.db
      .selectFrom('usage_records')
      .select(['operation', 'nanos'])
      .where('request_id', '=', id)
      .executeTakeFirst();
    return row && { operation: row.operation, nanos: BigInt(row.nanos) };
  });
}

const isMetered = (operation: InferenceOperation): boolean => inferenceRow(operation).billing === 'metered';

test('the endpoint table meters exactly the operations that are paid for', () => {
  const metered = OPERATIONS.filter(isInference).filter(isMetered);
  assert.deepEqual(metered.sort(), Object.keys(PAID).sort());
});

for (const [operation, call] of Object.entries(PAID)) {
  test(`${operation} is charged, and would not be without the mark in its row`, async () => {
    const charge = await chargeOf(call);
    assert.equal(charge?.operation, operation);
    assert.ok(charge.nanos > 0n, `charged ${charge.nanos}`);
    const row = INFERENCE_ENDPOINTS[operation as InferenceOperation] as { billing: string };
    row.billing = 'free';
    try {
      assert.equal(await chargeOf(call), undefined, 'without its mark the operation leaves no charge');
    } finally {
      row.billing = 'metered';
    }
  });
}

test('every operation that is charged has booked what its provider charges', async () => {
  const operations = await checkBookedCosts(gateway.context.database.db);
  assert.deepEqual([...operations].sort(), Object.keys(PAID).sort());
});

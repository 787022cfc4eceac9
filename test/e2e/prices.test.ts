/** A price with `valid_from` in the future. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { SkewedClock } from '../support/skewed-clock.ts';
import { until } from '../support/wait.ts';

const HOUR_MS = 3_600_000;
const clock = new SkewedClock();
let sim: Sim;
let gateway: TestGateway;
let key: string;

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ clock });
  const keys = await gateway.apply(basicSetup(sim.url));
  key = keys.claude ?? '';
});
after(async () => {
  await gateway.stop().finally(() => sim.close());
});

/** Returns the request id. */
async function call(): Promise<string> {
  const response = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-messages', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }),
  });
  assert.equal(response.status, 200, await response.text());
  return response.headers.get('x-request-id') ?? '';
}

test('an announced price applies to calls that begin at its valid_from or later, without a restart', async () => {
  const price = (input: string, validFrom?: Date) =>
    gateway.apply({
      models: [
        {
          id: 'demo-messages',
          groups: ['claude'],
          prices: { input, output: input },
          ...(validFrom && { valid_from: validFrom.toISOString() }),
        },
      ],
    });
  await price('1');
  await price('2', new Date(clock.now() + HOUR_MS));
  const early = await call();
  clock.shift(HOUR_MS);
  const late = await call();
  const { db } = gateway.context.database;
  const rows = await until('the records', async () => {
    const found = await db
      .selectFrom('usage_records as u')
      .innerJoin('prices as p', 'p.id', 'u.price_id')
      .select(['u.request_id', 'u.nanos', 'u.input_tokens', 'u.output_tokens', 'p.rates'])
      .execute();
    return found.length === 2 ? found : undefined;
  });
  for (const [id, dollars] of [
    [early, '1'],
    [late, '2'],
  ] as const) {
    const row = rows.find(({ request_id }) => request_id === id) ?? assert.fail(id);
    assert.equal((row.rates as { input: string }).input, dollars);
    // A price of one dollar per million tokens is 1000 nano-dollars per token.
    assert.equal(row.nanos, (row.input_tokens + row.output_tokens) * 1_000n * BigInt(dollars));
  }
});

/** A price with `valid_from` in the future. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

let sim: Sim;
let gateway: TestGateway;
let key: string;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
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
  const moment = new Date(Date.now() + 2_500);
  await price('2', moment);
  const calls: { id: string; begun: number; ended: number }[] = [];
  await until(
    'a call after the moment',
    async () => {
      const begun = Date.now();
      calls.push({ id: await call(), begun, ended: Date.now() });
      return begun > moment.getTime();
    },
    20_000,
  );
  const { db } = gateway.context.database;
  const rows = await until('the records', async () => {
    const found = await db
      .selectFrom('usage_records as u')
      .innerJoin('prices as p', 'p.id', 'u.price_id')
      .select(['u.request_id', 'u.nanos', 'u.input_tokens', 'u.output_tokens', 'p.rates'])
      .execute();
    return found.length === calls.length ? found : undefined;
  });
  let [early, late] = [0, 0];
  for (const { id, begun, ended } of calls) {
    const row = rows.find(({ request_id }) => request_id === id) ?? assert.fail(id);
    const { input } = row.rates as { input: string };
    // A price of one dollar per million tokens is 1000 nano-dollars per token.
    assert.equal(row.nanos, (row.input_tokens + row.output_tokens) * 1_000n * BigInt(input));
    if (ended < moment.getTime()) early += Number(input === '1' || assert.fail('the new price applied too early'));
    if (begun >= moment.getTime()) late += Number(input === '2' || assert.fail('the old price still applied'));
  }
  assert.ok(early > 0 && late > 0, `${early} before, ${late} after`);
});

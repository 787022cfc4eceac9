import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ModelInfo, type Provider, waitForUpdate } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { formatNanos, parseNanos } from '../core/index.ts';
import { decimalOf, listedPrice, multiplyRates } from './price-list.ts';

const NOW = Date.UTC(2026, 10, 15);

async function providers(): Promise<Provider[]> {
  return (await waitForUpdate()) ?? assert.fail('the package contains no prices');
}

/** All prices of a list entry. */
function numbersOf(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  if (typeof value !== 'object' || value === null) return [];
  if ('base' in value && 'tiers' in value)
    return [...numbersOf(value.base), ...(value.tiers as { price: number }[]).map(({ price }) => price)];
  return Object.entries(value).flatMap(([name, inner]) => (name === 'constraint' ? [] : numbersOf(inner)));
}

test('decimalOf converts every price of the list to a decimal that parses to the same number', async () => {
  const numbers = (await providers()).flatMap(({ models }) => models.flatMap(({ prices }) => numbersOf(prices)));
  assert.ok(numbers.length > 3_000, `${numbers.length}`);
  for (const number of numbers) {
    const text = decimalOf(number);
    assert.match(text, /^\d+(\.\d*[1-9])?$/, `${number}`);
    assert.equal(Number(text), number);
    const nanos = parseNanos(text);
    if (nanos !== undefined) assert.equal(formatNanos(nanos), text, 'stored unchanged');
  }
});

test('decimalOf is exact for any number and any shift of the point', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e21, noNaN: true }), (number) => {
      assert.equal(Number(decimalOf(number)), number);
      assert.equal(Number(`${decimalOf(number, 3)}e3`), number);
    }),
  );
  assert.deepEqual(
    [0, 1e-7, 2.5e-9, 10, 14, 1e21, 0.18000000000000002].map((number) => decimalOf(number)),
    ['0', '0.0000001', '0.0000000025', '10', '14', '1000000000000000000000', '0.18000000000000002'],
  );
  assert.deepEqual([decimalOf(10, 3), decimalOf(2.5, 3), decimalOf(1234.5, 3)], ['0.01', '0.0025', '1.2345']);
});

test('listedPrice takes every model of the list exactly or skips it with a reason', async (t) => {
  let [taken, skipped] = [0, 0];
  for (const { id, models } of await providers()) {
    for (const model of models) {
      const price = listedPrice(model, { now: NOW });
      if ('skip' in price) {
        skipped += 1;
        assert.match(price.skip, /\w+ \w+/, `${id} ${model.id}`);
        continue;
      }
      taken += 1;
      for (const { rates } of price.windows)
        for (const [name, text] of Object.entries(rates)) {
          assert.ok(parseNanos(text) !== undefined, `${id} ${model.id} ${name} ${text}`);
          const number = Number(name === 'per_search' ? `${text}e3` : text);
          assert.ok(numbersOf(model.prices).includes(number), `${id} ${model.id} ${name} ${text}`);
        }
    }
  }
  t.diagnostic(`${taken} taken, ${skipped} skipped`);
  assert.ok(taken > 1_400 && skipped > 100);
});

const model = (prices: ModelInfo['prices'], more: Partial<ModelInfo> = {}): ModelInfo => ({
  id: 'm',
  match: { equals: 'm' },
  prices,
  ...more,
});
const TIERED = model({ input_mtok: { base: 3, tiers: [{ start: 200_000, price: 6 }] }, output_mtok: 15 });

test('listedPrice takes a tiered price only when the context excludes the tier or the operator chooses one', () => {
  const price = listedPrice(TIERED, { now: NOW });
  assert.match('skip' in price ? price.skip : '', /length of the input \(it differs above 200000 tokens\)/);
  const input = (options: object, of = TIERED) => {
    const read = listedPrice(of, { now: NOW, ...options });
    return 'skip' in read ? read.skip : read.windows[0]?.rates.input;
  };
  assert.equal(input({ context: 200_000 }), '3');
  assert.match(input({}, { ...TIERED, context_window: 128_000 }) ?? '', /depends/, 'the list contradicts itself');
  assert.match(input({ context: 200_001 }) ?? '', /depends/);
  assert.equal(input({ tiers: 'base' }), '3');
  assert.equal(input({ tiers: 'highest' }), '6');
});

test('listedPrice returns a window for each start date, and skips prices by time of day', () => {
  const dated = model([
    { prices: { input_mtok: 1 } },
    { constraint: { type: 'start_date', start_date: '2026-01-01' }, prices: { input_mtok: 2 } },
    { constraint: { type: 'start_date', start_date: '2027-01-01' }, prices: { input_mtok: 4 } },
  ]);
  assert.deepEqual(listedPrice(dated, { now: NOW }), {
    windows: [{ rates: { input: '2' } }, { from: '2027-01-01T00:00:00.000Z', rates: { input: '4' } }],
    remarks: [],
  });
  const daily = model([
    { prices: { input_mtok: 1 } },
    {
      constraint: { type: 'time_of_date', start_time: '00:30:00Z', end_time: '16:30:00Z' },
      prices: { input_mtok: 2 },
    },
  ]);
  assert.deepEqual(listedPrice(daily, { now: NOW }), { skip: 'its price depends on the time of day' });
});

test('listedPrice skips prices that are not metered, and adds a remark when a price maps to another rate', () => {
  const skip = (prices: Record<string, number>) => {
    const price = listedPrice(model(prices), { now: NOW });
    return 'skip' in price ? price.skip : price;
  };
  assert.match(String(skip({ input_mtok: 1, requests_kcount: 5 })), /requests_kcount/);
  assert.match(String(skip({ audio_hours: 3 })), /audio_hours/);
  assert.match(String(skip({ input_mtok: 0.08333333333333334 })), /more than 9 decimal places/);
  assert.match(String(skip({})), /no price/);
  assert.deepEqual(skip({ input_mtok: 1, web_searches_kcount: 10, cache_audio_read_mtok: 2 }), {
    windows: [{ rates: { input: '1', per_search: '0.01' } }],
    remarks: ['cached audio is billed as cached_input: no provider reports it separately'],
  });
});

test('multiplyRates is exact or skips the model', () => {
  assert.deepEqual(multiplyRates({ input: '0.003625', output: '15' }, 1_150_000n), {
    input: '0.00416875',
    output: '17.25',
  });
  assert.deepEqual(multiplyRates({ input: '0.000000001' }, 1_500_000n), {
    skip: 'its input price 0.000000001 times the multiplier is finer than 10^-9',
  });
});

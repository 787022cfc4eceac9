import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ModelInfo, type Provider, waitForUpdate } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { formatNanos, parseNanos } from '../../core/index.ts';
import { Prices } from '../../schemas/index.ts';
import { amountOf, decimalOf, multiplyRates, singleRates } from './listed-rates.ts';
import { listedPrice } from './price-list.ts';

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

test('listedPrice takes every model with a price that an endpoint can charge, in the form of the configuration', async (t) => {
  const skips: string[] = [];
  let taken = 0;
  for (const { id, models } of await providers()) {
    for (const model of models) {
      const price = listedPrice(model, NOW);
      if ('skip' in price) {
        skips.push(price.skip);
        continue;
      }
      taken += 1;
      const isRounded = price.remarks.some((remark) => remark.includes('rounded'));
      for (const { rates } of price.windows) {
        assert.doesNotThrow(() => Prices.parse(rates), `${id} ${model.id}`);
        for (const [name, text] of singleRates(rates)) {
          const number = Number(/^per_(?!audio)/.test(name) ? `${text}e3` : text);
          const isListed = numbersOf(model.prices).includes(number) || (name === 'output' && number === 0);
          assert.ok(isListed || isRounded, `${id} ${model.id} ${name} ${text}`);
        }
      }
    }
  }
  t.diagnostic(`${taken} taken, ${skips.length} skipped`);
  assert.ok(taken > 1_500);
  const others = skips.filter((skip) => !skip.startsWith('the list gives no price'));
  // Documents and the messages of live voice models.
  for (const skip of others) assert.match(skip, /\((input_\w*document_kpages|input_text_messages_kcount)\)/);
});

const model = (prices: ModelInfo['prices'], more: Partial<ModelInfo> = {}): ModelInfo => ({
  id: 'm',
  match: { equals: 'm' },
  prices,
  ...more,
});

/** Rates and remarks of the price in force, or why there is none. */
function read(prices: ModelInfo['prices']) {
  const price = listedPrice(model(prices), NOW);
  return 'skip' in price ? price.skip : [price.windows[0]?.rates, ...price.remarks];
}

test('listedPrice reads a price by input length as steps', () => {
  const stepped = (base: number, ...tiers: [start: number, price: number][]) => ({
    base,
    tiers: tiers.map(([start, price]) => ({ start, price })),
  });
  const rates = { input_mtok: stepped(3, [200_000, 6], [400_000, 9]), output_mtok: stepped(15, [200_000, 22.5]) };
  assert.deepEqual(read({ ...rates, web_searches_kcount: 10 }), [
    {
      input: '3',
      output: '15',
      per_search: '0.01',
      steps: [
        { above: 200_000, input: '6', output: '22.5' },
        { above: 400_000, input: '9', output: '22.5' },
      ],
    },
  ]);
});

test('listedPrice returns a window for each start date, and the highest price of a day', () => {
  const dated = model([
    { prices: { input_mtok: 1, output_mtok: 1 } },
    { constraint: { type: 'start_date', start_date: '2026-01-01' }, prices: { input_mtok: 2, output_mtok: 1 } },
    { constraint: { type: 'start_date', start_date: '2027-01-01' }, prices: { input_mtok: 4, output_mtok: 1 } },
  ]);
  assert.deepEqual(listedPrice(dated, NOW), {
    windows: [
      { rates: { input: '2', output: '1' } },
      { from: '2027-01-01T00:00:00.000Z', rates: { input: '4', output: '1' } },
    ],
    remarks: [],
  });
  const daily = [
    { prices: { input_mtok: 1, output_mtok: 3 } },
    {
      constraint: { type: 'time_of_date' as const, start_time: '00:30:00Z', end_time: '16:30:00Z' },
      prices: { input_mtok: 2, output_mtok: 3 },
    },
  ];
  const remark = 'the provider charges less at some times of the day; imported is its highest price';
  assert.deepEqual(read(daily), [{ input: '2', output: '3' }, remark]);
});

test('listedPrice skips prices of what no endpoint does, and says where it rounds or adds', () => {
  assert.match(String(read({ input_document_kpages: 1 })), /input_document_kpages/);
  assert.match(String(read({})), /no price/);
  assert.deepEqual(read({ output_mtok: 0.08333333333333334 }), [
    { output: '0.083333334' },
    'output 0.08333333333333334 is rounded up to 0.083333334',
  ]);
  assert.deepEqual(read({ input_mtok: 1, cache_audio_read_mtok: 2, requests_kcount: 5, audio_hours: 3 }), [
    { input: '1', cached_audio_input: '2', per_request: '0.005', per_audio_hour: '3', output: '0' },
    'the list has no price of output, which is imported as 0',
  ]);
});

test('amounts of a list are rounded up to nine places, and multiplied exactly', () => {
  assert.deepEqual(
    [amountOf('1.25'), amountOf('0.0000000001'), amountOf('0.000000019', 1_048_576n)],
    ['1.25', '0.000000001', '0.019922944'],
  );
  assert.deepEqual(decimalOf(1.25e-6, -6), '1.25');
});

test('multiplyRates reaches steps, tiers and tables', () => {
  const rates = {
    input: '0.003625',
    output: '0.000000001',
    steps: [{ above: 200_000, input: '2' }],
    tiers: { flex: { output: '1' } },
    per_image: { '*': '0.04' },
  };
  assert.deepEqual(multiplyRates(rates, 1_150_000n), {
    input: '0.00416875',
    output: '0.000000002',
    steps: [{ above: 200_000, input: '2.3' }],
    tiers: { flex: { output: '1.15' } },
    per_image: { '*': '0.046' },
  });
});

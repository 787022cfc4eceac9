/** The numbers in docs/guides/billing.md, computed by the ledger. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { formatNanos, parsePpm } from '../../core/index.ts';
import { parseRates } from './parse-rates.ts';
import { costOf, maxCostOf } from './rates.ts';

const PAGE = readFileSync(new URL('../../../docs/guides/billing.md', import.meta.url), 'utf8');

interface Example {
  groups: [{ multiplier: string }];
  accounts: [{ cost_multiplier: string }];
  models: [{ prices: object; cost: object }];
}
const { groups, accounts, models } = parse(/```yaml\n([\s\S]*?)```/.exec(PAGE)?.[1] ?? '') as Example;
const factor = (text: string): bigint => BigInt(parsePpm(text) ?? assert.fail(text));
const multiplier = factor(groups[0].multiplier);
const rates = parseRates(models[0].prices);
const usage = { input: 1_500, cacheRead: 1_000, cacheWrite: 0, output: 300 };

const section = (from: string, to: string): string => PAGE.slice(PAGE.indexOf(from), PAGE.indexOf(to));
/** First column -> amount, without emphasis. */
const amountsIn = (text: string): Map<string, string> =>
  new Map([...text.matchAll(/^\| ([^|]+?) \|.*\| \**([\d.]+)\** \|$/gm)].map(([, name = '', sum = '']) => [name, sum]));

test('worked example: the reservation is what admission reserves', () => {
  const facts = { maxInput: 4_000, maxOutput: 1_000 };
  const amounts = amountsIn(section('**Admission.**', '**Charge.**'));
  assert.equal(amounts.get('sum'), formatNanos(maxCostOf(facts, rates, [])));
  assert.equal(amounts.get('maximum input'), formatNanos(maxCostOf({ ...facts, maxOutput: 0 }, rates, [])));
  assert.equal(amounts.get('maximum output'), formatNanos(maxCostOf({ ...facts, maxInput: 0 }, rates, [])));
  assert.equal([...amounts.values()].at(-1), formatNanos(maxCostOf(facts, rates, [multiplier])));
});

test('worked example: the charge and its lines are those of the ledger', () => {
  const amounts = amountsIn(section('**Charge.**', '**Cost and margin.**'));
  const { lines, nanos } = costOf(usage, rates, [multiplier]);
  for (const { part, femtoDollars } of lines)
    assert.equal(amounts.get(`\`${part}\``), formatNanos(femtoDollars / 1_000_000n), part);
  assert.equal(lines.length, 3);
  assert.equal(amounts.get('sum'), formatNanos(costOf(usage, rates, []).nanos));
  assert.equal([...amounts.values()].at(-1), formatNanos(nanos));
});

test('worked example: the cost, the margin and the rest of the reservation add up', () => {
  const text = section('The user pays', '`GET /admin/v1/requests');
  const charge = costOf(usage, rates, [multiplier]).nanos;
  const costRates = parseRates(models[0].cost);
  const cost = costOf(usage, costRates, [factor(accounts[0].cost_multiplier)]).nanos;
  const reserved = maxCostOf({ maxInput: 4_000, maxOutput: 1_000 }, rates, [multiplier]);
  const plainCost = formatNanos(costOf(usage, costRates, []).nanos);
  assert.ok(text.includes(`The user pays ${formatNanos(charge)} dollars`));
  assert.ok(text.includes(`the remaining ${formatNanos(reserved - charge)} of the reservation`));
  assert.ok(text.includes(`at the rates of \`cost\` is ${plainCost} dollars`));
  assert.ok(text.includes(`it is **${formatNanos(cost)}**`));
  assert.ok(text.includes(`${formatNanos(charge)} - ${formatNanos(cost)} = **${formatNanos(charge - cost)}**`));
});

test('worked example: a long prompt is charged by its step, line by line', () => {
  const [, long = ''] = [...PAGE.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text);
  const stepped = parseRates((parse(long) as Pick<Example, 'models'>).models[0].prices);
  const text = section('## A long prompt', '## What costs what');
  const amounts = amountsIn(text);
  const used = {
    input: 260_000,
    cacheRead: 180_000,
    cacheWrite: 40_000,
    cacheWriteLong: 10_000,
    output: 1_200,
    searches: 2,
  };
  const { lines, nanos, above } = costOf(used, stepped, []);
  assert.equal(above, 200_000n);
  for (const { part, femtoDollars } of lines)
    assert.equal(amounts.get(`\`${part}\``), formatNanos(femtoDollars / 1_000_000n), part);
  assert.equal(lines.length, amounts.size - 1);
  assert.equal(amounts.get('charge'), formatNanos(nanos));
  const short = costOf({ ...used, input: 200_000, cacheRead: 120_000 }, stepped, []);
  assert.equal(short.above, undefined);
  assert.ok(text.includes(`the call costs **${formatNanos(short.nanos)}**`), formatNanos(short.nanos));
  assert.ok(text.includes(`costs **${formatNanos(costOf({ ...used, tier: 'priority' }, stepped, []).nanos)}**`));
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fitCosts, fitNonNegative, renderTable } from './fit-token-costs.ts';

test('src/core/token-costs.ts is the table that the fit derives from the corpus', () => {
  const committed = readFileSync(new URL('../src/core/token-costs.ts', import.meta.url), 'utf8');
  assert.equal(committed, renderTable(fitCosts()), 'run "npm run gen -- tokens"');
});

const fitRounded = (rows: readonly Float64Array[]): string[] =>
  Array.from(fitNonNegative(rows, Float64Array.of(1, 1), 1e-9), (cost) => cost.toFixed(3));

test('fitNonNegative finds the costs that give 1 for each row when the ridge is tiny', () => {
  const rows = [Float64Array.of(1, 2), Float64Array.of(3, 1)];
  assert.deepEqual(fitRounded(rows), ['0.200', '0.400']);
});

test('fitNonNegative returns 0 where the best cost is negative', () => {
  // The exact solution is 2 and -1. With the second cost at 0, the best first cost is 3 / 5.
  const rows = [Float64Array.of(1, 1), Float64Array.of(2, 3)];
  assert.deepEqual(fitRounded(rows), ['0.600', '0.000']);
});

test('fitNonNegative keeps the starting cost of a feature that no row contains', () => {
  const costs = fitNonNegative([Float64Array.of(2, 0)], Float64Array.of(1, 7), 0.01);
  assert.equal(costs[1], 7);
});

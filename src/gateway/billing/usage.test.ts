import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_USAGE } from '../../dialects/index.ts';
import { chargedUsage } from './usage.ts';

const estimate = { input: () => 40, output: () => 7 };

test('what a provider reported before its reply broke off is charged, although less is visible', () => {
  const partial = { ...NO_USAGE, input: 30, output: 900, estimated: true };
  assert.deepEqual(chargedUsage(partial, estimate, false), partial);
  const begun = { ...partial, output: 1 };
  assert.deepEqual(chargedUsage(begun, estimate, false), { ...begun, output: 7 });
});

test('a report of zeros for a reply that can be seen counts as none, and one for an empty reply as zero', () => {
  const zeros = { ...NO_USAGE, searches: 2 };
  assert.deepEqual(chargedUsage(zeros, estimate, true), { ...zeros, input: 40, output: 7, estimated: true });
  assert.equal(chargedUsage(zeros, { input: () => 40, output: () => 0 }, true), zeros);
  for (const report of [
    { ...NO_USAGE, input: 1 },
    { ...NO_USAGE, output: 1 },
    { ...NO_USAGE, invalid: 'x' },
  ])
    assert.equal(chargedUsage(report, estimate, true), report);
});

test('a finished reply without output is no estimate when the provider counted its input', () => {
  const silent = { input: () => 40, output: () => 0 };
  const counted = { ...NO_USAGE, input: 30 };
  assert.deepEqual(chargedUsage({ ...counted, estimated: true }, silent, true), counted);
  assert.deepEqual(chargedUsage(undefined, silent, true), { ...NO_USAGE, input: 40, estimated: true });
});

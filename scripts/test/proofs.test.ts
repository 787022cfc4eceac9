import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unprovenNames } from './proofs.ts';

const TESTS = [
  { file: 'test/e2e/crash.test.ts', set: 'all' },
  { file: 'test/e2e/stops.test.ts', set: 'sweeps' },
] as const;
const findings = (text: string) => unprovenNames('page.md', text, TESTS).length;

test('unprovenNames accepts tests of test:all, and others beside their command', () => {
  assert.equal(findings('No [crash](../test/e2e/crash.test.ts) loses a charge.'), 0);
  assert.equal(findings('See `stops.test.ts` (`npm run test:all -- --sweeps`).'), 0);
});

test('unprovenNames reports tests that only a sweep runs, also when another row names its command, and tests that are gone', () => {
  assert.equal(findings('It stops: [test](../test/e2e/stops.test.ts).'), 1);
  assert.equal(findings('| `stops.test.ts` |\n| `npm run test:all -- --sweeps` |'), 1);
  assert.equal(findings('See `gone.test.ts`.'), 1);
});

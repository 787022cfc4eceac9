import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { clauseFindings, readClauses, readClauseTests } from '../clauses.ts';
import { ALL_ONLY, SWEEPS, testFiles } from './files.ts';

test('npm test has a test of every clause', () => {
  const files = testFiles('quick');
  const quick = readClauseTests().filter(({ file, isLong }) => files.includes(file) && !isLong);
  assert.deepEqual(clauseFindings(readClauses(), quick), []);
});

test('each file belongs to npm test, to test:all, to the sweeps or to the tests of load', () => {
  assert.deepEqual(
    [...Object.keys(ALL_ONLY), ...Object.keys(SWEEPS)].filter((file) => !existsSync(file)),
    [],
  );
  const [quick, all, load] = (['quick', 'all', 'load'] as const).map(testFiles) as [string[], string[], string[]];
  assert.deepEqual(all, [...quick, ...Object.keys(ALL_ONLY)].sort());
  assert.deepEqual(
    all.filter((file) => load.includes(file) || SWEEPS[file] !== undefined),
    [],
  );
});

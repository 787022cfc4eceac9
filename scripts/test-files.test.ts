import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { clauseFindings, readClauses, readClauseTests } from './clauses.ts';
import { ALL_ONLY, testFiles } from './test-files.ts';

test('npm test has a test of every clause', () => {
  const quick = readClauseTests().filter(({ file }) => ALL_ONLY[file] === undefined);
  assert.deepEqual(clauseFindings(readClauses(), quick), []);
});

test('each file belongs to npm test, to test:all or to the tests of load', () => {
  assert.deepEqual(
    Object.keys(ALL_ONLY).filter((file) => !existsSync(file)),
    [],
  );
  const [quick, all, load] = (['quick', 'all', 'load'] as const).map(testFiles) as [string[], string[], string[]];
  assert.deepEqual(all, [...quick, ...Object.keys(ALL_ONLY)].sort());
  assert.deepEqual(
    all.filter((file) => load.includes(file)),
    [],
  );
});

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { readClauseTests } from './clauses.ts';
import { ALL_ONLY, testFiles } from './test-files.ts';

test('npm test has a test of every clause that test:all has', () => {
  const tests = readClauseTests();
  const quick = tests.filter(({ file }) => ALL_ONLY[file] === undefined).flatMap(({ clauses }) => clauses);
  // A test of one of its rules proves a section, too.
  const isProven = (clause: string): boolean => quick.some((one) => one === clause || one.startsWith(`${clause} r`));
  assert.deepEqual(
    tests.flatMap(({ clauses }) => clauses).filter((clause) => !isProven(clause)),
    [],
  );
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

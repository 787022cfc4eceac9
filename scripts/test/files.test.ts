// set: quick; its examples only name kills
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clauseFindings, readClauses, readClauseTests } from '../clauses.ts';
import { misplacedTests, setOf, testFiles } from './files.ts';

test('npm test has a test of every clause', () => {
  const files = testFiles('quick');
  const quick = readClauseTests().filter(({ file, isLong }) => files.includes(file) && !isLong);
  assert.deepEqual(clauseFindings(readClauses(), quick), []);
});

test('the first line of a test file names its set', () => {
  assert.equal(setOf('// set: sweeps; plans of queries\nimport'), 'sweeps');
  for (const text of ['import', '// set: some; why', '// set: all', '/** x */\n// set: all; why'])
    assert.equal(setOf(text), undefined, text);
});

test('misplacedTests reports files that kill processes, or whose mark is not read, without a set', () => {
  const kills = "child.kill('SIGKILL');";
  for (const text of [kills, "import { CrashLane } from '../support/crash-lane.ts';", 'import\n// set: all; why'])
    assert.equal(misplacedTests({ file: 'a.test.ts', text }).length, 1, text);
  for (const text of [`// set: quick; one process\n${kills}`, "child.kill('SIGTERM');"])
    assert.deepEqual(misplacedTests({ file: 'a.test.ts', text }), []);
});

test('test:all contains npm test, and neither sweeps nor tests of load', () => {
  const all = testFiles('all');
  assert.deepEqual(
    testFiles('quick').filter((file) => !all.includes(file)),
    [],
  );
  assert.deepEqual(
    [...testFiles('sweeps'), ...testFiles('load')].filter((file) => all.includes(file)),
    [],
  );
});

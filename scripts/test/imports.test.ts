import assert from 'node:assert/strict';
import { test } from 'node:test';
import { distancesFrom, needServices, testsOf } from './imports.ts';

test('needServices starts PostgreSQL only for tests that reach the fixture of databases', () => {
  assert.ok(!needServices(['src/core/money.test.ts', 'scripts/test/imports.test.ts']));
  for (const file of ['src/ledger/alarms.db.test.ts', './test/e2e/models.test.ts'])
    assert.ok(needServices(['src/core/money.test.ts', file]), file);
});

test('distancesFrom counts imports, also in circles, and finds the modules that name another file', () => {
  const modules = [
    { file: 'a.ts', text: 'x', imports: ['b.ts'] },
    { file: 'b.ts', text: "read('table.sql')", imports: ['c.ts'] },
    { file: 'c.ts', text: 'x', imports: ['b.ts'] },
    { file: 'd.ts', text: 'x', imports: [] },
  ];
  assert.deepEqual(
    [...distancesFrom(['c.ts'], modules)],
    [
      ['c.ts', 0],
      ['b.ts', 1],
      ['a.ts', 2],
    ],
  );
  assert.deepEqual([...distancesFrom(['sql/table.sql'], modules).keys()], ['b.ts', 'a.ts', 'c.ts']);
});

test('testsOf begins with the test of the changed module', () => {
  const files = ['src/gateway/next-step.test.ts', 'src/core/money.test.ts', 'test/e2e/models.test.ts'];
  assert.deepEqual(testsOf(['src/core/money.ts'], files)[0], 'src/core/money.test.ts');
  assert.deepEqual(testsOf(['scripts/gen.ts'], files), []);
});

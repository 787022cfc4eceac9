import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clauseFindings } from './check-clauses.ts';
import { clauseTests, compareClauses, definedClauses } from './clauses.ts';

test('clauseTests reads clauses, topics and titles, and nothing but titles of tests', () => {
  const source = [
    "test('V 4.2 r3: a task is created', () => {});",
    'test(',
    "  'V 4.2 r3, r4: it\\'s sent once', run);",
    "test.skip('V 4.4, V 8: limits hold', run);",
    "test('V 4.1 image, audio: formats', run);",
    ['test(`G 4.1: $', '{`a $', '{b}`} and $', '{c} pass`, run);'].join(''),
    "test('tasks are created', run);",
    "assert.ok(x, 'V 2: not a title');",
    "// test('V 3: in a comment')",
  ].join('\n');
  assert.deepEqual(clauseTests(source), [
    { clauses: ['V 4.2 r3'], title: 'a task is created', line: 1 },
    { clauses: ['V 4.2 r3', 'V 4.2 r4'], title: "it's sent once", line: 3 },
    { clauses: ['V 4.4', 'V 8'], title: 'limits hold', line: 4 },
    { clauses: ['V 4.1'], title: 'image, audio: formats', line: 5 },
    { clauses: ['G 4.1'], title: '... and ... pass', line: 6 },
  ]);
});

test('compareClauses sorts by document, section and rule', () => {
  const sorted = ['G 4.2', 'G 4.10', 'V 0', 'V 4', 'V 4 r1', 'V 4.1', 'V 4.1 r2', 'V 4.1 r10', 'V 4.6.1', 'V 5'];
  assert.deepEqual(sorted.toReversed().sort(compareClauses), sorted);
});

test('definedClauses finds numbered sections and their rules', () => {
  const page = '# Title\n1. x\n## 4. A\n### Unnumbered\n1. rule\n### 4.2 B\n10. rule\n  1. nested\n';
  assert.deepEqual([...definedClauses('V', page)], ['V 0', 'V 0 r1', 'V 4', 'V 4 r1', 'V 4.2', 'V 4.2 r10']);
});

test('clauseFindings reports unknown clauses and required ones without a test', () => {
  const tests = [
    { clauses: ['V 4.2 r1'], title: '', file: 'a.test.ts', line: 3 },
    { clauses: ['V 9.9'], title: '', file: 'a.test.ts', line: 4 },
  ];
  assert.deepEqual(clauseFindings(tests, ['V 4.2', 'V 4.3', 'V 7'], new Set(['V 4.2', 'V 4.2 r1', 'V 4.3'])), [
    'a.test.ts:4: V 9.9 is not in the contract',
    'V 4.3: no title of a test starts with this clause',
    'V 7 is required, but is not in the contract',
  ]);
});

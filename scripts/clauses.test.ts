import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clauseFindings, clauseTests, definedClauses } from './clauses.ts';

test('clauseTests reads the clauses at the start of titles of tests, and nothing else', () => {
  const source = [
    "test('V 4.2 r3: a task is created', () => {});",
    'longTest(',
    "  'V 4.2 r3, r4: it\\'s sent once', run);",
    "test.skip('V 4.4, V 8: limits hold', run);",
    "test('V 4.1 image, audio: formats', run);",
    ['test(`G 4.1: $', '{`a $', '{b}`} and $', '{c} pass`, run);'].join(''),
    ['test(`G 4.2 $', '{topic}: passes`, run);'].join(''),
    "test('tasks are created', run);",
    "assert.ok(x, 'V 2: not a title');",
    "// test('V 3: in a comment')",
  ].join('\n');
  assert.deepEqual(clauseTests(source), [
    { clauses: ['V 4.2 r3'], line: 1, isLong: false },
    { clauses: ['V 4.2 r3', 'V 4.2 r4'], line: 3, isLong: true },
    { clauses: ['V 4.4', 'V 8'], line: 4, isLong: false },
    { clauses: ['V 4.1'], line: 5, isLong: false },
    { clauses: ['G 4.1'], line: 6, isLong: false },
    { clauses: ['G 4.2'], line: 7, isLong: false },
  ]);
});

test('definedClauses finds numbered sections and their rules, each with its beginning', () => {
  const page = [
    '# Title\n\nWords of the page. More.\n',
    '## 4. Endpoints\n',
    '### 4.1 Paths\n\n1. First *(our choice)* rule,\n   on two lines. More.\n2. Second\n',
    '### Unnumbered\n\n1. Another first\n',
    `### 4.2 B\n\nText. More.\n\n10. ${'a '.repeat(40)}\`b${' c'.repeat(40)}\`\n`,
  ];
  assert.deepEqual(
    definedClauses('V', page.join('\n')).map(({ id, demand, isHeading }) => [id, demand, isHeading]),
    [
      ['V 0', 'Title: Words of the page. More.', false],
      ['V 4', 'Endpoints', true],
      ['V 4.1', 'Paths', false],
      ['V 4.1 r1', 'First rule, on two lines. More.', false],
      ['V 4.1 r2', 'Second', false],
      ['V 4.2', 'B: Text. More.', false],
      ['V 4.2 r10', `${'a '.repeat(40)}...`, false],
    ],
  );
});

test('clauseFindings reports unknown clauses, and clauses without a test', () => {
  const clause = (id: string, isHeading = false) => ({ id, demand: '', isHeading });
  const clauses = [clause('V 4', true), clause('V 4.2', true), clause('V 4.2 r1'), clause('V 4.3'), clause('V 4.3 r1')];
  const tests = [
    { clauses: ['V 4.2 r1', 'V 4.3 r1'], file: 'a.test.ts', line: 3, isLong: false },
    { clauses: ['V 9.9'], file: 'a.test.ts', line: 4, isLong: false },
  ];
  assert.deepEqual(clauseFindings(clauses, tests), [
    'a.test.ts:4: V 9.9 is not in the contract',
    'V 4.3: no title of a test starts with this clause',
  ]);
});

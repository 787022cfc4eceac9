import assert from 'node:assert/strict';
import { test } from 'node:test';
import { circles } from './check-circles.ts';
import { duplicateExports, unusedExports } from './check-exports.ts';
import { codeOnly } from './source-tokens.ts';

test('codeOnly blanks comments, strings, templates and regular expressions, and keeps positions', () => {
  const source = ["a('x'); // b\nc = `d$", "{e + `f`}g` / h; /* i */ j(/'[/]k/g);"].join('');
  assert.equal(codeOnly(source).length, source.length);
  assert.equal(codeOnly(source).replaceAll(/ +/g, ' '), 'a( ); \nc = e + / h; j( );');
});

test('circles returns one closed path per circle', () => {
  const modules = [
    { file: 'a', imports: ['b'] },
    { file: 'b', imports: ['c'] },
    { file: 'c', imports: ['b', 'd'] },
    { file: 'd', imports: [] },
  ];
  assert.deepEqual(circles(modules), [['b', 'c', 'b']]);
});

test('duplicateExports accepts a name in several dialects, once in each', () => {
  const code = 'export const read = 1;';
  assert.deepEqual(
    duplicateExports([
      { file: 'src/dialects/chat/a.ts', code },
      { file: 'src/dialects/messages/a.ts', code },
    ]),
    [],
  );
});

test('duplicateExports reports a name used twice in a dialect, or in a dialect and elsewhere', () => {
  const code = 'export interface Usage {}';
  const chat = { file: 'src/dialects/chat/a.ts', code };
  for (const file of ['src/dialects/chat/b.ts', 'src/core/usage.ts'])
    assert.deepEqual(duplicateExports([chat, { file, code }]), [
      `Usage is exported by src/dialects/chat/a.ts, ${file}`,
    ]);
});

test('unusedExports reports a name that only its declaration and an index.ts contain', () => {
  const modules = [
    { file: 'src/a/one.ts', code: 'export const dead = 1;\nexport const alive = 2;' },
    { file: 'src/a/index.ts', code: "export { alive, dead } from './one.ts';" },
    { file: 'src/b/two.ts', code: 'print(alive);' },
  ];
  assert.deepEqual(unusedExports(modules), ['src/a/one.ts: dead is exported and never used']);
});

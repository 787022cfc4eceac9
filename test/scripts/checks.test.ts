import assert from 'node:assert/strict';
import { test } from 'node:test';
import { duplicateExports, unusedExports } from '../../scripts/check-exports.ts';
import { racingTests } from '../../scripts/check-waits.ts';
import { sizesOf } from '../../scripts/sizes.ts';
import { codeOnly } from '../../scripts/source-tokens.ts';

test('codeOnly blanks comments, strings, templates and regular expressions, and keeps positions', () => {
  const source = ["a('x'); // b\nc = `d$", "{e + `f`}g` / h; /* i */ j(/'[/]k/g);"].join('');
  assert.equal(codeOnly(source).length, source.length);
  assert.equal(codeOnly(source).replaceAll(/ +/g, ' '), 'a( ); \nc = e + / h; j( );');
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

/** The lines of a test file that depend on the speed of the machine. */
const racingLines = (...lines: string[]): number[] =>
  racingTests({ file: 'a.test.ts', code: lines.join('\n') }).map((finding) => Number(finding.split(':')[1]));

test('racingTests reports assertions that bound elapsed time from above', () => {
  const begun = 'const begun = performance.now();';
  assert.deepEqual(racingLines(begun, 'assert.ok(performance.now() - begun < 2_000);'), [2]);
  assert.deepEqual(racingLines(begun, 'const ms = performance.now() - begun;', 'assert.ok(isDone && 900 >= ms);'), [3]);
  assert.deepEqual(racingLines('assert.ok(Math.abs(wait - (month - Date.now()) / 1000) < 60);'), [1]);
  const msOf = ['async function msOf(run) {', begun, 'await run();', 'return performance.now() - begun;', '}'];
  assert.deepEqual(racingLines(...msOf, 'const took = await msOf(work);', 'assert(took < 10, text(took));'), [7]);
  assert.deepEqual(racingLines(begun, 'reply({ status, ms: performance.now() - begun });', 'assert.ok(ms < 5);'), [3]);
});

test('racingTests accepts lower bounds, moments between two others, and limits that grow with the measured time', () => {
  const begun = 'const begun = Date.now();';
  assert.deepEqual(racingLines(begun, 'assert.ok(Date.now() - begun >= 80);'), []);
  assert.deepEqual(racingLines(begun, 'assert.ok(sentAt >= begun && sentAt <= Date.now());'), []);
  assert.deepEqual(
    racingLines(begun, 'const refilled = (Date.now() - begun) / 1_000;', 'assert.ok(admitted <= 60 + refilled);'),
    [],
  );
  assert.deepEqual(racingLines(begun, 'assert.ok(rows < 5, told(Date.now() - begun));'), []);
});

test('racingTests reports limits that are shorter than hanging takes', () => {
  const until = (limit: string): string => `await until(\n  name,\n  () => isDone(1, 2)${limit},\n);`;
  assert.deepEqual(racingLines(until(', 5_000'), until(''), until(', 600_000')), [1]);
  assert.deepEqual(racingLines('const END_MS = 60_000;', until(', END_MS')), [2]);
  assert.deepEqual(
    racingLines('test(name, { timeout: 30_000 }, run);', 'fetch(url, AbortSignal.timeout(100));'),
    [1, 2],
  );
  assert.deepEqual(racingLines('test(name, { timeout: 600_000 }, run);'), []);
});

test('sizesOf counts the rooms of src and the other folders, and every test as one', () => {
  const sizes = sizesOf([
    { file: 'test/e2e/a.ts', text: 'one\n' },
    { file: 'src/video/a.ts', text: 'one\n\n// three\n' },
    { file: 'src/video/a.test.ts', text: 'one\n' },
    { file: 'src/access/people/a.ts', text: 'one\n' },
    { file: 'src/access/a.ts', text: 'one\n2\n3\n' },
    { file: 'src/access/b.ts', text: 'one\ntwo\n' },
  ]);
  assert.deepEqual(sizes, [
    { place: 'src/access', lines: 6, characters: 20, medianLines: 2 },
    { place: 'src/video', lines: 3, characters: 14, medianLines: 3 },
    { place: 'test', lines: 2, characters: 8, medianLines: 1 },
  ]);
});

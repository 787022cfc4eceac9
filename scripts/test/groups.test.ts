import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { longTest } from '../../test/support/long-test.ts';
import { groupTests } from './groups.ts';

const folder = mkdtempSync(join(tmpdir(), 'dragoman-groups-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

test('groupTests leaves files alone that change or measure their process, or await while they load', () => {
  const alone = [
    write('env.test.ts', "process.env.HTTP_PROXY = 'x';"),
    write('memory.test.ts', 'const { heapUsed } = process.memoryUsage();'),
    write('fetch.test.ts', 'globalThis.fetch = fake;'),
    write('load.test.ts', 'const sim = await startSim();'),
  ];
  const shared = [
    write('a.test.ts', "test('x', async () => {\n  await y();\n});"),
    write('b.test.ts', 'const one = async () => await y(process.env.PATH);'),
  ];
  const { paths, members } = groupTests([...alone, ...shared], folder);
  const group = paths.at(-1) ?? '';
  assert.deepEqual(paths.slice(0, -1), alone);
  assert.deepEqual(members.toSorted(), shared);
  for (const file of shared) assert.ok(readFileSync(group, 'utf8').includes(JSON.stringify(file)));
});

test('hooks of a file in a group apply only to its tests', async () => {
  const files = ['c', 'd'].map((name) =>
    write(
      `${name}.test.mjs`,
      `import { after, before, beforeEach, test } from 'node:test';
       const seen = [];
       before(() => seen.push('before'));
       beforeEach((t) => seen.push(t.name));
       after(() => console.log('${name}: ' + seen.join()));
       test('${name}1', () => {});
       test('${name}2', () => {});`,
    ),
  );
  const [group = ''] = groupTests(files, folder).paths;
  const { NODE_TEST_CONTEXT: _inherited, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, [group], { env });
  assert.deepEqual(stdout.match(/[cd]: .*/g), ['d: before,d1,d2', 'c: before,c1,c2']);
});

longTest('a file that ends its process fails by name, and those that had not run run alone', async () => {
  const files = ['e', 'f', 'g'].map((name) =>
    write(
      `${name}.test.mjs`,
      `import { test } from 'node:test'; test('of ${name}', () => ${name === 'f' ? 'process.exit(0)' : '{}'});`,
    ),
  );
  const { NODE_TEST_CONTEXT: _inherited, ...env } = process.env;
  const run = promisify(execFile)(process.execPath, ['scripts/test.ts', '--grouped', ...files], { env });
  const { stdout, code } = await run.then(
    (passed) => ({ ...passed, code: 0 }),
    (failed: { readonly stdout: string; readonly code: number }) => failed,
  );
  assert.equal(code, 1, stdout);
  assert.match(stdout, /The process of 2 test files ended while \S+\/f\.test\.mjs ran/);
  assert.match(stdout, /2 files did not end in their group.*\n.*f\.test\.mjs\n.*e\.test\.mjs/);
  assert.match(stdout, /✔ of e/);
});

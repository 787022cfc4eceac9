import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
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
  const written = groupTests([...alone, ...shared], folder);
  const group = written.at(-1) ?? '';
  assert.deepEqual(written.slice(0, -1), alone);
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
  const [group = ''] = groupTests(files, folder);
  const { NODE_TEST_CONTEXT: _inherited, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, [group], { env });
  assert.deepEqual(stdout.match(/[cd]: .*/g), ['d: before,d1,d2', 'c: before,c1,c2']);
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { isProcessAlive } from '../../src/core/index.ts';
import { longTest } from '../../test/support/long-test.ts';
import { until } from '../../test/support/wait.ts';
import { startedProcesses } from './processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'dragoman-interrupt-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('startedProcesses finds what a run started, also when its parent has ended, and nothing else', () => {
  const entries = [
    { pid: 10, parent: 1, command: 'node scripts/test.ts' },
    { pid: 11, parent: 10, command: 'node group-01.test.mjs' },
    { pid: 12, parent: 11, command: 'chromium' },
    { pid: 20, parent: 1, command: 'postgres -D /run/dragoman-tests-a/data' },
    { pid: 21, parent: 20, command: 'postgres: checkpointer' },
    { pid: 30, parent: 1, command: 'postgres -D /run/dragoman-tests-b/data' },
    { pid: 31, parent: 30, command: 'postgres: checkpointer' },
  ];
  assert.deepEqual(startedProcesses(entries, '/run/dragoman-tests-a', 10).toSorted(), [11, 12, 20, 21]);
});

longTest('Ctrl-C ends the runner, PostgreSQL and what a test started, and removes its folder', async () => {
  const started = join(folder, 'started');
  const file = join(folder, 'hang.test.mjs');
  writeFileSync(
    file,
    `import { spawn } from 'node:child_process';
     import { renameSync, writeFileSync } from 'node:fs';
     import { test } from 'node:test';
     test('hangs beside a process that ignores the signal', () => {
       if (!process.env.TEST_DATABASE_URL) throw new Error('no PostgreSQL');
       const child = spawn(process.execPath, ['-e', "process.on('SIGINT', () => {}); setInterval(() => {}, 1e6)"], { detached: true });
       writeFileSync('${started}.new', child.pid + ' ' + process.pid);
       renameSync('${started}.new', '${started}');
       return new Promise((resolve) => setTimeout(resolve, 1e8));
     });`,
  );
  const { NODE_TEST_CONTEXT: _inherited, ...env } = process.env;
  const runner = spawn(process.execPath, ['scripts/test.ts', file], {
    env: { ...env, TMPDIR: folder },
    stdio: 'ignore',
  });
  await until('the test', () => existsSync(started));
  const pids = readFileSync(started, 'utf8').split(' ').map(Number);
  runner.kill('SIGINT');
  const [code] = await once(runner, 'exit');
  assert.equal(code, 130);
  for (const pid of pids) await until(`the end of ${pid}`, () => !isProcessAlive(pid));
  assert.deepEqual(readdirSync(folder).toSorted(), ['hang.test.mjs', 'started']);
});

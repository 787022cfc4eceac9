// set: all; a new process and PostgreSQL
/** A server whose launcher was killed: no signal can reach it from there, so it has to end by itself. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createFolder, removeFolder } from '../support/embedded.ts';
import { until } from '../support/wait.ts';

let folder: string;
before(async () => {
  folder = await createFolder();
});
after(() => removeFolder(folder));

test('CLI a server ends when the launcher that started it was killed', {
  skip: process.platform === 'win32',
}, async () => {
  const dataDir = join(folder, 'orphan');
  const launcher = spawn(
    'sh',
    ['-c', `DRAGOMAN_LAUNCHER=$$ "${process.execPath}" bin/dragoman.js serve & echo $!; wait`],
    {
      env: { ...process.env, DATA_DIR: dataDir, PORT: '0', DEMO: 'off', WORKERS: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let printed = '';
  for (const output of [launcher.stdout, launcher.stderr])
    output.on('data', (text) => {
      printed += text;
    });
  await until('the server listens', () => /^Dragoman is ready at/m.test(printed));
  const pid = Number(/^\d+$/m.exec(printed)?.[0]);
  const isAlive = (): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  assert.ok(isAlive());
  launcher.kill('SIGKILL');
  await until('the server has ended', () => !isAlive());
});

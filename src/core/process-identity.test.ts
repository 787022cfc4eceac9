// set: quick; one small process
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { until } from '../../test/support/wait.ts';
import { isProcessAlive, isProcessDead, ownIdentity } from './process-identity.ts';

test('isProcessAlive() follows the life of a process', async () => {
  assert.equal(isProcessAlive(process.pid), true);
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  const { pid = 0 } = child;
  assert.equal(isProcessAlive(pid), true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(isProcessAlive(pid), false);
});

test('isProcessAlive() counts a zombie as dead', { skip: process.platform !== 'linux' }, async () => {
  // The shell replaces itself by `sleep`, which never waits for the background job. Before that the shell would.
  const parent = spawn('/bin/sh', ['-c', 'sleep 30 & echo $!; exec sleep 30'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [output] = await once(parent.stdout, 'data');
  const pid = Number(output);
  try {
    await until('the shell to be replaced', () =>
      readFileSync(`/proc/${parent.pid}/cmdline`, 'utf8').startsWith('sleep'),
    );
    process.kill(pid, 'SIGKILL');
    await until('the end of the job', () => !isProcessAlive(pid));
    assert.doesNotThrow(() => process.kill(pid, 0), 'the process id is still in use');
  } finally {
    parent.kill('SIGKILL');
  }
});

test('isProcessDead() distinguishes a process from a later one with the same id', () => {
  const own = ownIdentity();
  const isKnown = own.start !== '';
  assert.equal(isProcessDead(own), isKnown ? false : undefined);
  assert.equal(isProcessDead({ ...own, start: `${own.start}0` }), isKnown ? true : undefined);
  assert.equal(isProcessDead({ ...own, start: '' }), undefined);
  assert.equal(isProcessDead({ ...own, pid: 2 ** 22 + 1 }), true);
});

test('isProcessDead() returns undefined for a process of another host', () => {
  assert.equal(isProcessDead({ ...ownIdentity(), host: 'other', pid: 2 ** 22 + 1 }), undefined);
});

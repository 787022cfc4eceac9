import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
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
  // The shell replaces itself by `sleep`, which never waits for the background job.
  const parent = spawn('/bin/sh', ['-c', 'sleep 0 & echo $!; exec sleep 30'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [output] = await once(parent.stdout, 'data');
  const pid = Number(output);
  try {
    for (let n = 0; n < 500 && isProcessAlive(pid); n += 1) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(isProcessAlive(pid), false);
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

// set: quick; one process, for the first command of the README
/** The demo that a first start prints. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../../bench/child.ts';
import { createFolder, removeFolder } from '../support/embedded.ts';
import { longTest } from '../support/long-test.ts';
import { launch } from '../support/process.ts';

const run = promisify(execFile);
const folder = await createFolder();
after(() => removeFolder(folder));

const env = { DATA_DIR: join(folder, 'data'), PORT: '0', LOG_LEVEL: 'warn' };
const commandsIn = (output: string): string[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('  curl '))
    .map((line) => line.trim());

/** What the first start prints. */
let keys: string[] = [];
let tokens: string[] = [];

test('demo: every command printed at the first start works as pasted', async (t) => {
  const first = launch(['serve'], env);
  t.after(() => first.stop('SIGKILL'));
  await first.until(/models that a key may use\n.*\n/);
  const commands = commandsIn(first.output());
  assert.ok(commands.length >= 11, `only ${commands.length} commands`);
  for (const command of commands) {
    const { stdout } = await run('bash', ['-c', `set -o pipefail; ${command}`], { cwd: folder });
    if (command.includes('| tee task.json')) assert.match(stdout, /^\{"id":"task_\w+"\}$/, command);
    else if (command.includes('public-characters')) assert.match(stdout, /"public_character"/, command);
    else if (!/lamp\.(?:png|mp4)['" ]*(?:$|-o)|> lamp\.png|-o lamp/.test(command))
      assert.match(stdout, /demo-/, command);
    if (command.includes('text/event-stream')) assert.match(stdout, /"status":"succeeded"/, command);
    assert.doesNotMatch(stdout, /"error":\{/, command);
  }
  assert.equal(readFileSync(join(folder, 'lamp.png')).subarray(1, 4).toString(), 'PNG');
  assert.equal(readFileSync(join(folder, 'lamp.mp4')).subarray(4, 8).toString(), 'ftyp', 'a real MP4');
  keys = [...first.output().matchAll(/\bdg-[0-9A-Za-z]{49}\b/g)].map(([key]) => key);
  assert.equal(new Set(keys).size, 3);
  tokens = [...first.output().matchAll(/\bdga-[0-9A-Za-z]{43}\b/g)].map(([token]) => token);
  assert.equal(new Set(tokens).size, 1, 'one admin token');
  assert.equal(await first.stop(), 0);
});

longTest('demo: the second start shows no key, and those of the first work', async (t) => {
  const DEMO_PORT = String(await freePort());
  const second = launch(['serve'], { ...env, DEMO_PORT });
  t.after(() => second.stop('SIGKILL'));
  const [, url] = await second.until(/ready at (http:\S+)/);
  await second.until(/shown at the first start/);
  assert.match(second.output(), new RegExp(`^Simulated providers listen at http://127.0.0.1:${DEMO_PORT};`, 'm'));
  assert.doesNotMatch(second.output(), /\bdga?-/);
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${keys[0]}` } });
  assert.equal(response.status, 200, 'the first keys still work');
  const balances = await fetch(`${url}/admin/v1/balances`, { headers: { authorization: `Bearer ${tokens[0]}` } });
  assert.equal(balances.status, 200, 'the admin token still works');
  assert.equal(await second.stop(), 0);
});

// set: sweeps; a stop that waits for a stream of 15 s
/** A stop after a reload with a longer drain, as real processes: the primary waits as long as its workers were promised. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startSim } from '../../sim/index.ts';
import { Command, run } from '../support/command.ts';
import { testDatabase } from '../support/database.ts';

const KEY = 'reload-drain-test-key';
/** Longer than the primary waits beyond the drain. */
const LONG = 'demo-messages@events=150;gap=100';

test('a stop takes as long as the settings of the last reload allow', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-reload-drain-'));
  const [sim, database] = await Promise.all([startSim(), testDatabase()]);
  t.after(async () => {
    await database.drop();
    await sim.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const setup = {
    groups: [{ id: 'claude', style: 'messages' }],
    accounts: [{ id: 'cl1', group: 'claude', base_url: sim.url, api_key: 'sk-upstream' }],
    models: [{ id: 'demo-*', groups: ['claude'], free: true }],
    users: [{ id: 'ann', balance: '1' }],
    keys: [{ user: 'ann', group: 'claude', key: KEY }],
  };
  writeFileSync(join(folder, 'setup.json'), JSON.stringify(setup));
  const env = {
    DATABASE_URL: database.url,
    DATA_DIR: join(folder, 'data'),
    MASTER_KEY: `k1:${'reload-drain-master-key-'.repeat(2)}`,
    WORKERS: '2',
    DRAIN_MS: '100',
    HEALTH_PORT: '0',
  };
  const server = new Command(['serve', '--config', join(folder, 'setup.json')], { env });
  const origin = await server.ready();
  const reloaded = await run(['reload'], { env: { ...env, DRAIN_MS: '60000' } });
  assert.equal(reloaded.code, 0, reloaded.stderr);
  const response = await fetch(`${origin}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: LONG,
      max_tokens: 200,
      stream: true,
      messages: [{ role: 'user', content: 'x' }],
    }),
  });
  const [{ code }, body] = await Promise.all([server.stop(), response.text()]);
  assert.match(body, /event: message_stop/);
  assert.equal(code, 0);
});

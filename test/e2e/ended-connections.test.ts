// set: all; real servers under load; lost-connections.test.ts strikes every kind of connection
/** Servers whose connections to PostgreSQL are ended a hundred times under load, as a restart does: no process ends, and calls are charged once. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startSim } from '../../sim/index.ts';
import { connect } from '../../src/platform/db/index.ts';
import { testDatabase } from '../support/database.ts';
import { launch } from '../support/process.ts';
import { SteadyLoad } from '../support/steady-load.ts';
import { until } from '../support/wait.ts';

const ROUNDS = Number(process.env.ENDED_ROUNDS ?? 100);
/** Between two rounds, so that connections are opened, idle or busy when they end. */
const PAUSE_MS = 40;
const KEY = 'key-of-the-ended-connections-0000';

for (const workers of [1, 2])
  test(`no process ends with its connections, and no call fails: ${workers} workers`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'dragoman-ended-'));
    const [sim, own] = await Promise.all([startSim(), testDatabase()]);
    const setupFile = join(directory, 'setup.json');
    writeFileSync(setupFile, JSON.stringify(setup(sim.url)));
    const server = launch(['serve', '--config', setupFile], {
      HOST: '127.0.0.1',
      PORT: '0',
      DEMO: 'off',
      DRAIN_MS: '1000',
      USAGE_FLUSH_MS: '200',
      WORKERS: String(workers),
      MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}`,
      DATA_DIR: join(directory, 'data'),
      DATABASE_URL: own.url,
    });
    const admin = await connect(own.url);
    try {
      const [, url = ''] = await server.until(/Dragoman is ready at (\S+)/);
      const load = new SteadyLoad(url, KEY);
      let ended = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const { rowCount } = await admin.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        );
        ended += rowCount ?? 0;
        await pause(PAUSE_MS);
      }
      const failures = await load.stop();
      t.diagnostic(
        `${ROUNDS} rounds ended ${ended} connections; ${load.served} calls, ${load.refused} refused once, ${failures.length} failed`,
      );
      assert.doesNotMatch(server.output(), /process\.panic|worker\.ended/);
      assert.equal(server.child.exitCode, null, server.output().slice(0, 6_000));
      assert.deepEqual(failures.slice(0, 10), []);
      await until('a record of every call', async () => {
        const { rows } = await admin.query<{ calls: bigint }>('select count(*) as calls from usage_records');
        return Number(rows[0]?.calls) === load.served;
      });
    } finally {
      await server.stop();
      await admin.end();
      await sim.close();
      // Fails when the ledger does not add up.
      await own.drop();
      rmSync(directory, { recursive: true, force: true });
    }
  });

const setup = (url: string): object => ({
  groups: [{ id: 'claude', style: 'messages' }],
  accounts: [{ id: 'cl1', group: 'claude', base_url: url, api_key: 'sk-upstream', max_concurrency: 100 }],
  models: [{ id: 'demo-messages', groups: ['claude'], prices: { input: '3', output: '15' } }],
  users: [{ id: 'ana', balance: '1000' }],
  keys: [{ user: 'ana', group: 'claude', key: KEY }],
});

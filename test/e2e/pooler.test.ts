// set: quick; ends PgBouncer, which starts at once
/** PgBouncer in front of PostgreSQL: refused in transaction mode without a direct URL, and complete with one. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { findProgram, freePort } from '../../bench/child.ts';
import { type Sim, startSim } from '../../sim/index.ts';
import { runHere } from '../support/cli.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { isRoot, NOBODY } from '../support/embedded.ts';
import { basicSetup, startGateway } from '../support/gateway.ts';
import { TcpRelay } from '../support/tcp-relay.ts';
import { until } from '../support/wait.ts';

const MASTER_KEY = `k1:${'p'.repeat(40)}`;
const pgbouncer = findProgram('pgbouncer');

interface Pooler {
  readonly url: string;
  stop(): Promise<void>;
}

/** It runs as another user, to whom the embedded PostgreSQL opens its socket only through a relay. */
async function startPooler(relay: TcpRelay, settings: readonly string[]): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-pgbouncer-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const { port: serverPort, username, pathname } = new URL(relay.url);
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]\n* = host=127.0.0.1 port=${serverPort} user=${username}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}
unix_socket_dir =\nauth_type = any\ndefault_pool_size = 3\n${settings.join('\n')}\n`,
    { mode: 0o644 },
  );
  const child = spawn(pgbouncer ?? '', [file], { stdio: 'ignore', ...(isRoot && NOBODY) });
  const exited = once(child, 'exit');
  await until('PgBouncer to listen', async () => {
    const socket = connect(port, '127.0.0.1');
    return once(socket, 'connect').then(
      () => socket.end() !== undefined,
      () => false,
    );
  });
  return {
    url: `postgres://any@127.0.0.1:${port}${pathname}`,
    async stop() {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe('PgBouncer', { skip: pgbouncer === undefined && 'pgbouncer is not installed' }, () => {
  let own: TestDatabase;
  let relay: TcpRelay;
  let sim: Sim;
  const poolers: Pooler[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-pooler-'));

  before(async () => {
    own = await testDatabase();
    relay = await TcpRelay.start(own.url);
    sim = await startSim();
  });
  after(async () => {
    for (const pooler of poolers) await pooler.stop();
    await sim.close();
    await relay.close();
    await own.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = async (...settings: string[]): Promise<string> => {
    const pooler = await startPooler(relay, settings);
    poolers.push(pooler);
    return pooler.url;
  };

  const IGNORED = 'ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout';

  test('a start without a direct URL names the setting, whether or not the pooler ignores settings of sessions', async () => {
    for (const settings of [[], [IGNORED]]) {
      const DATABASE_URL = await open('pool_mode = transaction', ...settings);
      const { code, stderr } = await runHere(['migrate'], { env: { DATABASE_URL, DATA_DIR: folder, MASTER_KEY } });
      assert.equal(code, 1);
      assert.match(stderr, /connection pooler.* Set DATABASE_DIRECT_URL/);
    }
  });

  test('session mode works as PostgreSQL itself', async () => {
    const DATABASE_URL = await open('pool_mode = session', IGNORED, 'default_pool_size = 20');
    const { code, stderr } = await runHere(['migrate'], { env: { DATABASE_URL, DATA_DIR: folder, MASTER_KEY } });
    assert.equal(code, 0, stderr);
  });

  test('a gateway with a direct URL serves, charges, and notices changes', async () => {
    const DATABASE_URL = await open('pool_mode = transaction');
    const gateway = await startGateway({
      database: own,
      worker: true,
      env: { DATABASE_URL, DATABASE_DIRECT_URL: own.url, MASTER_KEY },
    });
    try {
      const keys = await gateway.apply({
        ...basicSetup(sim.url),
        models: [{ id: 'demo-*', groups: ['openai', 'claude', 'gemini'], prices: { input: '1', output: '2' } }],
      });
      const call = async (): Promise<number> => {
        const response = await fetch(`${gateway.url}/v1/messages`, {
          method: 'POST',
          headers: { 'x-api-key': keys.claude ?? '', 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'demo-messages',
            max_tokens: 20,
            messages: [{ role: 'user', content: 'Hello!' }],
          }),
        });
        await response.text();
        return response.status;
      };
      const statuses = await Promise.all(Array.from({ length: 30 }, call));
      assert.deepEqual(new Set(statuses), new Set([200]));
      const { db } = gateway.context.database;
      const charged = async (): Promise<number> => (await db.selectFrom('usage_records').select('id').execute()).length;
      await until('30 charges', async () => (await charged()) === 30);
      assert.equal(gateway.log.filter(({ msg }) => /failed|disconnected/.test(msg)).length, 0);
    } finally {
      await gateway.stop();
    }
  });
});

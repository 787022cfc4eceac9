// set: sweeps; real servers under load for a minute; redis.test.ts and shared-limits.test.ts have the states one by one
/** Servers whose connections to Redis break in every way under load: no process ends, no call fails, and each is charged once. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../bench/child.ts';
import { startSim } from '../../sim/index.ts';
import { connect as connectDatabase } from '../../src/platform/db/index.ts';
import { testDatabase } from '../support/database.ts';
import { launch } from '../support/process.ts';
import { noRedis, startRedis, type TestRedis } from '../support/redis.ts';
import { SteadyLoad } from '../support/steady-load.ts';
import { until } from '../support/wait.ts';

const KEY = 'key-of-the-redis-strikes-00000';

/** Between the server and Redis. */
class RedisProxy {
  readonly port: number;
  readonly #target: number;
  readonly #clients = new Set<Socket>();
  readonly #sockets = new Set<Socket>();
  readonly #silent = new Set<Socket>();
  readonly #server = createServer({ noDelay: true }, (client) => this.#accept(client));

  private constructor(port: number, target: number) {
    this.port = port;
    this.#target = target;
  }

  static async before(url: string): Promise<RedisProxy> {
    const proxy = new RedisProxy(await freePort(), Number(new URL(url).port));
    await new Promise<void>((resolve) => proxy.#server.listen(proxy.port, '127.0.0.1', resolve));
    return proxy;
  }

  /** Connections that forward. */
  get open(): number {
    return [...this.#clients].filter((client) => !this.#silent.has(client)).length;
  }

  each(strike: (client: Socket) => void): void {
    for (const client of this.#clients) strike(client);
  }

  /** Half-open: neither side hears of the other, or of its end. */
  silence(): void {
    for (const client of this.#clients) this.#silent.add(client);
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(client: Socket): void {
    const server = connect(this.#target, '127.0.0.1');
    this.#clients.add(client);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => {});
      from.on('data', (bytes) => this.#silent.has(client) || to.write(bytes));
      from.on('close', () => {
        this.#sockets.delete(from);
        this.#clients.delete(client);
        if (!this.#silent.has(client)) to.destroy();
      });
    }
  }
}

type Strike = (proxy: RedisProxy, redis: TestRedis) => Promise<void> | void;
const sendEach =
  (text: string): Strike =>
  (proxy) =>
    proxy.each((client) => client.write(text));

/** Each meets connections that work, and waits for no reconnect in between. */
const STRIKES: Readonly<Record<string, Strike>> = {
  reset: (proxy) => proxy.each((client) => client.resetAndDestroy()),
  end: (proxy) => proxy.each((client) => client.end()),
  'half-open': (proxy) => proxy.silence(),
  'garbage instead of a reply': sendEach('\u0001\u0002 no protocol\r\n\r\n'),
  'a reply that nobody asked for': sendEach('+OK\r\n:1\r\n'),
  'an error that ends': sendEach('-ERR max number of clients reached\r\n'),
  'killed by an operator': (_, redis) => void redis.cli('client', 'kill', 'type', 'normal'),
  restart: async (_, redis) => {
    await redis.kill();
    await redis.start();
  },
  pause: (_, redis) => redis.pause(),
};

for (const workers of [1, 2])
  test(`strikes on the connections to Redis end no process and fail no call: ${workers} workers`, {
    skip: noRedis,
  }, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'dragoman-redis-strikes-'));
    const [sim, own, redis] = await Promise.all([startSim(), testDatabase(), startRedis()]);
    const proxy = await RedisProxy.before(redis.url);
    const setupFile = join(directory, 'setup.json');
    writeFileSync(setupFile, JSON.stringify(setup(sim.url)));
    const server = launch(['serve', '--config', setupFile], {
      HOST: '127.0.0.1',
      PORT: '0',
      DEMO: 'off',
      DRAIN_MS: '1000',
      USAGE_FLUSH_MS: '200',
      WORKERS: String(workers),
      REDIS_URL: `redis://127.0.0.1:${proxy.port}`,
      MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}`,
      DATA_DIR: join(directory, 'data'),
      DATABASE_URL: own.url,
    });
    const admin = await connectDatabase(own.url);
    try {
      const [, url = ''] = await server.until(/Dragoman is ready at (\S+)/);
      const load = new SteadyLoad(url, KEY);
      for (const [name, strike] of Object.entries(STRIKES)) {
        // A worker without calls does not notice that its connection is half-open.
        await until(`connections before: ${name}`, () => proxy.open > 0);
        const { served } = load;
        await strike(proxy, redis);
        await until(`calls after: ${name}`, () => load.served >= served + 20);
        redis.resume();
      }
      await until('connections after all', () => proxy.open > 0);
      const failures = await load.stop();
      t.diagnostic(`${load.served} calls, ${load.refused} refused once, ${failures.length} failed`);
      assert.doesNotMatch(server.output(), /process\.panic|worker\.ended/);
      assert.equal(server.child.exitCode, null, server.output().slice(0, 6_000));
      assert.deepEqual(failures.slice(0, 10), []);
      assert.equal(load.refused, 0);
      await until('a record of every call', async () => {
        const { rows } = await admin.query<{ calls: bigint }>('select count(*) as calls from usage_records');
        return Number(rows[0]?.calls) === load.served;
      });
    } finally {
      redis.resume();
      await server.stop();
      await admin.end();
      await sim.close();
      proxy.close();
      await redis.stop();
      // Fails when the ledger does not add up.
      await own.drop();
      rmSync(directory, { recursive: true, force: true });
    }
  });

const setup = (url: string): object => ({
  groups: [{ id: 'claude', style: 'messages' }],
  accounts: [{ id: 'cl1', group: 'claude', base_url: url, api_key: 'sk-upstream', rpm: 1_000_000 }],
  models: [{ id: 'demo-messages', groups: ['claude'], prices: { input: '3', output: '15' } }],
  users: [{ id: 'ana', balance: '1000', rpm: 1_000_000, concurrency: 1_000 }],
  keys: [{ user: 'ana', group: 'claude', key: KEY, rpm: 1_000_000 }],
});

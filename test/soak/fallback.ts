/**
 * `npm run soak -- fallback`: a whole provider goes away under load and returns: it refuses connections, fails, hangs and resets in turn. Every
 * call has to be served by the line of another group, and every charge has to be that of the line that served. `--calls 10000`, `--rate 25`
 * calls a second, `--seconds 40` of each outage.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { startSim } from '../../sim/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { startGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const CALLS = Number(process.env.FALLBACK_CALLS ?? 10_000);
const PER_SECOND = Number(process.env.FALLBACK_RATE ?? 25);
const OUTAGE_MS = Number(process.env.FALLBACK_SECONDS ?? 40) * 1_000;

const OUTAGES = ['refuses', 'fails', 'hangs', 'resets'] as const;
type Mode = 'works' | (typeof OUTAGES)[number];

/** The network before a provider. What an outage does, it does to the next request: responses that have begun are complete. */
class Provider {
  mode: Mode = 'works';
  readonly #target: number;
  readonly #server = createServer((client) => this.#accept(client));
  readonly #sockets = new Set<Socket>();
  #port = 0;

  constructor(target: number) {
    this.#target = target;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async turn(mode: Mode): Promise<void> {
    this.mode = mode;
    if (mode === 'refuses') this.#server.close();
    else if (!this.#server.listening) {
      this.#server.listen(this.#port, '127.0.0.1');
      await once(this.#server, 'listening');
      this.#port = (this.#server.address() as AddressInfo).port;
    }
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(client: Socket): void {
    const server = connect(this.#target, '127.0.0.1');
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    server.on('data', (bytes) => client.write(bytes));
    client.on('data', (bytes) => {
      if (this.mode === 'works') server.write(bytes);
      if (this.mode === 'fails') client.end(FAILURE);
      if (this.mode === 'resets' || this.mode === 'refuses') client.resetAndDestroy();
    });
  }
}

const FAILURE = 'HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';

const RATES = { claude: { input: 3, output: 15 }, openai: { input: 2, output: 8 } } as const;
interface Done {
  readonly id: string;
  readonly at: number;
  readonly ms: number;
  readonly mode: Mode;
  readonly group: 'claude' | 'openai';
  /** Undefined for a call that was served. */
  readonly failure: string | undefined;
}
/** Far above the time of a call, far below the time limits of one. */
const SLOW_MS = 5_000;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
const percentile = (list: readonly number[], share: number): string => {
  const sorted = list.toSorted((a, b) => a - b);
  return `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1)} ms`;
};
const spread = (calls: readonly Done[]): string => {
  const times = calls.map(({ ms }) => ms);
  return `median ${percentile(times, 0.5)}, p99 ${percentile(times, 0.99)}, max ${percentile(times, 1)}`;
};

test('lines of another group serve while a provider is out, and are charged exactly', async (t) => {
  const sim = await startSim();
  const provider = new Provider(sim.port);
  t.after(() => Promise.all([provider.close(), sim.close()]));
  await provider.turn('works');
  const gateway = await startGateway({ worker: true, env: { LOG_LEVEL: 'error' } });
  t.after(() => gateway.stop());
  const keys = await gateway.apply({
    groups: [
      { id: 'claude', style: 'messages' },
      { id: 'openai', style: 'responses' },
    ],
    accounts: [
      ...['a', 'b'].map((id) => ({ id, group: 'claude', base_url: provider.url, api_key: `sk-upstream-${id}` })),
      { id: 'c', group: 'openai', base_url: `${sim.url}/v1`, api_key: 'sk-upstream-c', max_concurrency: 1_000 },
    ],
    models: [
      { id: 'demo-text', groups: ['claude'], prices: { input: '3', output: '15' }, fallback: ['openai/demo-other'] },
      { id: 'demo-other', groups: ['openai'], prices: { input: '2', output: '8' } },
    ],
    users: [{ id: 'ana', balance: '100000' }],
    keys: [{ user: 'ana', group: 'claude' }],
  });

  const done: Done[] = [];
  // A connection for each call: one that waits for the next call may be closed when that comes.
  const agent = new Agent();
  const USER = [{ role: 'user', content: 'hello there' }];
  const LANES = [
    ['/v1/messages', { max_tokens: 200, messages: USER }, /"message_stop"/],
    ['/v1/chat/completions', { messages: USER }, /\[DONE\]/],
  ] as const;

  /** Messages and chat, whole and streamed, in turn. */
  async function callOnce(n: number): Promise<void> {
    const [path, body, end] = LANES[n % 2] ?? LANES[0];
    const stream = n % 4 >= 2;
    const at = performance.now();
    const { mode } = provider;
    const headers = { authorization: `Bearer ${keys.claude}`, 'content-type': 'application/json' };
    const sent = request(gateway.url + path, { method: 'POST', agent, headers });
    sent.end(JSON.stringify({ model: 'demo-text', stream, ...body }));
    const reply = await new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve) => {
      const lost = (error: Error) => resolve({ status: 0, headers: {}, text: error.message });
      sent.on('error', lost);
      sent.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', lost);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      });
    });
    const isServed = reply.status === 200 && (stream ? end.test(reply.text) : reply.text.includes('simulated'));
    done.push({
      id: String(reply.headers['x-request-id']),
      at,
      ms: performance.now() - at,
      mode,
      group: reply.headers['x-gateway-fallback'] === 'openai/demo-other' ? 'openai' : 'claude',
      failure: isServed ? undefined : `${mode} ${path} ${reply.status} ${reply.text.slice(0, 120)}`,
    });
  }

  let isOver = false;
  async function load(): Promise<void> {
    const running = new Set<Promise<void>>();
    let dueAt = performance.now();
    for (let n = 0; !isOver || n < CALLS; n += 1) {
      const call = callOnce(n).finally(() => running.delete(call));
      running.add(call);
      // On a busy machine, calls that are late are not made up for in a burst.
      dueAt = Math.max(dueAt, performance.now() - 1_000) + 1_000 / PER_SECOND;
      await pause(Math.max(0, dueAt - performance.now()));
    }
    await Promise.all(running);
  }

  const loading = load();
  await until('the provider serves', () => done.length > 50);
  const outages: { mode: Mode; from: number; returned: number; backMs: number }[] = [];
  for (const mode of OUTAGES) {
    const from = performance.now();
    await provider.turn(mode);
    await pause(OUTAGE_MS);
    await provider.turn('works');
    const returned = performance.now();
    const isBack = ({ at, group }: Done): boolean => at > returned && group === 'claude';
    const back = await until('the provider is used again', () => done.find(isBack), 200_000);
    outages.push({ mode, from, returned, backMs: back.at - returned });
  }
  isOver = true;
  await loading;

  for (const { mode, from, returned, backMs } of outages) {
    const within = done.filter(({ at }) => at >= from && at < returned);
    const moved = within.filter(({ group }) => group === 'openai');
    const firstMs = Math.min(...moved.map(({ at, ms }) => at + ms)) - from;
    const slow = within.filter(({ ms }) => ms > SLOW_MS).length;
    process.stdout.write(
      `provider ${mode}: ${within.length} calls, ${moved.length} on the fallback, the first after ${seconds(firstMs)}; ${spread(within)}; ${slow} took more than ${seconds(SLOW_MS)}; back after ${seconds(backMs)}\n`,
    );
  }
  const failures = done.flatMap(({ failure }) => failure ?? []);
  const healthy = done.filter(({ mode, group }) => mode === 'works' && group === 'claude');
  process.stdout.write(`provider works: ${healthy.length} calls, ${spread(healthy)}\n`);

  const { db } = gateway.context.database;
  const wrong: string[] = [];
  const served = done.filter(({ failure }) => failure === undefined);
  const records = await until('the records of all calls', async () => {
    const rows = await db.selectFrom('usage_records').selectAll().execute();
    return rows.length >= served.length ? rows : undefined;
  });
  const byRequest = Map.groupBy(records, (row) => row.request_id);
  for (const { id, group } of served) {
    const [row, ...others] = byRequest.get(id) ?? [];
    const { input, output } = RATES[group];
    const cost =
      row && (BigInt(row.input_tokens) * BigInt(input) + BigInt(row.output_tokens) * BigInt(output)) * 1_000n;
    if (!row || others.length > 0 || row.group_id !== group || row.nanos !== cost) wrong.push(id);
  }
  await checkLedger(db);
  const { rows } = await sql<{ debits: bigint }>`select debits from wallets where user_id = 'ana'`.execute(db);
  const charged = records.reduce((sum, { nanos }) => sum + nanos, 0n);
  process.stdout.write(
    `${done.length} calls, failed ${failures.length}, charges ${records.length}, wrong ${wrong.length}\n`,
  );
  assert.deepEqual(failures.slice(0, 10), []);
  assert.deepEqual(wrong.slice(0, 10), []);
  assert.equal(rows[0]?.debits, charged);
});

/**
 * Servers that are restarted one after the other behind nginx, as `deploy/nginx.conf` sets it up: no call fails. `npm run soak -- rolling`
 * does it many times.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { findProgram, freePort } from '../../bench/child.ts';
import { readDeploy } from '../../scripts/deploy-files.ts';
import { startSim } from '../../sim/index.ts';
import { basicSetup, startGateway } from '../support/gateway.ts';
import { type LaunchedProcess, launch } from '../support/process.ts';
import { until } from '../support/wait.ts';
import { isTerminal, ResponsesSocketClient } from '../support/websocket.ts';

const ROUNDS = Number(process.env.ROLLING_ROUNDS ?? 2);
/** Longer than nginx keeps idle connections. */
const DRAIN_BEFORE_MS = '4000';
const nginx = findProgram('nginx');

/** The file of deploy/ for these servers, without TLS. */
function configOf(port: number, servers: readonly number[], folder: string): string {
  const lines = servers.map((one) => `server 127.0.0.1:${one} max_fails=0;`).join('\n');
  const site = readDeploy('nginx.conf')
    .replace(/server 10\.0\.0\.11:8080 max_fails=0;\n.*server 10\.0\.0\.12:8080 max_fails=0;/, lines)
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_.*\n/gm, '');
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder};`);
  return `daemon off; error_log ${folder}/error.log; pid ${folder}/pid; worker_processes 1; events { worker_connections 1024; }
    http { access_log off; ${folders.join(' ')} ${site} }`;
}

async function startNginx(program: string, servers: readonly number[]) {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-nginx-'));
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configOf(port, servers, folder));
  const child = spawn(program, ['-p', folder, '-c', file], { stdio: 'inherit' });
  const exited = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  await until('nginx to listen', () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );
  return {
    url,
    async stop() {
      child.kill();
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

class Replica {
  readonly port: number;
  readonly #databaseUrl: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'dragoman-rolling-'));
  #process: LaunchedProcess | undefined;

  constructor(port: number, databaseUrl: string) {
    this.port = port;
    this.#databaseUrl = databaseUrl;
  }

  async start(): Promise<void> {
    this.#process = launch(['serve', '--no-worker'], {
      DATABASE_URL: this.#databaseUrl,
      DATA_DIR: this.#folder,
      MASTER_KEY,
      PORT: String(this.port),
      DEMO: 'off',
      DRAIN_BEFORE_MS,
      LOG_LEVEL: 'error',
    });
    await this.#process.until(/is ready/, 60_000);
  }

  async stop(): Promise<void> {
    assert.equal(await this.#process?.stop(), 0);
  }

  async remove(): Promise<void> {
    await this.#process?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const MASTER_KEY = `k1:${'r'.repeat(40)}`;

/** Calls of three kinds, one after the other, until `stop`. */
class Load {
  readonly counts = { calls: 0, streams: 0, turns: 0 };
  readonly failures: string[] = [];
  readonly #url: string;
  readonly #keys: Readonly<Record<string, string>>;
  readonly #lanes: Promise<void>[];
  #isOver = false;

  constructor(url: string, keys: Readonly<Record<string, string>>) {
    this.#url = url;
    this.#keys = keys;
    this.#lanes = [
      ...Array.from({ length: 4 }, () => this.#repeat('calls', () => this.#call())),
      ...Array.from({ length: 4 }, () => this.#repeat('streams', () => this.#stream())),
      this.#repeat('turns', () => this.#turn()),
    ];
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#lanes);
  }

  async #repeat(kind: keyof Load['counts'], run: () => Promise<string | undefined>): Promise<void> {
    while (!this.#isOver) {
      const failure = await run().catch((error: unknown) => String(error));
      if (failure === undefined) this.counts[kind] += 1;
      else this.failures.push(`${kind}: ${failure.slice(0, 200)}`);
      await pause(20);
    }
  }

  async #call(): Promise<string | undefined> {
    const response = await this.#post({ model: 'demo-messages@slow=100' });
    const text = await response.text();
    return response.status === 200 ? undefined : `${response.status} ${text}`;
  }

  async #stream(): Promise<string | undefined> {
    const response = await this.#post({ model: 'demo-messages@gap=50', stream: true });
    const text = await response.text();
    return text.includes('event: message_stop') ? undefined : `${response.status} ${text.slice(-200)}`;
  }

  async #turn(): Promise<string | undefined> {
    const client = await new ResponsesSocketClient(this.#url, this.#keys.openai ?? '').open();
    client.create({ model: 'demo-responses', input: 'Hello!' });
    const end = await client.until(isTerminal);
    client.socket.close();
    return end.type === 'response.completed' ? undefined : JSON.stringify(end);
  }

  #post(body: object): Promise<Response> {
    return fetch(`${this.#url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': this.#keys.claude ?? '', 'content-type': 'application/json' },
      body: JSON.stringify({ max_tokens: 50, messages: [{ role: 'user', content: 'Hello!' }], ...body }),
    });
  }
}

test('servers that are restarted one after the other behind nginx fail no call', {
  skip: nginx === undefined && 'nginx is not installed',
  timeout: 120_000 + ROUNDS * 60_000,
}, async (t) => {
  const sim = await startSim();
  t.after(() => sim.close());
  const gateway = await startGateway({ env: { MASTER_KEY } });
  t.after(() => gateway.stop());
  const keys = await gateway.apply(basicSetup(sim.url));
  const replicas = [await freePort(), await freePort()].map((port) => new Replica(port, gateway.database.url));
  for (const replica of replicas) t.after(() => replica.remove());
  await Promise.all(replicas.map((replica) => replica.start()));
  const front = await startNginx(
    nginx ?? '',
    replicas.map(({ port }) => port),
  );
  t.after(() => front.stop());
  const load = new Load(front.url, keys);
  for (let round = 0; round < ROUNDS; round += 1) {
    const replica = replicas[round % replicas.length];
    await replica?.stop();
    await replica?.start();
  }
  await load.stop();
  t.diagnostic(`${ROUNDS} restarts: ${JSON.stringify(load.counts)}, ${load.failures.length} failed`);
  assert.deepEqual(load.failures, []);
  assert.ok(Object.values(load.counts).every((count) => count > 0));
});

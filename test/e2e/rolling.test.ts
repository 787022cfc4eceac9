// set: load; replaced servers under load
/**
 * Servers that are replaced under load, and no call fails: one after the other behind nginx as `deploy/nginx.conf` sets it up, as pods of a
 * Kubernetes Service, and by `dragoman reload`. `npm run soak -- rolling` does it many times.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { findProgram, freePort } from '../../bench/child.ts';
import { readDeploy } from '../../scripts/deploy-files.ts';
import { startSim } from '../../sim/index.ts';
import { run } from '../support/command.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { type LaunchedProcess, launch } from '../support/process.ts';
import { assetSettings, callVideo, TASKS, taskBody, VIDEO_MODELS, VIDEO_PRICES } from '../support/video.ts';
import { contentPath } from '../support/video-results.ts';
import { until } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

const ROUNDS = Number(process.env.ROLLING_ROUNDS ?? 2);
/** Only this way; all of them by default. */
const WAY = process.env.ROLLING_WAY;
/** Longer than nginx keeps idle connections, and than a Service needs to forget a pod. */
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

/** How Kubernetes acts on deploy/kubernetes, five times as fast: the readiness probe, and the time until a Service forgets a pod. */
const PROBE_MS = 1_000;
const FAILED_PROBES = 2;
const FORGET_MS = 1_000;

/** A Service: sends each connection to a ready pod. Open connections stay, whatever becomes of the pod. */
class Service {
  readonly #ready: number[] = [];
  readonly #server = createServer((client) => this.#accept(client));
  #turn = 0;
  url = '';

  async listen(): Promise<this> {
    const port = await freePort();
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${port}`;
    return this;
  }

  /** Probes a pod until `isOver`. */
  async watch(port: number, isOver: () => boolean): Promise<void> {
    for (let failed = 0; !isOver(); await pause(PROBE_MS)) {
      const isReady = await fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      );
      failed = isReady ? 0 : failed + 1;
      if (isReady && !isOver() && !this.#ready.includes(port)) this.#ready.push(port);
      if (failed >= FAILED_PROBES) this.forget(port);
    }
  }

  forget(port: number): void {
    if (this.#ready.includes(port)) this.#ready.splice(this.#ready.indexOf(port), 1);
  }

  isReady(port: number): boolean {
    return this.#ready.includes(port);
  }

  close(): void {
    this.#server.close();
  }

  #accept(client: Socket): void {
    this.#turn += 1;
    const pod = connect(this.#ready[this.#turn % this.#ready.length] ?? 0, '127.0.0.1');
    for (const [from, to] of [
      [client, pod],
      [pod, client],
    ] as const) {
      from.on('error', () => to.destroy());
      from.pipe(to);
    }
  }
}

class Replica {
  readonly port: number;
  readonly env: Record<string, string>;
  readonly #folder = mkdtempSync(join(tmpdir(), 'dragoman-rolling-'));
  #process: LaunchedProcess | undefined;
  readonly #processes: LaunchedProcess[] = [];

  constructor(port: number, databaseUrl: string, workers = 1) {
    this.port = port;
    mkdirSync(join(this.#folder, 'mirror'));
    this.env = {
      DATABASE_URL: databaseUrl,
      DATA_DIR: this.#folder,
      MASTER_KEY,
      PORT: String(port),
      DEMO: 'off',
      DRAIN_BEFORE_MS,
      // The provider gives out a result a hundred times only.
      RESULT_MIRROR_DIR: join(this.#folder, 'mirror'),
      WORKERS: String(workers),
      LOG_LEVEL: 'warn',
    };
  }

  async start(): Promise<void> {
    this.#process = launch(['serve', '--no-worker'], this.env);
    this.#processes.push(this.#process);
    await this.#process.until(/is ready/);
  }

  /** What its processes have logged about calls that failed. */
  get failures(): readonly string[] {
    return this.#processes.flatMap((one) => one.output().match(/^.*"msg":"request\..*$/gm) ?? []);
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

const KINDS = ['calls', 'rare calls', 'streams', 'sockets', 'turns', 'uploads', 'results'] as const;

/** Calls of all kinds, each lane one after the other, until `stop`. */
class Load {
  readonly counts = new Map(KINDS.map((kind) => [kind, { served: 0, failed: 0 }]));
  readonly failures: string[] = [];
  readonly #url: string;
  readonly #keys: Readonly<Record<string, string>>;
  readonly #lanes: Promise<void>[];
  readonly #videoPath: string;
  readonly #begun = performance.now();
  #isOver = false;

  /** `videoPath` is that of a result. */
  constructor(url: string, keys: Readonly<Record<string, string>>, videoPath: string) {
    this.#url = url;
    this.#keys = keys;
    this.#videoPath = videoPath;
    const lanes = (count: number, lane: (n: number) => Promise<void>) =>
      Array.from({ length: count }, (_, n) => lane(n));
    this.#lanes = [
      ...lanes(4, () => this.#repeat('calls', () => this.#call())),
      ...lanes(8, (n) => this.#callRarely(n)),
      ...lanes(4, () => this.#repeat('streams', () => this.#stream())),
      this.#repeat('sockets', () => this.#socket()),
      ...lanes(2, () => this.#converse()),
      ...lanes(2, () => this.#repeat('uploads', () => this.#upload())),
      this.#repeat(
        'results',
        () => this.#result(),
        () => 200,
      ),
    ];
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#lanes);
  }

  async #repeat(
    kind: (typeof KINDS)[number],
    run: () => Promise<string | undefined>,
    pauseMs: () => number = () => 20,
  ): Promise<void> {
    while (!this.#isOver) {
      const failure = await run().catch((error: Error) => `${error} ${error.cause ?? ''}`);
      const count = this.counts.get(kind);
      if (count) count[failure === undefined ? 'served' : 'failed'] += 1;
      const seconds = ((performance.now() - this.#begun) / 1_000).toFixed(1);
      if (failure !== undefined) this.failures.push(`${seconds} s, ${kind}: ${failure.slice(0, 300)}`);
      await pause(pauseMs());
    }
  }

  /** A client that keeps its connection, and leaves it idle for up to two seconds. */
  async #callRarely(lane: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    let turn = lane;
    await this.#repeat(
      'rare calls',
      async () => {
        const sent = request(`${this.#url}/v1/messages`, { ...this.#message, agent });
        sent.end(JSON.stringify({ ...HELLO, model: 'demo-messages' }));
        const [response] = (await once(sent, 'response')) as [IncomingMessage];
        const text = await textOf(response);
        return response.statusCode === 200 ? undefined : `${response.statusCode} ${text}`;
      },
      () => (++turn * 397) % 2_000,
    );
    agent.destroy();
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

  /** A WebSocket for one turn. */
  async #socket(): Promise<string | undefined> {
    const client = await this.#connect();
    const failure = await this.#turn(client);
    client.socket.close();
    return failure;
  }

  /** Turns on one WebSocket for as long as the server keeps it. */
  async #converse(): Promise<void> {
    let client: ResponsesSocketClient | undefined;
    await this.#repeat('turns', async () => {
      if (client?.socket.readyState !== client?.socket.OPEN) client = undefined;
      client ??= await this.#connect();
      return this.#turn(client);
    });
    client?.socket.close();
  }

  #connect(): Promise<ResponsesSocketClient> {
    return new ResponsesSocketClient(this.#url, this.#keys.openai ?? '').open();
  }

  async #turn(client: ResponsesSocketClient): Promise<string | undefined> {
    const end = await client.turn({ model: 'demo-responses', input: 'Hello!' });
    return end.type === 'response.completed' ? undefined : JSON.stringify(end);
  }

  /** An image edit whose form takes half a second to arrive. */
  async #upload(): Promise<string | undefined> {
    const form = new FormData();
    form.set('model', 'demo-image');
    form.set('prompt', 'brighter');
    form.set('image', new Blob([PNG, Buffer.alloc(300_000)], { type: 'image/png' }), 'lamp.png');
    const whole = new Response(form);
    const [headers, bytes] = [whole.headers, Buffer.from(await whole.arrayBuffer())];
    const response = await fetch(`${this.#url}/v1/images/edits`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#keys.openai}`,
        'content-type': headers.get('content-type') ?? '',
        'content-length': String(bytes.length),
      },
      body: ReadableStream.from(slowly(bytes)),
      duplex: 'half',
    });
    const text = await response.text();
    return response.status === 200 ? undefined : `${response.status} ${text}`;
  }

  async #result(): Promise<string | undefined> {
    const response = await fetch(`${this.#url}${this.#videoPath}`, {
      headers: { authorization: `Bearer ${this.#keys.openai}` },
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const isWhole = String(bytes.length) === response.headers.get('content-length');
    return response.status === 200 && isWhole ? undefined : `${response.status} ${bytes.subarray(0, 200)}`;
  }

  #post(body: object): Promise<Response> {
    return fetch(`${this.#url}/v1/messages`, { ...this.#message, body: JSON.stringify({ ...HELLO, ...body }) });
  }

  get #message() {
    const headers = { 'x-api-key': this.#keys.claude ?? '', 'content-type': 'application/json' };
    return { method: 'POST', headers };
  }
}

const HELLO = { max_tokens: 50, messages: [{ role: 'user', content: 'Hello!' }] };
const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

async function* slowly(bytes: Buffer): AsyncGenerator<Buffer> {
  const size = Math.ceil(bytes.length / 10);
  for (let start = 0; start < bytes.length; start += size) {
    yield bytes.subarray(start, start + size);
    await pause(50);
  }
}

function setup(url: string, videoUrl: string): object {
  const basic = basicSetup(url) as Record<'groups' | 'accounts' | 'models', object[]>;
  return {
    ...basic,
    groups: [...basic.groups, { id: 'ep', style: 'video', variant: 'EP' }],
    accounts: [
      ...basic.accounts,
      {
        id: 'account-ep',
        group: 'ep',
        base_url: videoUrl,
        api_key: 'sk-simulated-ep',
        assets: assetSettings(videoUrl, 'ep'),
      },
    ],
    models: [...basic.models, { id: VIDEO_MODELS.EP, groups: ['ep'], prices: VIDEO_PRICES }],
  };
}

interface Scene {
  readonly gateway: TestGateway;
  readonly keys: Readonly<Record<string, string>>;
  readonly videoPath: string;
}

async function openScene(t: TestContext): Promise<Scene> {
  const sim = await startSim({ video: { rateLimits: false, queuedMs: 10, runningMs: 10 } });
  t.after(() => sim.close());
  const gateway = await startGateway({ env: { MASTER_KEY }, worker: true });
  t.after(() => gateway.stop());
  const keys = await gateway.apply(setup(sim.url, sim.video.url));
  const key = keys.openai;
  const { body } = await callVideo(gateway.url, TASKS, { key, body: taskBody('EP') });
  const path = `${TASKS}/${String(body.id)}`;
  await until('a video', async () => (await callVideo(gateway.url, path, { key })).body.status === 'succeeded');
  return { gateway, keys, videoPath: contentPath(String(body.id)) };
}

/** Replaces servers `ROUNDS` times under load. */
async function replaceUnderLoad(
  t: TestContext,
  { keys, videoPath }: Scene,
  { url, replicas }: { readonly url: string; readonly replicas: readonly Replica[] },
  replace: (round: number) => Promise<void>,
): Promise<void> {
  const load = new Load(url, keys, videoPath);
  try {
    for (let round = 0; round < ROUNDS; round += 1) await replace(round);
  } finally {
    await load.stop();
  }
  const lines = [...load.counts].map(([kind, { served, failed }]) => `${kind} ${served} served, ${failed} failed`);
  t.diagnostic(`${ROUNDS} rounds: ${lines.join('; ')}`);
  assert.deepEqual([...load.failures, ...replicas.flatMap(({ failures }) => failures)], []);
  for (const [kind, { served }] of load.counts) assert.ok(served > 0, kind);
}

async function startPair(t: TestContext, { gateway }: Scene): Promise<readonly [Replica, Replica]> {
  const replicas = [
    new Replica(await freePort(), gateway.database.url),
    new Replica(await freePort(), gateway.database.url),
  ] as const;
  for (const replica of replicas) t.after(() => replica.remove());
  await Promise.all(replicas.map((replica) => replica.start()));
  return replicas;
}

const timeout = 180_000 + ROUNDS * 60_000;
const skipUnless = (way: string): string | false => WAY !== undefined && WAY !== way && `--way ${WAY}`;

test('servers that are restarted one after the other behind nginx fail no call', {
  skip: skipUnless('nginx') || (nginx === undefined && 'nginx is not installed'),
  timeout,
}, async (t) => {
  const scene = await openScene(t);
  const replicas = await startPair(t, scene);
  const front = await startNginx(
    nginx ?? '',
    replicas.map(({ port }) => port),
  );
  t.after(() => front.stop());
  await replaceUnderLoad(t, scene, { url: front.url, replicas }, async (round) => {
    const replica = replicas[round % 2 === 0 ? 0 : 1];
    await replica.stop();
    await replica.start();
  });
});

test('pods that Kubernetes replaces one after the other fail no call', {
  skip: skipUnless('kubernetes') || (WAY === undefined && 'npm run soak -- rolling --way kubernetes'),
  timeout,
}, async (t) => {
  const scene = await openScene(t);
  const replicas = await startPair(t, scene);
  const service = await new Service().listen();
  t.after(() => service.close());
  const ended = new Set<number>();
  const watched = new Set<Promise<void>>();
  const watch = ({ port }: Replica): void => {
    ended.delete(port);
    const watching = service.watch(port, () => ended.has(port)).finally(() => watched.delete(watching));
    watched.add(watching);
  };
  const untilReady = ({ port }: Replica) => until('a ready pod', () => service.isReady(port));
  replicas.forEach(watch);
  await Promise.all(replicas.map(untilReady));
  await replaceUnderLoad(t, scene, { url: service.url, replicas }, async (round) => {
    const replica = replicas[round % 2 === 0 ? 0 : 1];
    // The signal and the news for the Service are sent at once, and the Service learns of it later.
    const forgotten = pause(FORGET_MS).then(() => {
      ended.add(replica.port);
      service.forget(replica.port);
    });
    await Promise.all([replica.stop(), forgotten]);
    await replica.start();
    watch(replica);
    await untilReady(replica);
  });
  for (const { port } of replicas) ended.add(port);
  await Promise.all(watched);
});

test('workers that a reload replaces fail no call', {
  skip: skipUnless('reload') || (WAY === undefined && 'npm run soak -- rolling --way reload'),
  timeout,
}, async (t) => {
  const scene = await openScene(t);
  const replica = new Replica(await freePort(), scene.gateway.database.url, 2);
  t.after(() => replica.remove());
  await replica.start();
  const url = `http://127.0.0.1:${replica.port}`;
  await replaceUnderLoad(t, scene, { url, replicas: [replica] }, async () => {
    const { code, stderr } = await run(['reload'], { env: replica.env });
    assert.equal(code, 0, stderr);
  });
});

/** The targets: the bare upstream, nginx in front of it, this gateway and Portkey. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Dialect } from './bodies.ts';
import { findProgram, freePort, pause, type StartedProcess, start } from './child.ts';
import { CORES } from './machine.ts';

/** `converter` is a second gateway for converted calls, so that they do not affect the process that is compared natively. */
export type TargetName = 'direct' | 'nginx' | 'dragoman' | 'converter' | 'portkey';

export interface Target {
  readonly name: TargetName;
  readonly port: number;
  /** Undefined for `direct`. */
  readonly pid: number | undefined;
  /** Headers that this target needs to reach an upstream of dialect `group`. */
  headers(group: Dialect): Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** The reason why a target is skipped. */
export class TargetUnavailable extends Error {}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const READY_MS = 60_000;

export const direct = (upstreamPort: number): Target => ({
  name: 'direct',
  port: upstreamPort,
  pid: undefined,
  headers: () => ({ 'x-api-key': 'unused' }),
  stop: async () => {},
});

// ---------------------------------------------------------------- nginx

/** A minimal proxy: no keys, no parsing, no log. Buffering is off, as streams require. */
export async function startNginx(upstreamPort: number): Promise<Target> {
  const program = findProgram('nginx');
  if (program === undefined) throw new TargetUnavailable('nginx is not installed');
  const folder = workFolder();
  const port = await freePort();
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; worker_processes 1; worker_rlimit_nofile 16384;
pid ${folder}/nginx.pid; error_log stderr crit;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 100000000; client_body_buffer_size 64k;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
  upstream mock { server 127.0.0.1:${upstreamPort}; keepalive 1024; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://mock; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`,
  );
  const process = start(program, ['-p', folder, '-c', join(folder, 'nginx.conf')], CORES?.target, {});
  return ready('nginx', process, port, () => ({ 'x-api-key': 'unused' }), folder);
}

// ---------------------------------------------------------------- this gateway

const keyOf = (group: Dialect): string => `bench-key-for-the-${group}-group`;

/** The gateway as an operator starts it, with its own database. Log lines are written and discarded. */
export async function startDragoman(
  name: 'dragoman' | 'converter',
  upstreamPort: number,
  profile: string | undefined,
): Promise<Target> {
  const folder = workFolder();
  const port = await freePort();
  writeFileSync(join(folder, 'setup.json'), JSON.stringify(setupOf(`http://127.0.0.1:${upstreamPort}`)));
  const flags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const args = [...flags, join(ROOT, 'bin/dragoman.js'), 'serve', '--config', join(folder, 'setup.json')];
  const process = start(globalThis.process.execPath, args, CORES?.target, {
    env: {
      PATH: globalThis.process.env.PATH,
      HOME: globalThis.process.env.HOME,
      PORT: String(port),
      DATA_DIR: join(folder, 'data'),
      DEMO: 'off',
      LOG_LEVEL: 'info',
      DRAIN_MS: '1000',
    },
  });
  return ready(name, process, port, (group) => ({ 'x-api-key': keyOf(group) }), folder);
}

const setupOf = (upstream: string): object => ({
  groups: [
    { id: 'messages', style: 'messages' },
    { id: 'responses', style: 'responses' },
    { id: 'generate', style: 'generate-content' },
  ],
  accounts: ['messages', 'responses', 'generate'].map((group) => ({
    id: `mock-${group}`,
    group,
    base_url: group === 'responses' ? `${upstream}/v1` : upstream,
    api_key: 'mock-credential',
    max_concurrency: 100_000,
  })),
  // With prices, so that every call is reserved, charged and written to the journal.
  models: [
    {
      id: 'bench-*',
      groups: ['messages', 'responses', 'generate'],
      prices: { input: '3', cached_input: '0.3', output: '15' },
    },
  ],
  users: [{ id: 'bench', balance: '1000000' }],
  keys: (['messages', 'responses', 'generate'] as const).map((group) => ({
    user: 'bench',
    group,
    name: 'bench',
    key: keyOf(group),
  })),
});

// ---------------------------------------------------------------- Portkey

const PORTKEY = '1.15.2';
/** The version that Portkey's range selects returns 500 for streams. */
const NODE_SERVER = '1.13.7';

export async function startPortkey(upstreamPort: number): Promise<Target> {
  const folder = join(ROOT, '.cache/bench', `portkey-${PORTKEY}`);
  const entry = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  if (!existsSync(entry)) fetchPortkey(folder);
  if (!existsSync(entry)) throw new TargetUnavailable('Portkey could not be fetched with npm');
  const port = await freePort();
  const process = start(globalThis.process.execPath, [entry, `--port=${port}`, '--headless'], CORES?.target, {
    cwd: folder,
    env: { PATH: globalThis.process.env.PATH, NODE_ENV: 'production' },
  });
  return ready('portkey', process, port, () => ({
    'x-api-key': 'mock-credential',
    'x-portkey-provider': 'anthropic',
    'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
  }));
}

function fetchPortkey(folder: string): void {
  console.log(`Fetching @portkey-ai/gateway ${PORTKEY} into .cache/bench, once ...`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({
      private: true,
      dependencies: { '@portkey-ai/gateway': PORTKEY },
      overrides: { '@hono/node-server': NODE_SERVER },
    }),
  );
  spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'], {
    cwd: folder,
    stdio: 'ignore',
    timeout: 120_000,
  });
}

// ---------------------------------------------------------------- shared

function workFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-bench-'));
  // PostgreSQL does not run as root; its own user must be able to traverse this folder.
  chmodSync(folder, 0o711);
  return folder;
}

async function ready(
  name: TargetName,
  process: StartedProcess,
  port: number,
  headers: Target['headers'],
  folder?: string,
): Promise<Target> {
  const stop = async (): Promise<void> => {
    await process.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  for (const until = Date.now() + READY_MS; !(await accepts(port)); await pause(100)) {
    if (!process.hasEnded() && Date.now() < until) continue;
    await stop();
    throw new TargetUnavailable(`${name} did not start: ${errorLineIn(process.stderr())}`);
  }
  return { name, port, pid: process.pid, headers, stop };
}

const errorLineIn = (stderr: string): string => {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  return lines.find((line) => /error|cannot|taken/i.test(line)) ?? lines.at(-1) ?? 'no output';
};

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (isOpen: boolean) => (): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', done(true));
    socket.once('error', done(false));
  });
}

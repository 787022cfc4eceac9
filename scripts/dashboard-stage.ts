/**
 * Two servers with simulated providers behind a real Prometheus, and the traffic of some minutes, of which the second
 * third is troubled.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, start } from '../bench/child.ts';
import { type Sim, startSim } from '../sim/index.ts';
import { demoSetup } from '../src/catalog/setup/index.ts';
import { joinEmbedded } from '../src/platform/db/index.ts';
import { launch } from '../test/support/process.ts';
import { until } from '../test/support/wait.ts';
import { DEPLOY } from './deploy-files.ts';

export const SCRAPE_SECONDS = 2;
/** Of a process, and of a call. */
const TIMEOUT_MS = 60_000;
/** As slow as a real provider. */
const PACE = '@delay=300;gap=12;events=30';
const keyOf = (group: string): string => `key-of-the-dashboard-${group}`;

interface Stage {
  readonly prometheus: string;
  /** Sends calls until the time is over, with a provider that is down and further calls in the second third of it. */
  play(seconds: number): Promise<void>;
}

export async function withStage(folder: string, program: string, run: (stage: Stage) => Promise<void>): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const embedded = await joinEmbedded({ dataDir: join(folder, 'database'), durable: false });
  stack.defer(() => embedded.leave());
  const sim = await startSim();
  let fragile = await startSim();
  stack.defer(() => Promise.all([sim.close(), fragile.close()]).then(() => undefined));
  const config = join(folder, 'setup.json');
  writeFileSync(config, JSON.stringify(setupOf(sim, fragile)));
  const urls: string[] = [];
  for (const name of ['gateway-1', 'gateway-2']) {
    const server = launch(['serve', '--config', config], {
      DATABASE_URL: embedded.url,
      DATA_DIR: join(folder, name),
      MASTER_KEY: `k1:${'dashboard-'.repeat(4)}`,
      HOST: '127.0.0.1',
      PORT: '0',
      DEMO: 'off',
      SHEDDING: 'on',
      ALARM_CHECK_MS: '5000',
      LOG_LEVEL: 'error',
    });
    stack.defer(async () => void (await server.stop()));
    urls.push((await server.until(/Dragoman is ready at (\S+)/, TIMEOUT_MS))[1] ?? '');
  }
  const prometheus = await startPrometheus(folder, program, urls);
  stack.defer(() => prometheus.stop());
  const play = async (seconds: number): Promise<void> => {
    const third = (seconds * 1_000) / 3;
    const calls = drive(urls, LANES, third * 3);
    await pause(third);
    await fragile.close();
    await drive(urls, TROUBLE, third);
    fragile = await startSim({ port: fragile.port });
    await calls;
  };
  await run({ prometheus: prometheus.url, play });
}

/** The demo, with a provider that goes away, few slots, and a group whose accounts are rejected or without quota. */
function setupOf(sim: Sim, fragile: Sim): object {
  const demo = demoSetup({ url: sim.url, videoUrl: sim.video.url });
  const changes: Record<string, object> = { messages: { base_url: fragile.url }, generate: { max_concurrency: 3 } };
  const prices = { input: '1', output: '2' };
  return {
    ...demo,
    groups: [...demo.groups, { id: 'trial', style: 'messages' }],
    accounts: [
      ...demo.accounts.map((account) => ({ ...account, ...changes[account.group] })),
      { id: 'trial-rejected', group: 'trial', base_url: sim.url, api_key: 'sk-bad' },
      { id: 'trial-no-quota', group: 'trial', base_url: sim.url, api_key: 'sk-broke' },
    ],
    models: [
      ...demo.models.map((model) => ({
        ...model,
        ...(!model.id.startsWith('demo-video') && { upstream: `${model.upstream ?? model.id}${PACE}` }),
        ...(model.groups.includes('messages') && { fallback: ['responses'] }),
      })),
      { id: 'demo-messages', groups: ['trial'], prices },
      { id: 'demo-busy', groups: ['responses'], upstream: 'demo-responses@fault=429', prices },
      { id: 'demo-strict', groups: ['generate'], upstream: 'demo-generate@fault=400', prices },
    ],
    keys: ['responses', 'messages', 'generate', 'trial'].map((group) => ({ user: 'demo', group, key: keyOf(group) })),
  };
}

async function startPrometheus(folder: string, program: string, urls: readonly string[]) {
  const config = join(folder, 'prometheus.yaml');
  const targets = urls.map((url, n) => ({ targets: [new URL(url).host], labels: { instance: `gateway-${n + 1}` } }));
  const every = `${SCRAPE_SECONDS}s`;
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
      scrape_configs: [{ job_name: 'dragoman', static_configs: targets }],
      rule_files: [join(DEPLOY, 'prometheus-alerts.yaml')],
    }),
  );
  const address = `127.0.0.1:${await freePort()}`;
  const options = { 'config.file': config, 'storage.tsdb.path': join(folder, 'series'), 'web.listen-address': address };
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const server = start(program, args, undefined, {});
  const url = `http://${address}`;
  const isReady = async (): Promise<boolean> => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok === true;
  await until('Prometheus', isReady, TIMEOUT_MS).catch(async (error: unknown) => {
    await server.stop();
    throw new Error(`${error}\n${server.stderr()}`);
  });
  return { url, stop: () => server.stop() };
}

type Lane = readonly [group: string, path: string, body: object, everyMs: number];

/** The first message is in the provider's cache, the others are not. */
const messages = [
  { role: 'user', content: 'These are the rules of a long game. '.repeat(40) },
  { role: 'assistant', content: 'I know them now.' },
  { role: 'user', content: 'Then whose turn is it, and why? '.repeat(20) },
];
const contents = [{ role: 'user', parts: [{ text: 'Whose turn is it?' }] }];
const text = { model: 'demo-messages', max_tokens: 400, messages };
const image = { model: 'demo-image', prompt: 'a lamp', size: '1024x1024', quality: 'low' };
const photo = { type: 'input_image', image_url: `data:image/png;base64,${Buffer.alloc(2 ** 20).toString('base64')}` };
const large = { model: 'demo-responses', input: [{ role: 'user', content: [photo] }] };
const video = { model: 'demo-video-a', content: [{ type: 'text', text: 'A lamp at night' }], duration: 5 };

const LANES: readonly Lane[] = [
  ['messages', '/v1/messages', text, 300],
  ['messages', '/v1/messages', { ...text, stream: true }, 250],
  ['messages', '/v1/chat/completions', { model: 'demo-messages', messages, stream: true }, 500],
  ['responses', '/v1/chat/completions', { model: 'demo-responses', messages, stream: true }, 400],
  ['responses', '/v1/responses', { model: 'demo-responses', input: 'Hello', stream: true }, 500],
  ['responses', '/v1/responses', large, 1_500],
  ['responses', '/v1/embeddings', { model: 'demo-embedding', input: 'Hello' }, 900],
  ['responses', '/v1/images/generations', image, 4_000],
  ['generate', '/v1beta/models/demo-generate:streamGenerateContent', { contents }, 500],
  ['generate', '/v1/messages', { ...text, model: 'demo-generate' }, 700],
  ['messages', '/api/v3/contents/generations/tasks', video, 8_000],
  ['messages', '/v1/messages', { ...text, model: 'unknown' }, 3_000],
  ['nobody', '/v1/messages', text, 5_000],
];
const TROUBLE: readonly Lane[] = [
  ['trial', '/v1/messages', text, 1_000],
  ['responses', '/v1/messages', { ...text, model: 'demo-busy' }, 1_000],
  ['generate', '/v1/messages', { ...text, model: 'demo-strict' }, 2_000],
  ['generate', '/v1/messages', { ...text, model: 'demo-generate' }, 120],
];

async function drive(urls: readonly string[], lanes: readonly Lane[], ms: number): Promise<void> {
  const end = performance.now() + ms;
  const driveLane = async (lane: Lane): Promise<void> => {
    for (let n = 0; performance.now() < end; n += 1) {
      void send(urls[n % urls.length] ?? '', lane);
      await pause(lane[3] * (0.5 + Math.random()));
    }
  };
  await Promise.all(lanes.map(driveLane));
}

/** Refusals and failures are part of the traffic. */
async function send(url: string, [group, path, body]: Lane): Promise<void> {
  const headers = { authorization: `Bearer ${keyOf(group)}`, 'content-type': 'application/json' };
  const options = { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(TIMEOUT_MS) };
  const response = await fetch(url + path, options).catch(() => undefined);
  await response?.arrayBuffer().catch(() => undefined);
}

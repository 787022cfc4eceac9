/**
 * `npm run bench -- bursts`: what a gateway with its default settings does with calls that all arrive at once:
 * streams of two seconds, then calls with large bodies. Provider and clients run in this process, so that they share
 * the machine with the gateway: the times are upper bounds, the counts are not.
 */
import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startGateway } from './gateway.ts';
import { cpuOfTree, describeMachine } from './machine.ts';
import type { Target } from './target.ts';

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '1500' },
    large: { type: 'string', default: '200' },
    workers: { type: 'string', default: '1,2' },
  },
});
const [STREAMS, LARGE] = [Number(values.streams), Number(values.large)];
const WORKERS = values.workers.split(',').map(Number);
const LARGE_BYTES = 400_000;
/** Of the provider: until its first event, and until its last. */
const FIRST_MS = 200;
const WHOLE_MS = 2_000;
/** Of the median: goal for the first byte of 99 of 100 streams. */
const GOAL_MS = 2_000;
/** A client that has waited this long is lost. */
const PATIENCE_MS = 60_000;
/** All clients have one address. */
const SETTINGS = { MAX_CONNECTIONS: '8000', MAX_CONNECTIONS_PER_ADDRESS: '8000' };

const START = `event: message_start\ndata: ${JSON.stringify({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  },
})}\n\n`;
const STOP = `event: message_delta\ndata: ${JSON.stringify({
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  usage: { output_tokens: 1 },
})}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`;

async function respond(response: ServerResponse): Promise<void> {
  await pause(FIRST_MS);
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(START);
  await pause(WHOLE_MS - FIRST_MS);
  response.end(STOP);
}

interface Ended {
  readonly kind: 'served' | 'refused' | 'failed';
  /** Until the first byte of the body. */
  readonly firstMs: number;
}

/** One streamed call, on a connection of its own. */
function send(target: Target, text: string): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>();
  const begun = performance.now();
  const body = JSON.stringify({
    model: 'bench-burst',
    max_tokens: 9,
    stream: true,
    messages: [{ role: 'user', content: text }],
  });
  let firstMs = PATIENCE_MS;
  const fail = (): void => resolve({ kind: 'failed', firstMs });
  const call = request({
    port: target.port,
    method: 'POST',
    path: '/v1/messages',
    agent: false,
    timeout: PATIENCE_MS,
    headers: { ...target.headers('messages'), 'content-type': 'application/json' },
  });
  call.on('error', fail);
  call.on('timeout', () => call.destroy(new Error('no response')));
  call.on('response', (response) => {
    let received = '';
    response.setEncoding('utf8');
    response.on('error', fail);
    response.on('data', (chunk: string) => {
      if (received === '') firstMs = performance.now() - begun;
      received += chunk;
    });
    response.on('end', () => {
      if (response.statusCode === 200) resolve({ kind: received.endsWith(STOP) ? 'served' : 'failed', firstMs });
      else resolve({ kind: [429, 503, 529].includes(response.statusCode ?? 0) ? 'refused' : 'failed', firstMs });
    });
  });
  call.end(body);
  return promise;
}

const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;

async function burst(target: Target, name: string, calls: number, text: string): Promise<void> {
  const begun = performance.now();
  const cpu = cpuOfTree(target.pid ?? 0).own;
  const ended = await Promise.all(Array.from({ length: calls }, () => send(target, text)));
  const seconds = (performance.now() - begun) / 1_000;
  const used = ((cpuOfTree(target.pid ?? 0).own - cpu) * 1e6) / calls;
  const timesOf = (kind: Ended['kind']): number[] =>
    ended.flatMap((one) => (one.kind === kind ? [one.firstMs] : [])).sort((a, b) => a - b);
  const [served, refused, failed] = [timesOf('served'), timesOf('refused'), timesOf('failed')];
  const [p50, p99] = [quantile(served, 0.5), quantile(served, 0.99)];
  const shown = (ms: number): string => `${Math.round(ms)} ms`;
  console.log(
    [
      `${name}: ${calls} at once, all ended after ${seconds.toFixed(1)} s, ${Math.round(used)} us of CPU time of the gateway each`,
      `  served ${served.length}: first byte p50 ${shown(p50)}, p99 ${shown(p99)} (goal ${shown(p50 + GOAL_MS)})`,
      `  refused ${refused.length}${refused.length > 0 ? `: p50 ${shown(quantile(refused, 0.5))}` : ''}; failed ${failed.length} (goal 0)`,
      `  load average ${loadavg()[0]?.toFixed(1)}`,
    ].join('\n'),
  );
}

const provider = createServer((received, response) => {
  received.resume();
  received.on('end', () => void respond(response));
});
provider.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
await once(provider, 'listening');
const { port } = provider.address() as AddressInfo;
console.log(describeMachine());
for (const workers of WORKERS) {
  const env = { ...SETTINGS, WORKERS: String(workers) };
  const target = await startGateway(
    { name: 'dragoman', env, account: { max_concurrency: null }, isPinned: false },
    port,
  );
  try {
    // Its port opens before the configuration is applied.
    while ((await send(target, 'hi')).kind !== 'served') await pause(100);
    console.log(`\nworkers: ${workers}`);
    await burst(target, 'streams', STREAMS, 'hi');
    await burst(target, `bodies of ${LARGE_BYTES / 1_000} KB`, LARGE, 'x'.repeat(LARGE_BYTES));
  } finally {
    await target.stop();
  }
}
provider.close();
provider.closeAllConnections();

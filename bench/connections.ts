/**
 * `npm run bench -- connections`: what a new connection costs beside Node's own server, what two workers on two cores serve beside one on one,
 * and what 1,500 clients that connect at once do to each other and to health checks. `--seconds` for each measurement.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort, nextMessage, sendOrder, startHelper } from './child.ts';
import { startCommand } from './command.ts';
import { startGateway } from './gateway.ts';
import type { LoadReport, ProbeReport } from './load.ts';
import { CORES, cpuOfTree } from './machine.ts';
import type { CrowdReport, NewReport } from './newcomers.ts';
import { NATIVE, requestOf } from './scenarios.ts';
import { describeStand, numberText } from './stand.ts';
import type { Target } from './target.ts';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '5' } } });
const MS = Number(values.seconds) * 1_000;
const CROWD = 1_500;
const LANES = 16;
const PROBE_MS = 50;
const CONNECTIONS = 64;
const GOAL = { connection: 1.2, workers: 1.8, afterMedianMs: 2_000, healthMs: 100 };
const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: bench\r\n\r\n';
const SETTINGS = { MAX_CONNECTIONS: '8000', MAX_CONNECTIONS_PER_ADDRESS: '8000', SHEDDING: 'off' };

const upstream = startHelper('./upstream.ts', CORES?.load);
const { port: upstreamPort } = await nextMessage<{ port: number }>(upstream);
const newcomers = startHelper('./newcomers.ts', CORES?.load);
const prober = startHelper('./newcomers.ts', undefined);
const load = startHelper('./load.ts', CORES?.load);
const line = (text: string): void => console.log(text);
try {
  line(describeStand());
  await printConnectionCost();
  await printCrowd();
  await printWorkers();
} finally {
  for (const helper of [load, prober, newcomers, upstream]) await helper.stop();
}

/** CPU time of a request for /healthz on a new connection, in us. */
async function connectionMicros({ port, pid = 0 }: Target): Promise<number> {
  const order = { lanes: LANES, port, request: HEALTH };
  await sendOrder<NewReport>(newcomers, { ...order, ms: MS / 2 });
  const before = cpuOfTree(pid).own;
  const { requests } = await sendOrder<NewReport>(newcomers, { ...order, ms: MS });
  return ((cpuOfTree(pid).own - before) * 1e6) / requests;
}

async function printConnectionCost(): Promise<void> {
  const script = fileURLToPath(new URL('node-server.ts', import.meta.url));
  const command = `'${process.execPath}' '${script}' {port}`;
  const node = await startCommand({ name: 'node', dialect: 'messages', command }, upstreamPort);
  const gateway = await startGateway({ name: 'dragoman', env: SETTINGS }, upstreamPort);
  const [theirs, ours] = [await connectionMicros(node), await connectionMicros(gateway)];
  await Promise.all([node.stop(), gateway.stop()]);
  line(
    `new connection with one request: ${numberText(ours)} us, ${numberText(theirs)} us of Node's own server: ${numberText(ours / theirs, 2)} times (goal ${GOAL.connection})`,
  );
}

/** The port opens before the configuration is applied. */
async function whenServing(port: number, request: string): Promise<void> {
  const probe = { probe: true, port, request } as const;
  while ((await sendOrder<ProbeReport>(load, probe)).status !== 200) await pause(100);
}

async function printCrowd(): Promise<void> {
  const healthPort = await freePort();
  const env = { ...SETTINGS, HEALTH_PORT: String(healthPort) };
  const gateway = await startGateway({ name: 'dragoman', env }, upstreamPort);
  const request = requestOf(gateway, NATIVE, 'bench-burst', false);
  await whenServing(gateway.port, request);
  const order = { crowd: CROWD, port: gateway.port, request, ms: MS };
  // From a process of their own, because the one of the crowd is as busy as the gateway.
  const probes = { lanes: 1, port: healthPort, request: HEALTH, ms: MS, pauseMs: PROBE_MS };
  await sendOrder<LoadReport>(load, { port: gateway.port, request, connections: CONNECTIONS, ms: MS, isLead: false });
  const [report, health] = await Promise.all([
    sendOrder<CrowdReport>(newcomers, order),
    sendOrder<NewReport>(prober, probes),
  ]);
  await gateway.stop();
  line(
    `${CROWD} clients connect at once to one worker: ${report.answered} answered, p50 ${numberText(report.firstP50)} ms, the last ${numberText(report.firstMax - report.firstP50)} ms after the median (goal ${GOAL.afterMedianMs}); ${report.responses} responses in all`,
  );
  line(
    `health checks meanwhile: ${health.requests} and ${health.failures} failed, p50 ${numberText(health.p50, 1)} ms, max ${numberText(health.max, 1)} ms (goal ${GOAL.healthMs})`,
  );
}

/** The load shares the two cores, so that the ratio is a lower bound. */
async function printWorkers(): Promise<void> {
  const served: Record<string, number[]> = { 'keep-alive': [], 'a connection for each request': [] };
  for (const workers of [1, 2]) {
    const env = { ...SETTINGS, WORKERS: String(workers) };
    const gateway = await startGateway({ name: 'dragoman', env, isPinned: workers === 1 }, upstreamPort);
    const request = requestOf(gateway, NATIVE, 'bench-burst', false);
    await whenServing(gateway.port, request);
    const order = { port: gateway.port, request, connections: CONNECTIONS };
    await sendOrder<LoadReport>(load, { ...order, ms: MS, isLead: false });
    const kept = await sendOrder<LoadReport>(load, { ...order, ms: MS, isLead: false });
    if (kept.failures > 0) line(`${workers} workers: ${kept.failures} failed: ${kept.failure}`);
    const fresh = await sendOrder<NewReport>(newcomers, { lanes: CONNECTIONS, port: gateway.port, request, ms: MS });
    served['keep-alive']?.push(kept.requests / kept.seconds);
    served['a connection for each request']?.push(fresh.requests / fresh.seconds);
    await gateway.stop();
  }
  for (const [name, [one = 0, two = 0]] of Object.entries(served))
    line(
      `two workers on two cores, ${name}: ${numberText(two)} requests/s, one worker on one core ${numberText(one)}: ${numberText(two / one, 2)} times (goal ${GOAL.workers})`,
    );
}

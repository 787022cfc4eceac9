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
const SETTINGS = { MAX_CONNECTIONS: '8000', MAX_CONNECTIONS_PER_ADDRESS: '8000' };

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

interface WorkersRow {
  /** Requests per second, and CPU time of all processes of the gateway for each, in us. */
  readonly rate: number;
  readonly micros: number;
}

/**
 * The load shares the two cores, so that the ratio of the rates is a lower bound. CPU time does not depend on who shares the cores: with
 * cores of their own, two workers serve twice as much as one, divided by what a request costs more.
 */
async function printWorkers(): Promise<void> {
  const rows: Record<string, WorkersRow[]> = { 'keep-alive': [], 'a connection for each request': [] };
  for (const workers of [1, 2]) {
    const env = { ...SETTINGS, WORKERS: String(workers) };
    const gateway = await startGateway({ name: 'dragoman', env, isPinned: workers === 1 }, upstreamPort);
    const request = requestOf(gateway, NATIVE, 'bench-burst', false);
    await whenServing(gateway.port, request);
    const order = { port: gateway.port, request, connections: CONNECTIONS };
    await sendOrder<LoadReport>(load, { ...order, ms: 2 * MS, isLead: false });
    const kept = await sendMeasured<LoadReport>(gateway, () => sendOrder(load, { ...order, ms: MS, isLead: false }));
    if (kept.failures > 0) line(`${workers} workers: ${kept.failures} failed: ${kept.failure}`);
    const fresh = await sendMeasured<NewReport>(gateway, () =>
      sendOrder(newcomers, { lanes: CONNECTIONS, port: gateway.port, request, ms: MS }),
    );
    rows['keep-alive']?.push(kept);
    rows['a connection for each request']?.push(fresh);
    await gateway.stop();
  }
  for (const [name, [one, two]] of Object.entries(rows))
    if (one && two)
      line(
        `two workers on two cores, ${name}: ${numberText(two.rate)} requests/s, one worker on one core ${numberText(one.rate)}: at least ${numberText(two.rate / one.rate, 2)} times (goal ${GOAL.workers}); ${numberText(two.micros)} and ${numberText(one.micros)} us of CPU time for a request: ${numberText((2 * one.micros) / two.micros, 2)} times with cores of their own`,
      );
}

async function sendMeasured<R extends { readonly requests: number; readonly seconds: number }>(
  { pid = 0 }: Target,
  send: () => Promise<R>,
): Promise<R & WorkersRow> {
  const before = cpuOfTree(pid).own;
  const report = await send();
  const micros = ((cpuOfTree(pid).own - before) * 1e6) / report.requests;
  return { ...report, rate: report.requests / report.seconds, micros };
}

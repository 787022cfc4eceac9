/**
 * `npm run bench -- connections`: what a new connection costs beside Node's own server, what two workers on two cores
 * serve beside one on one, and what 1,500 clients that connect at once do to each other and to health checks.
 * `--seconds` for each measurement.
 */
import { parseArgs } from 'node:util';
import { freePort, sendOrder, startHelper } from './child.ts';
import { startNode } from './command.ts';
import { type Costed, describeStand, numberText as number, openStand, sendMeasured } from './stand.ts';
import type { LoadReport } from './tally.ts';
import type { Target } from './target.ts';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '5' } } });
const MS = Number(values.seconds) * 1_000;
const CROWD = 1_500;
const LANES = 16;
const PROBE_MS = 50;
const CONNECTIONS = 64;
const GOAL = { connection: 1.2, workers: 1.8, afterMedianMs: 2_000, healthMs: 100 };
const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: bench\r\n\r\n';

const stand = await openStand();
const { load, misuse } = stand;
const line = (text: string): void => console.log(text);
try {
  line(describeStand());
  await printConnectionCost();
  await printCrowd();
  await printWorkers();
} finally {
  await stand.stop();
}

/** CPU time of a request for /healthz on a new connection, in us. */
async function connectionMicros(target: Target): Promise<number> {
  const order = { connections: LANES, isNew: true, port: target.port, request: HEALTH };
  await sendMeasured(misuse, target, { ...order, ms: MS / 2 });
  return (await sendMeasured(misuse, target, { ...order, ms: MS })).perRequest;
}

async function printConnectionCost(): Promise<void> {
  const node = await startNode('node-server.ts', stand.upstreamPort);
  const gateway = await stand.open();
  const [theirs, ours] = [await connectionMicros(node), await connectionMicros(gateway.target)];
  await Promise.all([node.stop(), gateway.target.stop()]);
  line(
    `new connection with one request: ${number(ours)} us, ${number(theirs)} us of Node's own server: ${number(ours / theirs, 2)} times (goal ${GOAL.connection})`,
  );
}

async function printCrowd(): Promise<void> {
  const healthPort = await freePort();
  const { target, port, request } = await stand.open({ HEALTH_PORT: String(healthPort) });
  // From a process of their own, because the one of the crowd is as busy as the gateway.
  const prober = startHelper('./load.ts', undefined);
  await sendOrder(load, { port, request, connections: CONNECTIONS, ms: MS });
  const [report, health] = await Promise.all([
    sendOrder<LoadReport>(misuse, { port, request, connections: CROWD, ms: MS }),
    sendOrder<LoadReport>(prober, {
      port: healthPort,
      request: HEALTH,
      connections: 1,
      ms: MS,
      isNew: true,
      pauseMs: PROBE_MS,
    }),
  ]);
  await Promise.all([prober.stop(), target.stop()]);
  line(
    `${CROWD} clients connect at once to one worker: ${report.answered} answered, p50 ${number(report.firstP50)} ms, the last ${number(report.firstMax - report.firstP50)} ms after the median (goal ${GOAL.afterMedianMs}); ${report.requests} calls served in all`,
  );
  line(
    `health checks meanwhile: ${health.requests} and ${health.failures} failed, p50 ${number(health.p50, 1)} ms, max ${number(health.max, 1)} ms (goal ${GOAL.healthMs})`,
  );
}

/**
 * The load shares the two cores, so that the ratio of the rates is a lower bound. CPU time does not depend on who
 * shares the cores: with cores of their own, two workers serve twice as much as one, divided by what a request costs
 * more.
 */
async function printWorkers(): Promise<void> {
  const kept: Costed[] = [];
  const fresh: Costed[] = [];
  for (const workers of [1, 2]) {
    const { target, port, request } = await stand.open({ WORKERS: String(workers) }, workers === 1);
    const order = { port, request, connections: CONNECTIONS };
    await sendOrder(load, { ...order, ms: 2 * MS });
    kept.push(await sendMeasured(load, target, { ...order, ms: MS }));
    fresh.push(await sendMeasured(misuse, target, { ...order, ms: MS, isNew: true }));
    await target.stop();
  }
  printScaling('keep-alive', kept);
  printScaling('a connection for each request', fresh);
}

function printScaling(name: string, [one, two]: readonly Costed[]): void {
  if (!one || !two) return;
  const [alone, both] = [one, two].map(({ requests, seconds }) => requests / seconds) as [number, number];
  line(
    `two workers on two cores, ${name}: ${number(both)} requests/s, one worker on one core ${number(alone)}: at least ${number(both / alone, 2)} times (goal ${GOAL.workers}); ${number(two.perRequest)} and ${number(one.perRequest)} us of CPU time for a request: ${number((2 * one.perRequest) / two.perRequest, 2)} times with cores of their own; ${one.failures + two.failures} failed`,
  );
}

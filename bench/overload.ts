/**
 * `npm run bench -- overload`: measures what one gateway serves at most, then offers more: `--factor` times as much at fixed times, and as
 * much as the generator can send on `--connections`. nginx, which does nothing but refuse, gets the same: what it needs is the least that
 * machine and generator allow. `--seconds` for each load.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sendOrder } from './child.ts';
import type { FloodReport } from './flood.ts';
import type { LoadReport } from './load.ts';
import { cpuOfTree, rssMb, usageNow, WATCHED_CORES } from './machine.ts';
import { startRefusingNginx } from './nginx.ts';
import { describeStand, numberText as number, openStand } from './stand.ts';
import { type Target, TargetUnavailable } from './target.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    factor: { type: 'string', default: '2' },
    connections: { type: 'string', default: '4000' },
  },
});
const [SECONDS, FACTOR, CONNECTIONS] = [Number(values.seconds), Number(values.factor), Number(values.connections)];
const WARM_UP_MS = 8_000;
const PEAK_MS = 6_000;
const PEAK_CONNECTIONS = 64;
/** More than the generator can send: every connection always has a request. */
const FLOOD_FACTOR = 10;
/** Well below the peak, to see when refusals end. */
const CALM_SHARE = 0.2;
const CALM_MS = 500;
const MAX_RECOVERY_S = 30;
const GOAL = { goodput: 0.8, refusedP99: 20 };

const stand = await openStand('./flood.ts');
const { target, load, misuse: flood, request } = stand;
const floor = await startRefusingNginx().catch((error: unknown) => {
  if (error instanceof TargetUnavailable) return undefined;
  throw error;
});
try {
  const peakLoad = (ms: number, isLead: boolean): Promise<LoadReport> =>
    sendOrder(load, { port: target.port, request, connections: PEAK_CONNECTIONS, ms, isLead });
  await peakLoad(WARM_UP_MS, true);
  const cpuBefore = cpuOf(target);
  const peak = await peakLoad(PEAK_MS, false);
  const callMicros = ((cpuOf(target) - cpuBefore) * 1e6) / peak.requests;
  const knee = peak.requests / peak.seconds;
  console.log(describeStand());
  console.log(
    `peak: ${number(knee)} requests/s on ${PEAK_CONNECTIONS} connections, ${number(callMicros)} us of CPU time each`,
  );
  const before = usageNow();
  const start = performance.now();
  for (const factor of [FACTOR, FLOOD_FACTOR]) await overload(knee, factor, callMicros);
  const after = usageNow();
  const rss = rssMb(target.pid ?? 0);
  const recovery = await recoverySeconds(knee * CALM_SHARE);
  const others = after.busy - before.busy - (after.own - before.own);
  const seconds = (performance.now() - start) / 1_000;
  console.log(
    `memory at the end: ${number(rss)} MB; no refusals ${number(recovery, 1)} s after the end of the overload; other programs used ${number((others * 100) / seconds / WATCHED_CORES)} % of the cores`,
  );
} finally {
  await floor?.stop();
  await stand.stop();
}

function cpuOf({ pid = 0 }: Target): number {
  return cpuOfTree(pid).own;
}

function sendFlood({ port }: Target, rate: number, ms: number, connections: number): Promise<FloodReport> {
  return sendOrder<FloodReport>(flood, { port, request, rate, ms, connections });
}

async function overload(knee: number, factor: number, callMicros: number): Promise<void> {
  const rate = knee * factor;
  const least = floor && (await sendFlood(floor, rate, SECONDS * 1_000, CONNECTIONS));
  const before = cpuOf(target);
  const report = await sendFlood(target, rate, SECONDS * 1_000, CONNECTIONS);
  const cpu = (cpuOf(target) - before) * 1e6;
  const { served, refused, sent, failed, seconds } = report;
  const goodput = served / seconds;
  const causes = Object.entries(report.failures).map(([cause, count]) => `${count} ${cause}`);
  console.log(
    [
      '',
      `${factor} times the peak: ${number(report.due / seconds)} requests/s for ${number(seconds)} s, of which ${number(sent / seconds)} a second could be sent on ${CONNECTIONS} connections`,
      `served: ${number(goodput)} a second, ${number((goodput / knee) * 100)} % of the peak (goal ${GOAL.goodput * 100} %); p50 ${number(report.servedP50, 1)} ms, p99 ${number(report.servedP99, 1)} ms`,
      `refused: ${number(refused / seconds)} a second; p50 ${number(report.refusedP50, 1)} ms, p99 ${number(report.refusedP99, 1)} ms (goal ${GOAL.refusedP99} ms); about ${number((cpu - served * callMicros) / refused)} us of CPU time each, if a served one costs what it does at the peak`,
      ...(least ? [`nginx refuses ${describeFloor(least)}`] : []),
      `the generator itself is late by ${number(report.ownDelayP99, 1)} ms at p99; ${CONNECTIONS} requests that are always open take ${number((CONNECTIONS * 1_000 * seconds) / (served + refused))} ms each at this rate, whatever the server does`,
      `failed: ${number(failed)} of ${number(sent)}${causes.length === 0 ? '' : ` (${causes.join(', ')})`}`,
    ].join('\n'),
  );
}

function describeFloor({ refused, seconds, refusedP50, refusedP99 }: FloodReport): string {
  return `${number(refused / seconds)} a second of the same load; p50 ${number(refusedP50, 1)} ms, p99 ${number(refusedP99, 1)} ms`;
}

async function recoverySeconds(rate: number): Promise<number> {
  const start = performance.now();
  for (;;) {
    const { refused, failed } = await sendFlood(target, rate, CALM_MS, 512);
    const seconds = (performance.now() - start) / 1_000;
    if ((refused === 0 && failed === 0) || seconds > MAX_RECOVERY_S) return seconds;
    await pause(100);
  }
}

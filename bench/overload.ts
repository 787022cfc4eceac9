/**
 * `npm run bench -- overload`: measures what one gateway serves at most, then offers more: `--factor` times as much at
 * fixed times, and as much as the generator can send on `--connections`. nginx, which does nothing but refuse, gets the
 * same: what it needs is the least that machine and generator allow. `--seconds` for each load.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { rssMb, usageNow, WATCHED_CORES } from './machine.ts';
import { startRefusingNginx } from './nginx.ts';
import { type Costed, describeStand, numberText as number, openStand, sendMeasured } from './stand.ts';
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

const stand = await openStand();
const floor = await startRefusingNginx().catch((error: unknown) => {
  if (error instanceof TargetUnavailable) return undefined;
  throw error;
});
try {
  const { target, port, request } = await stand.open();
  const order = { port, request, connections: PEAK_CONNECTIONS };
  await sendMeasured(stand.load, target, { ...order, ms: WARM_UP_MS, isLead: true });
  const peak = await sendMeasured(stand.load, target, { ...order, ms: PEAK_MS });
  const knee = peak.requests / peak.seconds;
  console.log(describeStand());
  console.log(
    `peak: ${number(knee)} requests/s on ${PEAK_CONNECTIONS} connections, ${number(peak.perRequest)} us of CPU time each`,
  );
  const sendFlood = (to: Target, rate: number, ms: number, connections: number): Promise<Costed> =>
    sendMeasured(stand.misuse, to, { destinations: [{ port: to.port, request }], rate, ms, connections });
  const before = usageNow();
  const start = performance.now();
  for (const factor of [FACTOR, FLOOD_FACTOR]) {
    const flood = (to: Target): Promise<Costed> => sendFlood(to, knee * factor, SECONDS * 1_000, CONNECTIONS);
    const least = floor && (await flood(floor));
    console.log(describeOverload(await flood(target), least, { factor, knee, callMicros: peak.perRequest }));
  }
  const after = usageNow();
  const seconds = (performance.now() - start) / 1_000;
  const rss = rssMb(target.pid ?? 0);
  const recovery = await recoverySeconds(() => sendFlood(target, knee * CALM_SHARE, CALM_MS, 512));
  const others = after.busy - before.busy - (after.own - before.own);
  console.log(
    `memory at the end: ${number(rss)} MB; no refusals ${number(recovery, 1)} s after the end of the overload; other programs used ${number((others * 100) / seconds / WATCHED_CORES)} % of the cores`,
  );
} finally {
  await floor?.stop();
  await stand.stop();
}

interface Offered {
  readonly factor: number;
  /** Requests per second at the peak, and what one costs there. */
  readonly knee: number;
  readonly callMicros: number;
}

function describeOverload(report: Costed, least: Costed | undefined, { factor, knee, callMicros }: Offered): string {
  const { requests: served, refused, failures, silent, lost, seconds } = report;
  const sent = served + failures;
  const micros = (report.cpu - served * callMicros) / refused;
  const timesOf = ({ refusedP50, refusedP99 }: Costed): string =>
    `p50 ${number(refusedP50, 1)} ms, p99 ${number(refusedP99, 1)} ms`;
  return [
    '',
    `${factor} times the peak: ${number((sent + lost) / seconds)} requests/s for ${number(seconds)} s, of which ${number(sent / seconds)} a second could be sent on ${CONNECTIONS} connections`,
    `served: ${number(served / seconds)} a second, ${number((served / seconds / knee) * 100)} % of the peak (goal ${GOAL.goodput * 100} %); p50 ${number(report.p50, 1)} ms, p99 ${number(report.p99, 1)} ms`,
    `refused: ${number(refused / seconds)} a second; ${timesOf(report)} (goal ${GOAL.refusedP99} ms); about ${number(micros)} us of CPU time each, if a served one costs what it does at the peak`,
    ...(least
      ? [`nginx refuses ${number(least.refused / least.seconds)} a second of the same load; ${timesOf(least)}`]
      : []),
    `the generator itself is late by ${number(report.lateP99, 1)} ms at p99; ${CONNECTIONS} requests that are always open take ${number((CONNECTIONS * 1_000 * seconds) / (served + refused))} ms each at this rate, whatever the server does`,
    `failed: ${number(failures - refused)} of ${number(sent)}, ${number(silent)} of them without a response`,
  ].join('\n');
}

async function recoverySeconds(send: () => Promise<Costed>): Promise<number> {
  const start = performance.now();
  for (;;) {
    const { failures } = await send();
    const seconds = (performance.now() - start) / 1_000;
    if (failures === 0 || seconds > MAX_RECOVERY_S) return seconds;
    await pause(100);
  }
}

/**
 * `npm run bench -- overload`: measures what one gateway serves at most, then offers it ten times as much. Prints how much of the peak is
 * still served, how fast the rest is refused, and how soon everything is served again. `--seconds` and `--factor` change the size.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sendOrder } from './child.ts';
import type { FloodReport } from './flood.ts';
import type { LoadReport } from './load.ts';
import { rssMb, usageNow, WATCHED_CORES } from './machine.ts';
import { describeStand, numberText, openStand } from './stand.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    factor: { type: 'string', default: '10' },
    connections: { type: 'string', default: '4000' },
  },
});
const [SECONDS, FACTOR, CONNECTIONS] = [Number(values.seconds), Number(values.factor), Number(values.connections)];
const WARM_UP_MS = 8_000;
const PEAK_MS = 6_000;
const PEAK_CONNECTIONS = 64;
/** Well below the peak, to see when refusals end. */
const CALM_SHARE = 0.2;
const CALM_MS = 500;
const MAX_RECOVERY_S = 30;
const GOAL = { goodput: 0.8, refusedP99: 20 };

const stand = await openStand('./flood.ts');
const { target, load, misuse: flood, request } = stand;
const { port } = target;
try {
  const peakLoad = (ms: number, isLead: boolean): Promise<LoadReport> =>
    sendOrder(load, { port, request, connections: PEAK_CONNECTIONS, ms, isLead });
  await peakLoad(WARM_UP_MS, true);
  const peak = await peakLoad(PEAK_MS, false);
  const knee = peak.requests / peak.seconds;
  const before = usageNow();
  const report = await sendOrder<FloodReport>(flood, {
    port,
    request,
    rate: knee * FACTOR,
    ms: SECONDS * 1_000,
    connections: CONNECTIONS,
  });
  const after = usageNow();
  const rss = rssMb(target.pid ?? 0);
  const recovery = await recoverySeconds(knee * CALM_SHARE);
  const others = (after.busy - before.busy - (after.own - before.own)) / report.seconds / WATCHED_CORES;
  print(knee, report, { rss, recovery, others });
} finally {
  await stand.stop();
}

async function recoverySeconds(rate: number): Promise<number> {
  const start = performance.now();
  for (;;) {
    const { refused, failed } = await sendOrder<FloodReport>(flood, {
      port,
      request,
      rate,
      ms: CALM_MS,
      connections: 512,
    });
    const seconds = (performance.now() - start) / 1_000;
    if ((refused === 0 && failed === 0) || seconds > MAX_RECOVERY_S) return seconds;
    await pause(100);
  }
}

function print(knee: number, report: FloodReport, more: { rss: number; recovery: number; others: number }): void {
  const goodput = report.served / report.seconds;
  const share = goodput / knee;
  const number = numberText;
  const causes = Object.entries(report.failures).map(([cause, count]) => `${count} ${cause}`);
  console.log(
    [
      `${describeStand()}; other programs used ${number(more.others * 100)} % of the cores`,
      `peak: ${number(knee)} requests/s on ${PEAK_CONNECTIONS} connections`,
      `offered: ${number(report.due / report.seconds)} requests/s for ${number(report.seconds)} s; ${number(report.sent / report.seconds)} a second could be sent on ${CONNECTIONS} connections`,
      `served: ${number(goodput)} a second, ${number(share * 100)} % of the peak (goal ${GOAL.goodput * 100} %); p50 ${number(report.servedP50, 1)} ms, p99 ${number(report.servedP99, 1)} ms`,
      `refused: ${number(report.refused / report.seconds)} a second; p50 ${number(report.refusedP50, 1)} ms, p99 ${number(report.refusedP99, 1)} ms (goal ${GOAL.refusedP99} ms); the generator itself is late by ${number(report.ownDelayP99, 1)} ms at p99`,
      `failed: ${number(report.failed)} of ${number(report.sent)}${causes.length === 0 ? '' : ` (${causes.join(', ')})`}`,
      `memory at the end: ${number(more.rss)} MB; no refusals ${number(more.recovery, 1)} s after the end of the overload`,
    ].join('\n'),
  );
}

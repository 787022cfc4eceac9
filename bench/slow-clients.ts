/**
 * `npm run bench -- slow-clients`: latency of ordinary requests before and while 500 clients read nothing and 2,000
 * have sent half of a request. `--readers`, `--halves` and `--seconds` change the size.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sendOrder } from './child.ts';
import { cpuSeconds, rssMb } from './machine.ts';
import { NATIVE, OPEN_LOOP_CONNECTIONS, OPEN_LOOP_RATE as RATE, requestOf } from './scenarios.ts';
import { describeStand, numberText, openStand } from './stand.ts';
import type { LoadReport } from './tally.ts';

const { values } = parseArgs({
  options: {
    readers: { type: 'string', default: '500' },
    halves: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '20' },
  },
});
const [READERS, HALVES, SECONDS] = [Number(values.readers), Number(values.halves), Number(values.seconds)];
const WARM_UP_MS = 8_000;
/** Until the buffers of the stalled connections are full, the gateway is busy with them. */
const MAX_SETTLE_S = 60;
const IDLE_SHARE = 0.1;
const GOAL = 1.2;

const stand = await openStand();
try {
  const { target, port, request } = await stand.open();
  const destinations = [
    { port, request },
    { port: stand.upstreamPort, request },
  ];
  const measure = (ms: number): Promise<[LoadReport, LoadReport]> =>
    sendOrder(stand.load, { rate: RATE, destinations, ms, connections: OPEN_LOOP_CONNECTIONS });
  await measure(WARM_UP_MS);
  const alone = await measure(SECONDS * 1_000);
  const head = request.slice(0, request.indexOf('\r\n\r\n') >> 1);
  const stalled = [
    { count: READERS, bytes: requestOf(target, NATIVE, { model: 'bench-flood', stream: true }) },
    { count: HALVES >> 1, bytes: head },
    { count: HALVES - (HALVES >> 1), bytes: request.slice(0, -100) },
  ];
  await sendOrder(stand.misuse, { port, stall: stalled });
  const settled = await settle(target.pid ?? 0);
  const beside = await measure(SECONDS * 1_000);
  const rss = rssMb(target.pid ?? 0);
  const ms = (value: number | null): string => numberText(value, 2);
  const line = (name: string, [own, upstream]: readonly [LoadReport, LoadReport]): string =>
    `${name}: ${own.requests} served, ${own.failures + own.lost} failed${own.failure === undefined ? '' : ` (${own.failure.slice(0, 200)})`}; p50 ${ms(own.p50)} ms, p99 ${ms(own.p99)} ms; upstream itself p99 ${ms(upstream.p99)} ms`;
  console.log(
    [
      `${describeStand()}; ${RATE} requests a second for ${SECONDS} s each`,
      line('alone', alone),
      line(`beside ${READERS} that read nothing and ${HALVES} half-sent requests`, beside),
      `p99 ratio ${(beside[0].p99 / alone[0].p99).toFixed(2)} (goal at most ${GOAL}); memory ${Math.round(rss)} MB; buffers were full after ${settled} s`,
    ].join('\n'),
  );
} finally {
  await stand.stop();
}

/** Seconds until the process is idle again. */
async function settle(pid: number): Promise<number> {
  for (let seconds = 1; ; seconds += 1) {
    const before = cpuSeconds(pid);
    await pause(1_000);
    if (cpuSeconds(pid) - before < IDLE_SHARE || seconds === MAX_SETTLE_S) return seconds;
  }
}

/**
 * `npm run bench -- slow-clients`: latency of ordinary requests before and while 500 clients read nothing and 2,000 have sent half of a
 * request. `--readers`, `--halves` and `--seconds` change the size.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sendOrder } from './child.ts';
import { cpuSeconds, rssMb } from './machine.ts';
import type { OpenLoopReport } from './open-loop.ts';
import { NATIVE, requestOf } from './scenarios.ts';
import type { SlowReport } from './slow-load.ts';
import { describeStand, numberText, openStand } from './stand.ts';

const { values } = parseArgs({
  options: {
    readers: { type: 'string', default: '500' },
    halves: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '20' },
  },
});
const [READERS, HALVES, SECONDS] = [Number(values.readers), Number(values.halves), Number(values.seconds)];
const RATE = 200;
const WARM_UP_MS = 8_000;
/** Until the buffers of the stalled connections are full, the gateway is busy with them. */
const MAX_SETTLE_S = 60;
const IDLE_SHARE = 0.1;
const GOAL = 1.2;

const stand = await openStand('./slow-load.ts');
const { target, upstreamPort, load, misuse: slow, request } = stand;
const { port } = target;
try {
  const measure = (ms: number): Promise<OpenLoopReport> =>
    sendOrder(load, { rate: RATE, target: { port, request }, upstream: { port: upstreamPort, request }, ms });
  await measure(WARM_UP_MS);
  const alone = await measure(SECONDS * 1_000);
  const flood = requestOf(target, NATIVE, 'bench-flood', true);
  const held = await sendOrder<SlowReport>(slow, { port, flood, request, readers: READERS, halves: HALVES });
  const settled = await settle(target.pid ?? 0);
  const beside = await measure(SECONDS * 1_000);
  const rss = rssMb(target.pid ?? 0);
  const ms = (value: number | null): string => numberText(value, 2);
  const line = (name: string, { requests, failures, failure, p50, p99, upstreamP99 }: OpenLoopReport): string =>
    `${name}: ${requests} served, ${failures} failed${failure === undefined ? '' : ` (${failure.slice(0, 200)})`}; p50 ${ms(p50)} ms, p99 ${ms(p99)} ms; upstream itself p99 ${ms(upstreamP99)} ms`;
  console.log(
    [
      `${describeStand()}; ${RATE} requests a second for ${SECONDS} s each`,
      line('alone', alone),
      line(`beside ${held.readers} that read nothing and ${held.halves} half-sent requests`, beside),
      `p99 ratio ${(beside.p99 / alone.p99).toFixed(2)} (goal at most ${GOAL}); memory ${Math.round(rss)} MB; buffers were full after ${settled} s`,
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

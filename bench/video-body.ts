/**
 * `npm run bench -- video-body`: examines task bodies of 64 MB on the event loop and in the worker, and prints how long
 * the event loop was blocked meanwhile. Every millisecond of delay is one that all other requests of the process wait.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../src/core/index.ts';
import { ThreadPool } from '../src/platform/threads/index.ts';
import { BODY_BYTES, sheetOf } from '../src/rules/index.ts';
import { examineJob } from '../src/video/request/examine-job.ts';
import { describeMachine } from './machine.ts';
import { median } from './quantile.ts';

const RUNS = 8;
const TARGET = { sheet: sheetOf('A') } as const;
const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** Three images whose Base64 fills the largest body that is accepted. */
function largestBody(): Buffer {
  const bytes = Math.floor(((BODY_BYTES.video - 1_024) / 3 / 4) * 3);
  const url = `data:image/png;base64,${Buffer.concat([PNG, Buffer.alloc(bytes - PNG.length, 0x5a)]).toString('base64')}`;
  const image = { type: 'image_url', image_url: { url }, role: 'reference_image' };
  return Buffer.from(JSON.stringify({ model: 'bench', content: [image, image, image] }));
}

async function measure(name: string, inlineBytes: number): Promise<void> {
  const threads = new ThreadPool({ clock: systemClock });
  const examine = (bytes: Buffer) =>
    threads.run(
      { ...examineJob, inlineBytes },
      { bytes, entry: 'tasks', target: TARGET },
      { key: { id: '', userId: '' }, bytes: bytes.length },
    );
  // The first body starts the worker and compiles the code. Copies are made before, because copying blocks the event
  // loop, too.
  const [first = largestBody(), ...bodies] = Array.from({ length: RUNS + 1 }, largestBody);
  await examine(first);
  await pause(200);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const times: number[] = [];
  for (const body of bodies) {
    const begun = performance.now();
    const examination = await examine(body);
    times.push(performance.now() - begun);
    await pause(20);
    if (examination.kind !== 'parsed' || !examination.result || 'error' in examination.result)
      throw new Error('rejected');
  }
  delay.disable();
  await threads.close();
  const ms = (nanos: number): string => (nanos / 1e6).toFixed(1);
  console.log(`| ${name} | ${median(times).toFixed(0)} | ${ms(delay.percentile(99))} | ${ms(delay.max)} |`);
}

// The worker does not keep the process alive.
const alive = setInterval(() => undefined, 60_000);
console.log(`Machine: ${describeMachine()}. ${RUNS} bodies of ${(largestBody().length / 2 ** 20).toFixed(1)} MB.`);
console.log('| | examined in ms | loop delay p99 ms | loop delay max ms |\n|---|--:|--:|--:|');
await measure('on the event loop', Number.POSITIVE_INFINITY);
await measure('in the worker', 0);
clearInterval(alive);

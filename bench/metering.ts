/**
 * `npm run bench -- metering`: CPU time that limits and metering add to a call, over all threads of this process: key
 * limits, maximum cost and reservation, usage of a 1 KB response, price, record, journal and the statements of the
 * flusher. The gateway cannot run without them, so this compares a loop of 64 calls per event loop turn with the same
 * loop without them, alternating; the result is the median of nine. The CPU time of PostgreSQL is not included. Also
 * prints the records per second from reservation to charge in the database: on one wallet, the worst case, because
 * every batch waits for the same row, with fsync on.
 */
import { newRequestId, silentLog } from '../src/core/index.ts';
import { Billing } from '../src/gateway/billing/admission.ts';
import { resolveModel } from '../src/gateway/models/resolve.ts';
import { UnaryTap } from '../src/gateway/native/unary-tap.ts';
import { Metering } from '../src/ledger/index.ts';
import type { Call } from '../src/platform/web/index.ts';
import { Limiter, LocalLimits, Pool } from '../src/providers/pool/index.ts';
import { benchRequest } from './bodies.ts';
import { cpuMicros, openBenchFixture } from './fixture.ts';
import { describeMachine } from './machine.ts';
import { median } from './quantile.ts';

const REPEATS = 9;
const CALLS = 12_800;
const AT_ONCE = 64;
const GOAL = { micros: 25, records: 5_000 };

const { context, caller, catalog, close } = await openBenchFixture();
const { clock } = context;
const metering = await Metering.start({
  db: context.database.db,
  dataDir: context.config.DATA_DIR,
  clock,
  log: silentLog,
});
const limiter = new Limiter(new LocalLimits(clock));
const billing = new Billing({ metering, limiter, pool: new Pool(clock), clock, lessons: { learn: () => {} } });
const model = resolveModel(catalog, caller, 'bench-burst');
const usage = { input_tokens: 312, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 180 };
const content = [{ type: 'text', text: 'A river follows the steepest way down. '.repeat(15) }];
const response = Buffer.from(JSON.stringify({ type: 'message', role: 'assistant', content, usage }));
const bodyBytes = benchRequest('messages', 'bench-burst', false).body.length;

try {
  const plain: number[] = [];
  const metered: number[] = [];
  const rates: number[] = [];
  for (let n = -2; n < REPEATS; n += 1) {
    const off = await measure(withoutMetering);
    const begun = performance.now();
    const on = await measure(withMetering);
    // The first two rounds warm up.
    if (n < 0) continue;
    plain.push(off);
    metered.push(on);
    rates.push((CALLS * 1_000) / (performance.now() - begun));
  }
  const added = metered.map((on, n) => on - (plain[n] ?? 0)).sort((a, b) => a - b);
  const middle = median(added);
  console.log(`Machine: ${describeMachine()}. ${REPEATS} x ${CALLS} calls, ${AT_ONCE} at once.`);
  console.log(
    `Limits and metering add ${middle.toFixed(1)} us of CPU time to a call (${added[0]?.toFixed(1)} to ${added.at(-1)?.toFixed(1)}); goal ${GOAL.micros}: ${middle <= GOAL.micros ? 'met' : 'missed'}.`,
  );
  const rate = median(rates);
  console.log(
    `${Math.round(rate)} records per second; goal ${GOAL.records}: ${rate >= GOAL.records ? 'met' : 'missed'}.`,
  );
} finally {
  await metering.close();
  await close();
}

/** Microseconds of CPU time per call, including the flush. */
async function measure(run: (call: Call) => void | Promise<void>): Promise<number> {
  await metering.drain();
  const before = cpuMicros();
  for (let n = 0; n < CALLS; n += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => run(newCall())));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await metering.drain();
  return (cpuMicros() - before) / CALLS;
}

/** The members of a call that metering uses. */
function newCall(): Call {
  const logFields = {};
  const addLogFields = (fields: object) => Object.assign(logFields, fields);
  return { id: newRequestId(Date.now()), logFields, addLogFields, trace: {} } as unknown as Call;
}

async function withoutMetering(call: Call): Promise<void> {
  call.addLogFields({ model: model.name });
  await undefined;
}

async function withMetering(call: Call): Promise<void> {
  call.addLogFields({ model: model.name });
  const slot = await limiter.acquire(caller.key);
  const admission = await billing.admit(call, caller, {
    operation: 'messages.create',
    model,
    bodyBytes,
    maxOutput: 1024,
  });
  const tap = new UnaryTap('messages');
  tap.push(response);
  const { usage: counted } = tap.end();
  if (!counted) throw new Error('the response has no usage');
  admission.settle(counted, { account: { id: 'mock-messages', models: new Map() } });
  await admission.flushed();
  slot?.release();
}

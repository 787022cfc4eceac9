/**
 * `npm run bench:metering`: what limits and metering add to a call, in CPU time of this process with all its threads: entering the
 * limits of the key, the bound and its reservation, usage read from an answer of 1 KB, cost, record, journal, and the flusher's
 * statements. The gateway cannot be served without them, so they run here as they do there, 64 calls to a turn of the event
 * loop, against the same loop without them; both in turn, medians of nine. What PostgreSQL itself does is its own process.
 */
import { newRequestId, silentLog } from '../src/core/index.ts';
import { Billing } from '../src/gateway/index.ts';
import { resolveModel } from '../src/gateway/models/resolve.ts';
import { tapUnary } from '../src/gateway/native/usage-tap.ts';
import { startMetering } from '../src/ledger/index.ts';
import { LocalLimiter } from '../src/pool/index.ts';
import type { Call } from '../src/web/index.ts';
import { QUESTIONS, UNARY } from './bodies.ts';
import { cpuMicros, median, openBenchGround } from './fixture.ts';
import { describeMachine } from './machine.ts';

const REPEATS = 9;
const CALLS = 12_800;
const AT_ONCE = 64;
const GOAL_US = 25;

const { ground, caller, catalog, close } = await openBenchGround();
const { clock } = ground;
const metering = await startMetering({
  db: ground.database.db,
  dataDir: ground.config.DATA_DIR,
  clock,
  log: silentLog,
});
const limiter = new LocalLimiter(clock);
const meter = new Billing(metering, limiter, clock);
const model = resolveModel(catalog, caller, 'bench-burst');
const answer = Buffer.from(UNARY.messages);
const bodyBytes = QUESTIONS.messages('bench-burst', false).body.length;

try {
  const plain: number[] = [];
  const metered: number[] = [];
  for (let n = -2; n < REPEATS; n += 1) {
    const [off, on] = [await measure(bare), await measure(whole)];
    // The first two find their pace.
    if (n < 0) continue;
    plain.push(off);
    metered.push(on);
  }
  const added = metered.map((on, n) => on - (plain[n] ?? 0)).sort((a, b) => a - b);
  const middle = median(added);
  console.log(`Machine: ${describeMachine()}. ${REPEATS} x ${CALLS} calls, ${AT_ONCE} at once.`);
  console.log(
    `Limits and metering add ${middle.toFixed(1)} us of CPU time to a call (${added[0]?.toFixed(1)} to ${added.at(-1)?.toFixed(1)}); goal ${GOAL_US}: ${middle <= GOAL_US ? 'met' : 'missed'}.`,
  );
} finally {
  await metering.close();
  await close();
}

/** Microseconds of CPU time per call; the flusher is done when the clock stops. */
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

/** The little that metering sees of a call. */
function newCall(): Call {
  const notes = {};
  return { id: newRequestId(), notes, note: (fields: object) => Object.assign(notes, fields) } as unknown as Call;
}

async function bare(call: Call): Promise<void> {
  call.addLogFields({ model: model.name });
  await undefined;
}

async function whole(call: Call): Promise<void> {
  call.addLogFields({ model: model.name });
  const visit = await limiter.acquire(caller.key);
  const ticket = await meter.admit(call, caller, { operation: 'messages.create', model, bodyBytes, maxOutput: 1024 });
  const tap = tapUnary('messages');
  tap.push(answer);
  const { usage } = tap.end();
  if (!usage) throw new Error('the answer says nothing of its usage');
  ticket.settle(usage, { accountId: 'mock-messages' });
  await ticket.flushed();
  visit?.release();
}

// set: load; many callbacks, with kills
/**
 * Five hundred callbacks (`LAWS_RUNS=10`: twenty thousand) to ten receivers. Every receiver fails three of ten requests, and three receivers fail
 * all of them for half of the time. The delivering process is killed five times.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSealer } from '../../src/core/index.ts';
import { type Database, openDatabase } from '../../src/platform/db/index.ts';
import type { DeliveryPlan } from '../support/callback-process.ts';
import { assertValid, type Delivery, Receiver, type Reply, seedEvents } from '../support/callbacks.ts';
import type { CrashStep } from '../support/crash.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { random } from '../support/ledger-process.ts';
import { runs } from '../support/properties.ts';
import { until } from '../support/wait.ts';

const EVENTS = runs(2_000);
const USERS = ['ana', 'bob'] as const;
const RECEIVERS = 10;
const FAILING = 3;
/** The last attempt of an event must not fail by chance. */
const MAX_CHANCE_FAILURES = 5;
const MASTER_KEY = 'callback-load-key-'.repeat(3);
const PROGRAM = fileURLToPath(new URL('../support/callback-process.ts', import.meta.url));
const CRASH = new URL('../support/crash.ts', import.meta.url).href;
/** At each crash point, the nth time; then at any moment. */
const KILLS: readonly (`${CrashStep & `callback.${string}`}#${number}` | undefined)[] = [
  'callback.taking#8',
  'callback.taken#12',
  'callback.sent#60',
  'callback.marked#90',
  undefined,
];

const tokenOf = (user: string): string => `sk-callback-key-of-${user}`;
const userOf = ({ path }: Delivery): string => path.slice(1);
const eventIdOf = ({ headers }: Delivery): string => String(headers['x-gateway-event-id']);

let files: TestDatabase;
let database: Database;
let receivers: Receiver[];
before(async () => {
  files = await testDatabase();
  database = openDatabase(files.url);
  receivers = await Promise.all(Array.from({ length: RECEIVERS }, () => new Receiver().listen()));
});
after(async () => {
  for (const receiver of receivers) receiver.close();
  await database.close();
  await files.drop();
});

/** Counts the deliveries that were confirmed, and fails by chance and by outage. */
class Replies {
  readonly confirmed = new Map<string, number>();
  failures = 0;
  readonly #failuresOf = new Map<string, number>();
  readonly #random = random(20_261_115);

  reply(delivery: Delivery, isFailing: boolean): Reply {
    const id = eventIdOf(delivery);
    const isOut = isFailing && this.confirmed.size < EVENTS / 2;
    const failed = this.#failuresOf.get(id) ?? 0;
    const failsByChance = this.#random(10) < 3 && failed < MAX_CHANCE_FAILURES;
    if (isOut || failsByChance) {
      this.failures += 1;
      if (!isOut) this.#failuresOf.set(id, failed + 1);
      const kind = this.#random(4);
      return kind === 0 ? (response) => response.destroy() : ([500, 302, 404][kind - 1] ?? 500);
    }
    return (response) =>
      void setTimeout(() => {
        this.confirmed.set(id, (this.confirmed.get(id) ?? 0) + 1);
        response.end();
      }, this.#random(10));
  }
}

function startDeliverer(crashAt?: string) {
  const plan: DeliveryPlan = {
    url: files.url,
    masterKey: MASTER_KEY,
    origins: receivers.map(({ origin }) => origin),
  };
  const child = spawn(process.execPath, ['--import', CRASH, PROGRAM, JSON.stringify(plan)], {
    env: { PATH: process.env.PATH ?? '', ...(crashAt !== undefined && { CRASH_AT: crashAt }) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return { child, exited: once(child, 'exit') };
}

test('V 6 r2: every callback arrives, validly signed and within the limits, although receivers fail and the process is killed', async (t) => {
  const sealer = createSealer([['k1', MASTER_KEY]]);
  const replies = new Replies();
  for (const [n, receiver] of receivers.entries())
    receiver.respond = (delivery) => replies.reply(delivery, n < FAILING);
  const events = await seedEvents(
    database.db,
    sealer,
    Array.from({ length: EVENTS / 2 }, (_, n) => {
      const userId = USERS[Math.floor(n / RECEIVERS) % USERS.length] ?? 'ana';
      const { origin } = receivers[n % RECEIVERS] ?? assert.fail();
      return { userId, token: tokenOf(userId), url: `${origin}/${userId}`, versions: [2, 3] };
    }),
  );
  const begun = performance.now();
  for (const crashAt of KILLS) {
    const { child } = startDeliverer(crashAt);
    if (crashAt === undefined) {
      const seen = replies.confirmed.size;
      await until('some deliveries', () => replies.confirmed.size > seen + EVENTS / 50);
      child.kill('SIGKILL');
    }
    await until(`a kill at ${crashAt}`, () => child.signalCode !== null || child.exitCode !== null);
    assert.equal(child.signalCode, 'SIGKILL', String(crashAt));
  }
  const { child, exited } = startDeliverer();
  const countOpen = async (): Promise<number> => {
    const { count } = await database.db
      .selectFrom('callback_events')
      .select(({ fn }) => fn.countAll<bigint>().as('count'))
      .where('state', '<>', 'delivered')
      .executeTakeFirstOrThrow();
    return Number(count);
  };
  await until('the delivery of all', async () => (await countOpen()) === 0, 200_000);
  child.kill('SIGKILL');
  await exited;

  const deliveries = receivers.flatMap((receiver) => receiver.deliveries);
  for (const delivery of deliveries) await assertValid(delivery, tokenOf(userOf(delivery)));
  assert.deepEqual(
    events.filter(({ eventId }) => !replies.confirmed.has(eventId)),
    [],
  );
  const inFlight = receivers.flatMap((receiver) => [...receiver.maxByPath.values()]);
  assert.equal(inFlight.length, RECEIVERS * USERS.length);
  assert.ok(Math.max(...inFlight) <= 4, `at most 4 in flight per destination: ${inFlight}`);
  const repeats = [...replies.confirmed.values()].reduce((sum, count) => sum + count - 1, 0);
  assert.ok(repeats <= KILLS.length * 32, `${repeats} duplicates, more than were in flight at the kills`);
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  t.diagnostic(
    `${events.length} callbacks in ${seconds} s: ${deliveries.length} attempts, ${replies.failures} failed, ${repeats} duplicates, at most ${Math.max(...inFlight)} in flight`,
  );
});

/** Choice, order, limits and outcomes of callbacks, on a database of their own. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import {
  isSignedBy,
  Receiver,
  type SeededEvent,
  type SeededTask,
  seedEvents,
} from '../../../test/support/callbacks.ts';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { until, whileTimePasses } from '../../../test/support/wait.ts';
import { type Clock, createLog, createSealer, systemClock } from '../../core/index.ts';
import { type Database, openDatabase } from '../../platform/db/index.ts';
import { PublicFetcher } from '../../platform/outbound/index.ts';
import { CALLBACK_RULES, type CallbackRules } from '../../rules/index.ts';
import { Deliverer, expireCallbacks } from './deliverer.ts';
import { takeCallbacks } from './take.ts';

const sealer = createSealer([['k1', 'callback-test-key-'.repeat(3)]]);
const TOKEN = 'sk-of-the-callback-tests';
/** One attempt only happens when a test makes the event due. */
const RULES: CallbackRules = { ...CALLBACK_RULES, retryMs: CALLBACK_RULES.retryMs.map(() => 3_600_000), jitter: 0 };

let files: TestDatabase;
let database: Database;
let receiver: Receiver;
let other: Receiver;
let lines: { msg: string; [field: string]: unknown }[] = [];
let open: Deliverer[] = [];

before(async () => {
  files = await testDatabase();
  database = openDatabase(files.url);
  [receiver, other] = [await new Receiver().listen(), await new Receiver().listen()];
});
beforeEach(async () => {
  await sql`truncate callback_events, callback_attempts, callback_circuits`.execute(database.db);
  for (const one of [receiver, other]) one.reset();
  lines = [];
});
afterEach(async () => {
  await Promise.all(open.map((deliverer) => deliverer.stop()));
  open = [];
});
after(async () => {
  receiver.close();
  other.close();
  await database.close();
  await files.drop();
});

/** `clock`: of the time limits of an attempt. */
function deliverer(rules: Partial<CallbackRules> = {}, clock: Clock = systemClock): Deliverer {
  const log = createLog('debug', { write: (line) => void lines.push(JSON.parse(line)) });
  const fetcher = new PublicFetcher({ allow: [receiver.origin, other.origin], clock });
  const made = new Deliverer({ db: database.db, sealer, clock: systemClock, log, fetcher }, { ...RULES, ...rules });
  open.push(made);
  return made;
}

const seed = (...tasks: Partial<SeededTask>[]): Promise<SeededEvent[]> =>
  seedEvents(
    database.db,
    sealer,
    tasks.map((task) => ({ userId: 'ana', token: TOKEN, url: `${receiver.origin}/hook`, ...task })),
  );

const eventOf = (eventId: string) =>
  database.db.selectFrom('callback_events').selectAll().where('event_id', '=', eventId).executeTakeFirstOrThrow();
const attemptsOf = (eventId: string) =>
  database.db
    .selectFrom('callback_attempts')
    .select(['attempt', 'status', 'error'])
    .where('event_id', '=', eventId)
    .orderBy('attempt')
    .execute();
/** Makes pending events due now. */
const makeDue = () =>
  sql`update callback_events set next_at = now() - interval '1 second' where state = 'pending'`.execute(database.db);
const circuit = () => database.db.selectFrom('callback_circuits').selectAll().executeTakeFirst();

/**
 * Runs until nothing is being sent and nothing more can be. The last deliverer finds nothing:
 * one before it frees the slot of an attempt after its row was changed, and takes nothing in between.
 */
async function deliver(rules: Partial<CallbackRules> = {}): Promise<void> {
  for (let isOver = false; !isOver; ) {
    const one = deliverer(rules);
    isOver = (await one.run()) === 0;
    await until('the end of all attempts', async () => {
      const { rows } = await sql`select from callback_events where sending_until > now()`.execute(database.db);
      return rows.length === 0 && (await one.run()) === 0;
    });
    await one.stop();
  }
}

test('V 6 r2: an event that is delivered ends, with its attempt in the log', async () => {
  const [event = assert.fail()] = await seed({});
  await deliver();
  const { state, attempts, last_status, last_error, finished_at, sending_until } = await eventOf(event.eventId);
  assert.deepEqual([state, attempts, last_status, last_error, sending_until], ['delivered', 1, 200, null, null]);
  assert.ok(finished_at);
  assert.deepEqual(await attemptsOf(event.eventId), [{ attempt: 1, status: 200, error: null }]);
  assert.equal(receiver.deliveries.length, 1);
  await deliver();
  assert.equal(receiver.deliveries.length, 1);
});

test('V 6 r2: a failing event is repeated with the same id and body and a fresh signature, then it is dead', async () => {
  const [event = assert.fail()] = await seed({});
  receiver.respond = () => 500;
  for (let n = 1; n <= 10; n += 1) {
    await makeDue();
    await sql`delete from callback_circuits`.execute(database.db);
    await deliver();
    const { state, attempts } = await eventOf(event.eventId);
    assert.deepEqual([state, attempts], [n < 10 ? 'pending' : 'dead', n]);
  }
  await makeDue();
  await deliver();
  assert.equal(receiver.deliveries.length, 10);
  assert.equal(new Set(receiver.deliveries.map(({ body }) => body)).size, 1);
  assert.equal(new Set(receiver.deliveries.map(({ headers }) => headers['x-gateway-event-id'])).size, 1);
  for (const delivery of receiver.deliveries) assert.ok(await isSignedBy(TOKEN, delivery));
  assert.equal((await attemptsOf(event.eventId)).length, 10);
  assert.equal(lines.filter(({ msg }) => msg === 'callback.failed').length, 9);
  assert.equal(lines.filter(({ msg }) => msg === 'callback.dead').length, 1);
});

test('V 6 r2: the wait after a failure is that of the schedule; Retry-After makes it longer', async () => {
  /** From the end of the attempt. */
  const waitOf = async (eventId: string): Promise<number> => {
    const { rows } = await sql<{ wait: number }>`
      select extract(epoch from e.next_at - a.created_at)::float8 as wait
      from callback_events e join callback_attempts a using (event_id) where e.event_id = ${eventId}`.execute(
      database.db,
    );
    return rows[0]?.wait ?? 0;
  };
  const [plain = assert.fail(), asked = assert.fail()] = await seed({}, { url: `${receiver.origin}/busy` });
  receiver.respond = ({ path }) =>
    path === '/busy' ? (response) => response.writeHead(503, { 'retry-after': '600' }).end() : 500;
  await deliver(CALLBACK_RULES);
  const [first, second] = [await waitOf(plain.eventId), await waitOf(asked.eventId)];
  assert.ok(first > 3 && first < 6.5, String(first));
  assert.ok(second > 595 && second < 601, String(second));
});

test('V 6 r2: redirects, 4xx, 5xx, hangs and broken connections are failures, and 410 ends the event', async () => {
  const cases: [path: string, state: string, status: number | null, error: string][] = [
    ['/301', 'pending', 301, 'status'],
    ['/307', 'pending', 307, 'status'],
    ['/404', 'pending', 404, 'status'],
    ['/503', 'pending', 503, 'status'],
    ['/410', 'dead', 410, 'status'],
    ['/mute', 'pending', null, 'time'],
    ['/stalled', 'pending', null, 'time'],
    ['/cut', 'pending', null, 'network'],
  ];
  // A user each, so that no limit or circuit plays a part.
  const events = await seed(...cases.map(([path], n) => ({ userId: `user-${n}`, url: receiver.origin + path })));
  receiver.respond = ({ path }) => {
    if (path === '/mute') return () => {};
    if (path === '/stalled') return (response) => void response.writeHead(200, { 'content-length': '9' }).write('x');
    if (path === '/cut') return (response) => response.destroy();
    if (!/^\/\d{3}$/.test(path)) return 200;
    return (response) => response.writeHead(Number(path.slice(1)), { location: `${receiver.origin}/found` }).end();
  };
  const clock = new FakeClock();
  const one = deliverer({}, clock);
  await one.run();
  await until('all requests', () => receiver.deliveries.length === cases.length);
  const isOver = ({ state, last_error }: { state: string; last_error: string | null }): boolean =>
    state === 'dead' || last_error !== null;
  const finished = async (): Promise<number> => {
    const rows = await Promise.all(events.map(({ eventId }) => eventOf(eventId)));
    return rows.filter(isOver).length;
  };
  await until('the attempts that no time limit ends', async () => (await finished()) === cases.length - 2);
  await until('the end of all attempts', async () => {
    clock.advance(RULES.timeoutMs);
    return (await finished()) === cases.length;
  });
  for (const [n, [path, state, status, error]] of cases.entries()) {
    const row = await eventOf(events[n]?.eventId ?? '');
    assert.deepEqual([row.state, row.last_status, row.last_error], [state, status, error], path);
  }
  assert.ok(!receiver.deliveries.some(({ path }) => path === '/found'));
});

test('V 6 r2: a response above 64 KB counts by its status', async () => {
  const [event = assert.fail()] = await seed({});
  receiver.respond = () => (response) => response.end(Buffer.alloc(4_000_000));
  await deliver();
  assert.equal((await eventOf(event.eventId)).state, 'delivered');
});

test('V 6 r2: of one task one event is in flight, the lower version first; a failed one does not delay the next', async () => {
  await seed({ versions: [4, 2, 3] });
  receiver.respond = ({ body }) => (body.includes('"version":2') ? 500 : 200);
  await deliver();
  assert.equal(receiver.maxInFlight, 1);
  assert.deepEqual(
    receiver.deliveries.map(({ body }) => (JSON.parse(body) as { data: { version: number } }).data.version),
    [2, 3, 4],
  );
  await makeDue();
  receiver.respond = () => 200;
  await deliver();
  assert.equal(receiver.deliveries.length, 4);
});

/** Holds the first responses until `count` requests are in flight, and 30 ms longer for one that is too many. */
function holdUntil(count: number): Receiver['respond'] {
  const held: { end(): void }[] = [];
  return () => (response) => {
    if (held.push(response) < count) return;
    count = 1;
    setTimeout(() => {
      for (const one of held.splice(0)) one.end();
    }, 30);
  };
}

test('V 6 r2: at most 4 attempts to one user and host, and 32 of one replica', async () => {
  receiver.respond = holdUntil(4);
  other.respond = holdUntil(4);
  await seed(
    ...Array.from({ length: 20 }, () => ({})),
    ...Array.from({ length: 20 }, () => ({ url: `${other.origin}/` })),
  );
  await deliver();
  assert.deepEqual([receiver.maxInFlight, other.maxInFlight], [4, 4]);
  assert.deepEqual([receiver.deliveries.length, other.deliveries.length], [20, 20]);
  receiver.reset();
  receiver.respond = holdUntil(32);
  await seed(...Array.from({ length: 60 }, (_, n) => ({ userId: `user-${n % 15}` })));
  await deliver();
  assert.equal(receiver.maxInFlight, 32);
  assert.equal(receiver.deliveries.length, 60);
});

test('V 6 r2: the limits of a destination and of a task hold over all replicas', async () => {
  const slow = () => (response: { end(): void }) => void setTimeout(() => response.end(), 20);
  receiver.respond = slow;
  await seed(...Array.from({ length: 40 }, () => ({ versions: [2, 3] })));
  const replicas = Array.from({ length: 4 }, () => deliverer());
  await Promise.all(replicas.map((replica) => replica.run()));
  await until('all deliveries', () => receiver.deliveries.length >= 80);
  await Promise.all(replicas.map((replica) => replica.stop()));
  assert.equal(receiver.maxInFlight, 4);
  assert.equal(receiver.deliveries.length, 80, 'each is sent once');
});

test('V 6 r2: the backlog of one destination does not delay another', async () => {
  receiver.respond = () => () => {};
  await seed(...Array.from({ length: 200 }, () => ({})));
  const clock = new FakeClock();
  const one = deliverer({}, clock);
  await one.run();
  await seed({ url: `${other.origin}/` }, { userId: 'bob' });
  await one.run();
  await until('both deliveries', () => other.deliveries.length === 1 && receiver.deliveries.length === 5);
  await whileTimePasses(clock, RULES.headMs, one.stop());
});

test('V 6 r2: a circuit opens after 5 failures, sends single probes at doubled intervals, and a success closes it', async () => {
  receiver.respond = () => 500;
  const events = await seed(...Array.from({ length: 12 }, () => ({})));
  let begun = Date.now();
  await deliver();
  // Up to 3 further attempts were in flight when the fifth failed.
  const sent = receiver.deliveries.length;
  assert.ok(sent >= 5 && sent <= 8, String(sent));
  /** The next probe is so many minutes after a moment between `begun` and now. */
  const expectProbe = async (minutes: number): Promise<void> => {
    const { probe_at } = (await circuit()) ?? assert.fail();
    const failedAt = (probe_at?.getTime() ?? 0) - minutes * 60_000;
    assert.ok(failedAt >= begun && failedAt <= Date.now(), `${minutes} minutes`);
  };
  await expectProbe(1);
  await deliver();
  assert.equal(receiver.deliveries.length, sent, 'nothing is sent while it is open');
  const waiting = await database.db
    .selectFrom('callback_events')
    .select('event_id')
    .where('attempts', '=', 0)
    .execute();
  assert.equal(waiting.length, 12 - sent, 'waiting uses up no attempt');

  for (const [n, minutes] of [2, 4, 8, 15, 15].entries()) {
    await makeDue();
    await sql`update callback_circuits set probe_at = now() - interval '1 second'`.execute(database.db);
    begun = Date.now();
    const replicas = [deliverer(), deliverer()];
    await Promise.all(replicas.map((replica) => replica.run()));
    await Promise.all(replicas.map((replica) => replica.stop()));
    assert.equal(receiver.deliveries.length, sent + n + 1, 'one probe');
    await expectProbe(minutes);
  }
  assert.deepEqual(
    lines.filter(({ msg }) => msg.startsWith('callback.circuit')).map(({ msg, user, host }) => [msg, user, host]),
    [['callback.circuit_opened', 'ana', new URL(receiver.origin).host]],
  );
  receiver.respond = () => 200;
  await makeDue();
  await sql`update callback_circuits set probe_at = now() - interval '1 second'`.execute(database.db);
  const one = deliverer();
  await one.run();
  await until('the delivery of all', async () => {
    const states = await Promise.all(events.map(({ eventId }) => eventOf(eventId)));
    return states.every(({ state }) => state === 'delivered');
  });
  assert.equal(await circuit(), undefined);
  assert.equal(
    lines.at(-1)?.msg === 'callback.circuit_closed' || lines.some(({ msg }) => msg === 'callback.circuit_closed'),
    true,
  );
});

test('V 6 r2: an event that has waited an hour for an open circuit is sent', async () => {
  const [old = assert.fail(), fresh = assert.fail()] = await seed({}, {});
  await sql`insert into callback_circuits (user_id, host, failures, probe_at)
    values ('ana', ${new URL(receiver.origin).host}, 9, now() + interval '10 minutes')`.execute(database.db);
  await sql`update callback_events set next_at = now() - interval '61 minutes' where event_id = ${old.eventId}`.execute(
    database.db,
  );
  receiver.respond = () => 500;
  await deliver();
  assert.deepEqual([(await eventOf(old.eventId)).attempts, (await eventOf(fresh.eventId)).attempts], [1, 0]);
});

test('V 6 r2: an event whose worker died is due again when its lease ends, and a late mark changes nothing', async () => {
  const [event = assert.fail()] = await seed({});
  const endLease = () =>
    sql`update callback_events set sending_until = now() - interval '1 second', next_at = now() - interval '1 second'`.execute(
      database.db,
    );
  const [taken] = await takeCallbacks(database.db, 32, RULES);
  assert.equal(taken?.event_id, event.eventId);
  assert.deepEqual(await takeCallbacks(database.db, 32, RULES), [], 'not while the lease lasts');
  await endLease();
  const gate = Promise.withResolvers<void>();
  receiver.respond = () => (response) => void gate.promise.then(() => response.end());
  const late = deliverer();
  await late.run();
  await until('the attempt', () => receiver.deliveries.length === 1);
  await endLease();
  const [again] = await takeCallbacks(database.db, 32, RULES);
  assert.equal(again?.attempts, 3);
  gate.resolve();
  await late.stop();
  assert.equal((await eventOf(event.eventId)).state, 'pending');
  assert.equal(lines.at(-1)?.msg, 'callback.lease_lost');
});

test('V 6 r2: an event without its task or its secret is not sent', async () => {
  const [gone = assert.fail(), sealed = assert.fail()] = await seed({}, { userId: 'bob' });
  await database.db.deleteFrom('video_tasks').where('id', '=', gone.taskId).execute();
  await sql`update video_tasks set callback_secret_sealed = 'v1:k9:AAAA' where id = ${sealed.taskId}`.execute(
    database.db,
  );
  await deliver();
  const [first, second] = [await eventOf(gone.eventId), await eventOf(sealed.eventId)];
  assert.deepEqual([first.state, first.last_error], ['dead', 'task']);
  assert.deepEqual([second.state, second.last_error], ['pending', 'secret']);
  assert.equal(receiver.deliveries.length, 0);
});

test('V 6 r2: the log has ids and hosts, and nothing of a body, a path or a secret', async () => {
  await seed({ url: `${receiver.origin}/secret-path?token=secret-query` });
  receiver.respond = () => 500;
  await deliver();
  const text = JSON.stringify(lines);
  assert.match(text, /callback\.failed/);
  for (const secret of ['secret-path', 'secret-query', 'succeeded', 'v1=']) assert.ok(!text.includes(secret), secret);
});

test('V 6 r2: finished events are deleted after 30 days with their attempts, pending ones never', async () => {
  const [old = assert.fail(), recent = assert.fail(), pending = assert.fail()] = await seed({}, {}, {});
  await deliver();
  await sql`update callback_events set finished_at = now() - interval '31 days' where event_id = ${old.eventId}`.execute(
    database.db,
  );
  await sql`update callback_events set finished_at = null, state = 'pending', created_at = now() - interval '90 days'
    where event_id = ${pending.eventId}`.execute(database.db);
  assert.equal(await expireCallbacks(database.db), 1);
  assert.equal(await expireCallbacks(database.db), 0);
  assert.deepEqual(await attemptsOf(old.eventId), []);
  assert.equal((await attemptsOf(recent.eventId)).length, 1);
  await eventOf(pending.eventId);
});

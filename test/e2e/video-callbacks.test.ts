/** Callbacks of video tasks from their change of status to the receiver, and what operators do with them. */
import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import { createSealer, silentLog, systemClock } from '../../src/core/index.ts';
import { PublicFetcher } from '../../src/platform/outbound/index.ts';
import { createResolver } from '../../src/platform/outbound/public-guard.ts';
import { reseal } from '../../src/program/jobs/index.ts';
import { Deliverer } from '../../src/video/callbacks/deliverer.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { assertValid, type Delivery, isSignedBy, Receiver, seedEvents } from '../support/callbacks.ts';
import { startNameServer, type Zone } from '../support/nameserver.ts';
import {
  callVideo,
  KEYS,
  startVideo,
  TASKS,
  TEST_VARIANTS,
  type TestVariant,
  taskBody,
  textItem,
  VIDEO_MODELS,
  type VideoFixture,
} from '../support/video.ts';
import { openJobs, type VideoJobs } from '../support/video-jobs.ts';
import { until } from '../support/wait.ts';

let receiver: Receiver;
let fixture: VideoFixture;
let jobs: VideoJobs;
before(async () => {
  receiver = await new Receiver().listen();
  fixture = await startVideo({
    video: { queuedMs: 50, runningMs: 500 },
    env: { EGRESS_ALLOW: receiver.origin, ADMIN_TOKEN },
  });
  jobs = await openJobs(fixture.gateway);
});
beforeEach(async () => {
  receiver.reset();
  await sql`delete from callback_circuits`.execute(db());
  // Looks at tasks of other tests would use up the rate of the account, and the short running state would be missed.
  await sql`update video_tasks set next_check_at = null`.execute(db());
});
after(async () => {
  await jobs.close();
  await fixture.close();
  receiver.close();
});

const db = () => fixture.gateway.context.database.db;
const admin = adminApi(() => fixture.gateway.url);

interface CallbackBody {
  readonly event_id: string;
  readonly type: string;
  readonly created_at: number;
  readonly data: { readonly id: string; readonly status: string; readonly version: number; readonly content?: object };
}

interface CallbackView {
  readonly id: string;
  readonly user: string;
  readonly task: string;
  readonly host: string;
  readonly state: string;
  readonly attempts: number;
  readonly last_status: number | null;
  readonly attempt_log: readonly {
    readonly attempt: number;
    readonly status: number | null;
    readonly error: string | null;
  }[];
}

/** The worker beside the gateway does not know its port, which links have. */
const bodyOf = ({ body }: Delivery): CallbackBody =>
  JSON.parse(body.replace('//127.0.0.1:0/', `//${new URL(fixture.gateway.url).host}/`)) as CallbackBody;
const deliveriesOf = (task: string): Delivery[] =>
  receiver.deliveries.filter(({ headers }) => headers['x-gateway-task-id'] === task);

async function create(variant: TestVariant, more: object = {}, key?: string): Promise<string> {
  const body = taskBody(variant, { callback_url: `${receiver.origin}/hook?token=of-the-caller`, ...more });
  const response = await callVideo(fixture.gateway.url, TASKS, { body, key });
  assert.equal(response.status, 200, JSON.stringify(response.body));
  return String(response.body.id);
}

/** Looks at all tasks and sends the callbacks that are due. */
async function work(): Promise<void> {
  await jobs.run('tasks.follow');
  await jobs.run('callbacks.deliver');
}

/** Makes the failed callbacks of a task due, and forgets that they failed. */
async function retryNow(task: string): Promise<void> {
  await sql`delete from callback_circuits`.execute(db());
  await sql`update callback_events set next_at = now() - interval '1 second' where task_id = ${task} and state = 'pending'`.execute(
    db(),
  );
}

const untilDelivered = (task: string, count: number): Promise<Delivery[]> =>
  until(`${count} callbacks of ${task}`, async () => {
    await work();
    return deliveriesOf(task).length >= count ? deliveriesOf(task) : undefined;
  });

/** A task that runs until that is announced, and then ends. Time would have a busy machine miss that it runs. */
async function announced(variant: TestVariant): Promise<string> {
  const task = await create(variant, { content: [textItem('a prompt that is private [sim:stuck=running]')] });
  await untilDelivered(task, 1);
  const { tasks } = fixture.sim.video;
  tasks.finish(tasks.all[0] ?? assert.fail());
  await untilDelivered(task, 2);
  return task;
}

const eventsOf = async (task: string): Promise<CallbackView[]> =>
  (await admin<{ data: CallbackView[] }>('GET', `/callbacks?task=${task}`)).body.data;

const untilState = (task: string, state: string): Promise<CallbackView[]> =>
  until(`the state ${state} of ${task}`, async () => {
    await work();
    const events = await eventsOf(task);
    return events.length > 0 && events.every((event) => event.state === state) ? events : undefined;
  });

for (const variant of TEST_VARIANTS)
  test(`V 1 r6, V 6 r1, r3, r6, r7, V 9 r2: a task of variant ${variant} announces running and its end, and not its creation`, async () => {
    const task = await announced(variant);
    const deliveries = deliveriesOf(task);
    await untilState(task, 'delivered');
    assert.deepEqual(
      deliveries.map((delivery) => [bodyOf(delivery).type, bodyOf(delivery).data.version]),
      [
        ['running', 2],
        ['succeeded', 3],
      ],
    );
    assert.equal(new Set(deliveries.map((delivery) => bodyOf(delivery).event_id)).size, 2);
    const { body: view } = await callVideo(fixture.gateway.url, `${TASKS}/${task}`);
    for (const delivery of deliveries) {
      await assertValid(delivery, KEYS.ana);
      const body = bodyOf(delivery);
      assert.deepEqual(Object.keys(body).sort(), ['created_at', 'data', 'event_id', 'type']);
      assert.equal(body.type, body.data.status);
      assert.ok(Number.isInteger(body.created_at));
      assert.match(body.event_id, /^evt_/);
      assert.deepEqual([delivery.method, delivery.path], ['POST', '/hook?token=of-the-caller']);
      assert.equal(delivery.headers['content-type'], 'application/json');
      assert.equal(delivery.headers['user-agent'], 'dragoman');
      assert.ok(!/private|cgt-|127\.0\.0\.1:(?!\d+\/v1\/videos)/.test(delivery.body), delivery.body);
    }
    const [, last = assert.fail()] = deliveries.map(bodyOf);
    assert.deepEqual(last.data, {
      id: task,
      model: VIDEO_MODELS[variant],
      status: 'succeeded',
      error: null,
      created_at: view.created_at,
      updated_at: view.updated_at,
      version: 3,
      content: view.content,
    });
  });

test('V 6 r1: a task without callback_url announces nothing', async () => {
  const { body } = await callVideo(fixture.gateway.url, TASKS, { body: taskBody('EP') });
  await until('the end', async () => {
    await work();
    return (await callVideo(fixture.gateway.url, `${TASKS}/${body.id}`)).body.status === 'succeeded';
  });
  assert.deepEqual(await eventsOf(String(body.id)), []);
});

test('V 6 r1, r6: a cancelled and a failed task announce their end with an error', async () => {
  const cancelled = await create('A', { content: [textItem('[sim:stuck=queued]')] });
  await callVideo(fixture.gateway.url, `${TASKS}/${cancelled}`, { method: 'DELETE' });
  const failed = await create('EP', { content: [textItem('[sim:fail=InternalServiceError]')] });
  const [end = assert.fail()] = await untilDelivered(cancelled, 1);
  assert.deepEqual([bodyOf(end).type, bodyOf(end).data.version], ['cancelled', 2]);
  const deliveries = await untilDelivered(failed, 1);
  await until('the failure', async () => {
    await work();
    return deliveriesOf(failed).some((delivery) => bodyOf(delivery).type === 'failed');
  });
  assert.ok(deliveries.every((delivery) => bodyOf(delivery).data.content === undefined));
});

test('V 6 r2: a receiver that fails changes no task, result or charge', async () => {
  receiver.respond = () => 500;
  const task = await announced('EP');
  const { body } = await callVideo(fixture.gateway.url, `${TASKS}/${task}`);
  assert.equal(body.status, 'succeeded');
  const hold = await db()
    .selectFrom('holds')
    .select('state')
    .where('reference', '=', `task:${task}`)
    .executeTakeFirst();
  assert.equal(hold?.state, 'settled');
  receiver.respond = () => 200;
  await retryNow(task);
  await untilState(task, 'delivered');
  const byEvent = Map.groupBy(deliveriesOf(task), (delivery) => bodyOf(delivery).event_id);
  assert.equal(byEvent.size, 2);
  for (const same of byEvent.values()) assert.equal(new Set(same.map(({ body: text }) => text)).size, 1);
});

test('V 5 r4, V 6 r5: a callback with another body, id, time or key does not verify', async () => {
  const task = await create('HC');
  const [delivery = assert.fail()] = await untilDelivered(task, 1);
  assert.ok(await isSignedBy(KEYS.ana, delivery));
  const changed = (name: string, value: string) => ({ ...delivery, headers: { ...delivery.headers, [name]: value } });
  for (const forged of [
    { ...delivery, body: delivery.body.replace('running', 'succeeded') },
    { ...delivery, body: `${delivery.body} ` },
    changed('x-gateway-event-id', 'evt_other'),
    changed('webhook-id', 'evt_other'),
    changed('x-gateway-timestamp', '1794700800'),
    changed('webhook-timestamp', '1794700800'),
  ])
    assert.ok(!(await isSignedBy(KEYS.ana, forged)));
  for (const key of [KEYS.ana2, KEYS.bob]) assert.ok(!(await isSignedBy(key, delivery)));
});

test('V 6 r5: a key that is rotated or revoked before the delivery still signs', async () => {
  const keys = await Promise.all(
    ['rotated', 'revoked'].map(async (name) => {
      const { body } = await admin<{ id: string; value: string }>('POST', '/keys', {
        user: 'ana',
        group: 'openai',
        name,
      });
      return body;
    }),
  );
  receiver.respond = () => 503;
  const tasks = await Promise.all(keys.map(({ value }) => create('EP', {}, value)));
  await Promise.all(tasks.map((task) => untilDelivered(task, 1)));
  const [rotated = assert.fail(), revoked = assert.fail()] = keys;
  assert.equal((await admin('POST', `/keys/${rotated.id}/rotate`, {})).status, 201);
  assert.equal((await admin('POST', `/keys/${revoked.id}/revoke`, {})).status, 200);
  receiver.reset();
  // Again and again: an attempt that is still under way when the key changes sets the time of the next one. A slow machine misses
  // the running state, which is then not announced.
  await until('the deliveries', async () => {
    await Promise.all(tasks.map(retryNow));
    await work();
    return tasks.every((task) => deliveriesOf(task).some((delivery) => bodyOf(delivery).type === 'succeeded'));
  });
  for (const [n, task] of tasks.entries())
    for (const delivery of deliveriesOf(task)) await assertValid(delivery, keys[n]?.value ?? '');
});

test('V 6 r5: a rotation of the master key keeps the secrets of tasks with callbacks', async () => {
  const [k1, k2] = [
    ['k1', fixture.gateway.context.config.MASTER_KEY?.slice(3) ?? ''],
    ['k2', 'y'.repeat(40)],
  ] as const;
  const url = `${receiver.origin}/hook`;
  const [{ taskId } = assert.fail()] = await seedEvents(db(), createSealer([k1]), [
    { userId: 'ana', token: KEYS.ana, url },
  ]);
  const { callback_secret_sealed: sealed } = await db()
    .selectFrom('video_tasks')
    .select('callback_secret_sealed')
    .where('id', '=', taskId)
    .executeTakeFirstOrThrow();
  await resealAll([k2, k1]);
  const [fetcher, clock] = [new PublicFetcher({ allow: [receiver.origin], clock: systemClock }), systemClock];
  const deliverer = new Deliverer({ db: db(), sealer: createSealer([k2]), clock, log: silentLog, fetcher });
  await deliverer.run();
  await until('the delivery', () => deliveriesOf(taskId).length === 1);
  await deliverer.stop();
  await assertValid(deliveriesOf(taskId)[0] ?? assert.fail(), KEYS.ana);
  // Back to the key of the gateway under test.
  await resealAll([k1, k2]);
  assert.match(sealed, /^v1:k1:/);
});

async function resealAll(keys: readonly (readonly [string, string])[]): Promise<void> {
  while ((await reseal(db(), createSealer(keys))) > 0);
}

test('V 6 r2: private addresses are refused when the task is created', async () => {
  for (const url of ['http://hooks.host.net/', 'https://127.0.0.1/', 'https://metadata.internal/', 'https://[::1]/']) {
    const { status, body } = await callVideo(fixture.gateway.url, TASKS, {
      body: taskBody('EP', { callback_url: url }),
    });
    assert.deepEqual([status, body.error?.code], [400, 'invalid_request'], url);
  }
});

test('V 6 r2: a name that resolves to a private address is refused at each attempt, also when it was public before', async () => {
  const host = 'hooks.rebinding-host.net';
  const zone: Record<string, Zone[string]> = {};
  const names = await startNameServer(zone);
  const connected: unknown[] = [];
  const { context } = fixture.gateway;
  const deliverer = new Deliverer({
    db: db(),
    sealer: context.sealer,
    clock: systemClock,
    log: silentLog,
    fetcher: new PublicFetcher({
      allow: [],
      clock: systemClock,
      resolve: createResolver([names.address]),
      openSocket: ({ host: target, lookup = assert.fail() }) => {
        lookup(target, { all: true }, (_error, addresses) => connected.push(addresses));
        return new Socket().destroy(new Error('no network in tests'));
      },
    }),
  });
  const [{ eventId } = assert.fail()] = await seedEvents(db(), context.sealer, [
    { userId: 'ana', token: KEYS.ana, url: `https://${host}/hook` },
  ]);
  const attempt = async (addresses: Zone[string]): Promise<string | null> => {
    zone[host] = addresses;
    await sql`delete from callback_circuits`.execute(db());
    const { attempts } = await row();
    await sql`update callback_events set next_at = now() - interval '1 second' where event_id = ${eventId}`.execute(
      db(),
    );
    await deliverer.run();
    await until('the attempt', async () => (await row()).attempts > attempts && (await row()).sending_until === null);
    return (await row()).last_error;
  };
  const row = () =>
    db().selectFrom('callback_events').selectAll().where('event_id', '=', eventId).executeTakeFirstOrThrow();
  try {
    assert.equal(await attempt({ A: ['10.0.0.5'] }), 'address');
    assert.equal(await attempt({ A: ['93.184.215.14', '169.254.169.254'] }), 'address');
    assert.deepEqual(connected, []);
    assert.equal(await attempt({ A: ['93.184.215.14'] }), 'network');
    assert.deepEqual(connected, [[{ address: '93.184.215.14', family: 4 }]], 'only the checked address');
    assert.equal(await attempt({ A: ['127.0.0.1'] }), 'address');
    assert.equal(await attempt({ AAAA: ['0:0:0:0:0:ffff:7f00:1'] }), 'address');
    assert.equal(connected.length, 1);
  } finally {
    await deliverer.stop();
    names.close();
    await sql`delete from callback_events where event_id = ${eventId}`.execute(db());
  }
});

test('V 6 r2: operators list callbacks by user, task, host and state, page by page', async () => {
  const task = await announced('EP');
  await untilState(task, 'delivered');
  const list = async (query: string) =>
    (await admin<{ data: CallbackView[]; has_more: boolean; next_cursor: string | null }>('GET', `/callbacks?${query}`))
      .body;
  const { host } = new URL(receiver.origin);
  assert.equal((await list(`task=${task}&user=ana&host=${host}&state=delivered`)).data.length, 2);
  for (const none of [`task=${task}&user=bob`, `task=${task}&state=dead`, `task=${task}&host=other.net`, 'task=task_1'])
    assert.deepEqual((await list(none)).data, [], none);
  const all = (await list('limit=1000')).data.map(({ id }) => id);
  const paged: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await list(`limit=3&cursor=${cursor}`);
    paged.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  assert.deepEqual(paged, all);
  const wrong = await admin('GET', '/callbacks?state=lost');
  assert.equal(wrong.status, 400);
  assert.equal((await admin('GET', '/callbacks/evt_missing')).status, 404);
  assert.equal(
    (await fetch(`${fixture.gateway.url}/admin/v1/callbacks`, { headers: { authorization: `Bearer ${KEYS.ana}` } }))
      .status,
    401,
  );
});

test('V 6 r2: operators redeliver a delivered and a dead callback with the same id and body, and the audit log has it', async () => {
  receiver.respond = (delivery) => (bodyOf(delivery).type === 'running' ? 410 : 200);
  const task = await announced('EP');
  const events = await until('both ends', async () => {
    await work();
    const found = await eventsOf(task);
    return found.length === 2 && found.every(({ state }) => state !== 'pending') ? found : undefined;
  });
  assert.deepEqual(events.map(({ state }) => state).sort(), ['dead', 'delivered']);
  receiver.respond = () => 200;
  const before = new Map(deliveriesOf(task).map((delivery) => [bodyOf(delivery).event_id, delivery]));
  for (const { id } of events) {
    const { status, body } = await admin<CallbackView>('POST', `/callbacks/${id}/redeliver`, {
      reason: 'receiver repaired',
    });
    assert.deepEqual([status, body.state], [202, 'pending']);
  }
  await untilDelivered(task, 4);
  await untilState(task, 'delivered');
  for (const delivery of deliveriesOf(task).slice(2)) {
    await assertValid(delivery, KEYS.ana);
    assert.equal(delivery.body, before.get(bodyOf(delivery).event_id)?.body);
  }
  for (const { id } of events) {
    const { body } = await admin<CallbackView>('GET', `/callbacks/${id}`);
    assert.equal(body.attempts, 2);
    assert.deepEqual(
      body.attempt_log.map(({ attempt }) => attempt),
      [1, 2],
    );
    const audit = await admin<{ data: object[] }>('GET', `/audit?action=callback.redelivered&subject=callback:${id}`);
    assert.equal(audit.body.data.length, 1);
  }
  assert.equal((await admin('POST', '/callbacks/evt_missing/redeliver', {})).status, 404);
});

test('V 6 r2: a waiting callback is delivered at once when an operator asks, and not while an attempt runs', async () => {
  receiver.respond = () => 500;
  const task = await create('EP', { content: [textItem('[sim:stuck=running]')] });
  await untilDelivered(task, 1);
  const event = await until('the end of the attempt', async () => {
    const [found] = await eventsOf(task);
    return found?.last_status === 500 ? found : undefined;
  });
  const lease = (until: Date | null) =>
    db().updateTable('callback_events').set({ sending_until: until }).where('event_id', '=', event.id).execute();
  await lease(new Date(Date.now() + 60_000));
  assert.equal((await admin('POST', `/callbacks/${event.id}/redeliver`, {})).status, 409);
  await lease(null);
  receiver.respond = () => 200;
  for (const _ of ['first', 'second']) {
    const { status } = await admin('POST', `/callbacks/${event.id}/redeliver`, { reason: 'receiver repaired' });
    assert.equal(status, 202);
  }
  await untilState(task, 'delivered');
  await work();
  assert.equal(deliveriesOf(task).length, 2);
  const { body } = await admin<CallbackView & { url: string; body: string }>('GET', `/callbacks/${event.id}`);
  assert.deepEqual([body.attempts, body.body], [2, deliveriesOf(task)[1]?.body]);
  assert.equal(body.url, `${receiver.origin}/hook?token=…`);
});

test('V 6 r2: operators send a signed test event to the callback URL of a task, without an effect on it', async () => {
  const task = await announced('EP');
  await untilState(task, 'delivered');
  receiver.reset();
  const sent = await admin<{ id: string; delivered: boolean; status: number }>('POST', '/callbacks/test', {
    user: 'ana',
    task,
  });
  assert.deepEqual([sent.status, sent.body.delivered, sent.body.status], [200, true, 200]);
  const [delivery = assert.fail()] = receiver.deliveries;
  await assertValid(delivery, KEYS.ana);
  assert.deepEqual([bodyOf(delivery).type, bodyOf(delivery).data.version], ['test', 0]);
  assert.equal(bodyOf(delivery).event_id, sent.body.id);
  assert.equal((await eventsOf(task)).length, 2);
  receiver.respond = () => 500;
  const failed = await admin<{ delivered: boolean; status: number; error: string }>('POST', '/callbacks/test', {
    user: 'ana',
    task,
  });
  assert.deepEqual([failed.body.delivered, failed.body.status, failed.body.error], [false, 500, 'status']);
  const audit = await admin<{ data: object[] }>('GET', '/audit?action=callback.tested');
  assert.equal(audit.body.data.length, 2);
  for (const body of [
    { user: 'bob', task },
    { user: 'ana', task: 'task_missing' },
  ])
    assert.equal((await admin('POST', '/callbacks/test', body)).status, 404);
  const { body: plain } = await callVideo(fixture.gateway.url, TASKS, { body: taskBody('EP') });
  assert.equal((await admin('POST', '/callbacks/test', { user: 'ana', task: plain.id })).status, 409);
});

test('V 6 r2: the log has no path, body, signature or secret of a callback', () => {
  const lines = fixture.gateway.log
    .filter(({ msg }) => msg.startsWith('callback.'))
    .map((line) => JSON.stringify(line));
  assert.ok(lines.some((line) => line.includes('callback.delivered')));
  for (const line of lines) assert.ok(!/hook|of-the-caller|v1=|succeeded|video_url/.test(line), line);
});

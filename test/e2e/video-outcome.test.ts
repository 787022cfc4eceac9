/** Each submission has one outcome, whatever the database, the provider's reports and other replicas do meanwhile. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { CRASH_POINT_CHANNEL, type CrashPoint } from '../../src/ledger/crash-points.ts';
import { type Db, openDatabase } from '../../src/platform/db/index.ts';
import { longTest } from '../support/long-test.ts';
import { loseCommitOf } from '../support/lost-responses.ts';
import {
  callVideo,
  startVideo,
  TASKS,
  type TestVariant,
  taskBody,
  textItem,
  type VideoFixture,
} from '../support/video.ts';
import { endLeases, expectRest, openJobs, type VideoJobs } from '../support/video-jobs.ts';
import { until } from '../support/wait.ts';

let fixture: VideoFixture;
let jobs: VideoJobs;
let db: Db;

before(async () => {
  fixture = await startVideo({ video: { queuedMs: 3_600_000 } });
  jobs = await openJobs(fixture.gateway);
  ({ db } = fixture.gateway.context.database);
  // One slot: an attempt that does not give it back would block all others.
  await db.updateTable('accounts').set({ max_concurrency: 1 }).execute();
  await fixture.gateway.apply({});
});
after(async () => {
  await jobs.close();
  await fixture.close();
});

let orders = 0;
const nextOrder = (): number => {
  orders += 1;
  return orders;
};
const orderBody = (words: string, variant: TestVariant = 'EP') =>
  taskBody(variant, {
    content: [textItem(`Order ${nextOrder()} [sim:callbacks=dropped] ${words && `[sim:${words}]`}`)],
  });

const send = (body: object, idempotencyKey: string) =>
  callVideo(fixture.gateway.url, TASKS, { body, headers: { 'idempotency-key': idempotencyKey } });
const newKey = (): string => `order-${nextOrder()}`;

const rowOf = (id: unknown) =>
  db.selectFrom('video_tasks').selectAll().where('id', '=', String(id)).executeTakeFirstOrThrow();
const tasks = () => db.selectFrom('video_tasks').selectAll().where('finished_at', 'is', null).execute();
const logged = (msg: string, id: unknown) =>
  fixture.gateway.log.filter((line) => line.msg === msg && line.task === String(id));

/** Removes open tasks and their holds, so that the next test starts with none. */
async function endTasks(): Promise<void> {
  await expectRest(db, fixture.sim.video);
  await sql`update video_tasks set created_at = now() - interval '2 days', submission = 'unknown' where finished_at is null`.execute(
    db,
  );
  await jobs.run('tasks.reconcile');
  assert.deepEqual(await tasks(), []);
}

// ---------------------------------------------------------------- database failures

/** A trigger on `video_tasks` that kills its own connection the first `times` times. Returns a function that removes it. */
async function killConnections(when: string, times: number): Promise<() => Promise<void>> {
  await sql
    .raw(`
    create sequence kills;
    create function kill_connection() returns trigger language plpgsql as $$ begin
      if nextval('kills') <= ${times} then perform pg_terminate_backend(pg_backend_pid()); end if;
      return new;
    end $$;
    create trigger kill_connection before update on video_tasks for each row when (${when}) execute function kill_connection()`)
    .execute(db);
  return async () => void (await sql`drop function kill_connection cascade; drop sequence kills`.execute(db));
}

const CONFIRMING = `new.submission = 'confirmed'`;
const SENDING = `new.submission = 'sending'`;

test('V 4.2 r3: an accepted task is confirmed although the connection breaks in its transaction', async () => {
  const restore = await killConnections(CONFIRMING, 1);
  const { status, body } = await send(orderBody(''), newKey());
  await restore();
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal((await rowOf(body.id)).submission, 'confirmed');
  assert.equal(logged('task.record_failed', body.id).length, 1);
  await endTasks();
});

test('V 4.2 r3: an accepted task that cannot be recorded gives 202, and is recovered and reconciled', async () => {
  const restore = await killConnections(CONFIRMING, 2);
  const [body, key] = [orderBody(''), newKey()];
  const first = await send(body, key);
  await restore();
  assert.equal(first.status, 202, JSON.stringify(first.body));
  assert.equal(first.headers.get('x-should-retry'), 'false');
  assert.equal((await rowOf(first.body.id)).submission, 'sending');
  assert.ok(
    logged('task.record_failed', first.body.id).at(-1)?.upstream_task,
    'the log names the task of the provider',
  );
  const meanwhile = await send(body, key);
  assert.deepEqual([meanwhile.status, meanwhile.body.error?.code], [409, 'idempotency_in_progress']);
  await endLeases(db);
  await jobs.run('tasks.recover');
  assert.deepEqual((await send(body, key)).body, first.body);
  await jobs.run('tasks.reconcile');
  assert.equal((await rowOf(first.body.id)).submission, 'confirmed');
  await endTasks();
});

test('V 4.2 r4: nothing is sent when the mark cannot be committed; no task, no hold, no slot and a free key remain', async () => {
  const before = fixture.sim.video.journal.creates.length;
  const restore = await killConnections(SENDING, 2);
  const [body, key] = [orderBody(''), newKey()];
  for (let n = 0; n < 2; n += 1) {
    const { status, body: error } = await send(body, key);
    assert.deepEqual([status, error.error?.code], [503, 'server_is_overloaded'], JSON.stringify(error));
    assert.match(String(error.error?.message), /could not be submitted/);
  }
  await restore();
  assert.equal(fixture.sim.video.journal.creates.length, before);
  await expectRest(db, fixture.sim.video);
  assert.deepEqual(await tasks(), []);
  assert.equal((await send(body, key)).status, 200);
  await endTasks();
});

test('V 4.2 r4: a rejection that cannot be recorded gives 202 with a task that stays', async () => {
  await sql
    .raw(`
    create function no_delete() returns trigger language plpgsql as $$ begin
      perform pg_terminate_backend(pg_backend_pid());
      return old;
    end $$;
    create trigger no_delete before delete on video_tasks for each row execute function no_delete()`)
    .execute(db);
  const [body, key] = [orderBody('sync_400=InvalidParameter.Foo'), newKey()];
  const first = await send(body, key);
  await sql`drop function no_delete cascade`.execute(db);
  assert.equal(first.status, 202, JSON.stringify(first.body));
  await endLeases(db);
  await jobs.run('tasks.recover');
  assert.deepEqual((await send(body, key)).body, first.body);
  await endTasks();
});

/** Loses the response of the commit that follows the crash point, of the same transaction. */
async function loseCommit<T>(point: CrashPoint, task: () => Promise<T>): Promise<T> {
  const lost = loseCommitOf();
  const onPoint = (reached: unknown): void => {
    if (reached === point) lost.mark();
  };
  subscribe(CRASH_POINT_CHANNEL, onPoint);
  try {
    return await task();
  } finally {
    lost.restore();
    unsubscribe(CRASH_POINT_CHANNEL, onPoint);
    assert.ok(lost.isLost(), `the commit after ${point} was lost`);
  }
}

test('a lost response to a commit repeats nothing: an accepted task is confirmed once', async () => {
  const { status, body } = await loseCommit('task.confirming', () => send(orderBody(''), newKey()));
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal((await tasks()).length, 1);
  await endTasks();
});

test('a lost response to a commit repeats nothing: a rejected task is discarded once', async () => {
  const [body, key] = [orderBody('sync_400=InvalidParameter.Foo'), newKey()];
  const first = await loseCommit('task.discarding', () => send(body, key));
  assert.equal(first.status, 400, JSON.stringify(first.body));
  assert.deepEqual((await send(body, key)).body, first.body);
  assert.deepEqual(await tasks(), []);
  await endTasks();
});

test('a lost response to the commit of a create leaves a task that is removed once its time is over', async () => {
  const [body, key] = [orderBody(''), newKey()];
  const first = await loseCommit('task.inserted', () => send(body, key));
  assert.ok(first.status >= 500, JSON.stringify(first.body));
  assert.equal((await send(body, key)).body.error?.code, 'idempotency_in_progress');
  await endLeases(db);
  assert.equal((await send(body, key)).status, 200);
  assert.equal((await tasks()).length, 1);
  await endTasks();
});

longTest(
  'V 8: a claim that waits too long for another one gives 409, a wallet that is locked too long 503',
  async () => {
    const other = openDatabase(fixture.gateway.database.url, 1);
    try {
      const [body, key] = [orderBody(''), newKey()];
      await other.db.transaction().execute(async (tx) => {
        await sql`select from wallets where user_id = 'ana' for update`.execute(tx);
        const { status, body: error } = await send(body, key);
        assert.deepEqual([status, error.error?.code], [503, 'server_is_overloaded']);
      });
      const first = await send(body, key);
      assert.equal(first.status, 200, 'the key is free');
      await sql`update idempotency_records set expires_at = now() - interval '1 second'`.execute(db);
      await sql`update video_tasks set deleted_at = now()`.execute(db);
      await other.db.transaction().execute(async (tx) => {
        await sql`update idempotency_records set owner = 'other'`.execute(tx);
        const { status, body: error } = await send(body, key);
        assert.deepEqual([status, error.error?.code], [409, 'idempotency_in_progress']);
      });
      await endTasks();
    } finally {
      await other.close();
    }
  },
);

// ---------------------------------------------------------------- reports before the response

test('V 4.2 r3: a report of the provider before its response confirms the same task', async () => {
  for (const slow of [0, 1, 2, 5, 10, 20, 50, 200]) {
    const body = taskBody('EP', { content: [textItem(`Order ${nextOrder()} [sim:slow=${slow}]`)] });
    const key = newKey();
    const first = await send(body, key);
    assert.equal(first.status, 200, JSON.stringify(first.body));
    const task = await rowOf(first.body.id);
    assert.deepEqual([task.submission, task.upstream_id], ['confirmed', fixture.sim.video.tasks.all[0]?.id]);
    assert.deepEqual(logged('task.record_failed', task.id), []);
    assert.deepEqual((await send(body, key)).body, first.body);
  }
  await endTasks();
});

// ---------------------------------------------------------------- another replica takes the submission over

/** Waits until the provider has created the task of this request, and returns the provider's id. */
const createdFor = (body: Record<string, unknown>): Promise<string> =>
  until('the submission', () => {
    const { journal } = fixture.sim.video;
    return journal.creates.find((entry) => entry.isCreated && isDeepStrictEqual(entry.body?.content, body.content))
      ?.taskId;
  });

test('V 4.2 r3: a slow submitter and the recovery of its task have one outcome', async () => {
  const [body, key] = [orderBody('slow=700'), newKey()];
  const slow = send(body, key);
  await createdFor(body);
  await endLeases(db);
  const taken = await send(body, key);
  assert.equal(taken.status, 202, JSON.stringify(taken.body));
  assert.equal((await rowOf(taken.body.id)).submission, 'unknown');
  const { status, body: created } = await slow;
  assert.deepEqual([status, created], [200, taken.body]);
  assert.equal((await rowOf(taken.body.id)).submission, 'confirmed');
  await jobs.run('tasks.reconcile');
  assert.equal((await tasks()).length, 1);
  await endTasks();
});

test('V 4.2 r3: a slow submitter whose task was reconciled meanwhile returns the same task', async () => {
  const [body, key] = [orderBody('slow=700'), newKey()];
  const slow = send(body, key);
  const upstreamId = await createdFor(body);
  await endLeases(db);
  await jobs.run('tasks.recover');
  await jobs.run('tasks.reconcile');
  const [task] = await tasks();
  assert.deepEqual([task?.submission, task?.upstream_id], ['confirmed', upstreamId]);
  const { status, body: created } = await slow;
  assert.deepEqual([status, created.id], [200, task?.id]);
  await endTasks();
});

/** Another replica recovers every submission right after its mark, and the caller asks it for the outcome. */
async function whileTakenOver<T>(task: () => Promise<T>): Promise<T> {
  await sql
    .raw(`
    create function take_over() returns trigger language plpgsql as $$ begin
      new.submission = 'unknown'; new.submitter = null; new.submitter_until = null; new.next_check_at = now();
      update idempotency_records set http_status = 202, finished_at = now() where user_id = new.user_id and resource_id = new.id;
      return new;
    end $$;
    create trigger take_over before update on video_tasks for each row
      when (old.submission = 'pending' and new.submission = 'sending') execute function take_over()`)
    .execute(db);
  return task().finally(() => sql`drop function take_over cascade`.execute(db));
}

const LATE: readonly (readonly [string, string, number, string | undefined])[] = [
  ['an acceptance', '', 200, undefined],
  ['an ambiguous response', 'status=503', 202, undefined],
  ['a rejected parameter', 'sync_400=InvalidParameter.Foo', 202, 'invalid_video_parameter'],
  ['rejected content', 'sync_400=InputTextSensitiveContentDetected', 200, 'input_content_rejected'],
  ['a rate limit', 'error=QuotaExceeded; status=429', 202, 'upstream_rate_limited'],
];
for (const [about, words, status, code] of LATE)
  test(`V 4.2 r3: ${about} after the task was recovered keeps the task that the caller may know`, async () => {
    const fresh = await startVideo({ video: { queuedMs: 3_600_000 } });
    const shared = fixture;
    fixture = fresh;
    ({ db } = fresh.gateway.context.database);
    try {
      const [body, key] = [orderBody(words), newKey()];
      const first = await whileTakenOver(() => send(body, key));
      assert.equal(first.status, status, JSON.stringify(first.body));
      const again = await send(body, key);
      assert.deepEqual([again.status, again.body], [202, first.body]);
      const { body: task } = await callVideo(fresh.gateway.url, `${TASKS}/${String(first.body.id)}`);
      assert.deepEqual([task.status, task.error?.code], code === undefined ? ['queued', undefined] : ['failed', code]);
      assert.equal(fresh.sim.video.journal.creates.length, 1);
      await expectRest(db, fresh.sim.video);
    } finally {
      fixture = shared;
      ({ db } = shared.gateway.context.database);
      await fresh.close();
    }
  });

test('V 4.2 r4: a task that was recovered although nothing was sent has failed at once', async () => {
  const { sim, gateway, close } = await startVideo();
  const shared = db;
  ({ db } = gateway.context.database);
  try {
    await sim.close();
    const body = orderBody('');
    const first = await whileTakenOver(() =>
      callVideo(gateway.url, TASKS, { body, headers: { 'idempotency-key': 'unsent' } }),
    );
    assert.equal(first.status, 202, JSON.stringify(first.body));
    const { body: task } = await callVideo(gateway.url, `${TASKS}/${String(first.body.id)}`);
    assert.deepEqual([task.status, task.error?.code], ['failed', 'submission_failed']);
    await expectRest(db, sim.video);
  } finally {
    db = shared;
    await close();
  }
});

test('V 4.2 r4: a submission whose time is over before the first byte sends nothing', async () => {
  const before = fixture.sim.video.journal.creates.length;
  await sql
    .raw(`
    create function no_time() returns trigger language plpgsql as $$ begin
      new.submitter_until = now() - interval '1 second'; return new;
    end $$;
    create trigger no_time before insert on video_tasks for each row execute function no_time()`)
    .execute(db);
  const [body, key] = [orderBody(''), newKey()];
  const { status } = await send(body, key);
  await sql`drop function no_time cascade`.execute(db);
  assert.equal(status, 503);
  assert.equal(fixture.sim.video.journal.creates.length, before);
  assert.equal((await send(body, key)).status, 200, 'the key is free');
  await endTasks();
});

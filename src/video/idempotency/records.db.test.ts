import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { makeUser } from '../../../test/support/ledger-process.ts';
import { longTest } from '../../../test/support/long-test.ts';
import { explain, statementsOf } from '../../../test/support/plan.ts';
import { connect, type Database, type Db, openDatabase } from '../../platform/db/index.ts';
import {
  claimRecord,
  expireRecords,
  findRecord,
  finishRecord,
  hashIdempotencyKey,
  type IdempotentRequest,
  removeRecord,
} from './records.ts';

let own: TestDatabase;
let database: Database;
let db: Db;

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url, 20);
  db = database.db;
  await makeUser(db, 'ann');
  await makeUser(db, 'bob');
});
after(async () => {
  await database.close();
  await own.drop();
});

const LEASE_MS = 60_000;

const requestOf = (key: string, over: Partial<IdempotentRequest> = {}): IdempotentRequest => ({
  userId: 'ann',
  operation: 'task.create.v3',
  keyHash: hashIdempotencyKey(Buffer.from(key)),
  fingerprint: hashIdempotencyKey(Buffer.from('the request')),
  ...over,
});

const resource = (id: string, user_id = 'ann') => ({ user_id, id });

const claim = (request: IdempotentRequest, owner = 'one', resourceId = 'task_1', tx: Db = db): Promise<boolean> =>
  claimRecord(tx, request, { owner, resourceId, leaseMs: LEASE_MS });

/** Ends the lease of the owner, or the time of the record itself. */
const pass = (what: 'owner_until' | 'expires_at', { keyHash }: IdempotentRequest) =>
  sql`update idempotency_records set ${sql.ref(what)} = now() - interval '1 second' where key_hash = ${keyHash}`.execute(
    db,
  );

/** Stores a task as the gateway would, as far as records are concerned. */
const storeTask = (id: string, isDeleted = false) =>
  sql`insert into video_tasks (user_id, id, key_id, group_id, variant, model, upstream_model, callback_token_hash, safety_identifier,
      parameters, has_video_input, callback_secret_sealed, expires_at, deleted_at)
    values ('ann', ${id}, 'k', 'g', 'A', 'm', 'm', ${randomBytes(32)}, 's', '{}', false, '', now(),
      ${isDeleted ? sql`now()` : null})`.execute(db);

test('V 8: a claim is in progress for its lease, then abandoned with its resource', async () => {
  const request = requestOf('claim');
  assert.deepEqual(await findRecord(db, request), { kind: 'absent' });
  assert.equal(await claim(request), true);
  assert.deepEqual(await findRecord(db, request), { kind: 'in_progress' });
  await pass('owner_until', request);
  assert.deepEqual(await findRecord(db, request), { kind: 'abandoned', owner: 'one', resourceId: 'task_1' });
});

test('V 8: users and operations have keys of their own', async () => {
  const request = requestOf('scope');
  assert.equal(await claim(request), true);
  assert.equal(await claim({ ...request, userId: 'bob' }), true);
  assert.equal(await claim({ ...request, operation: 'task.create.v1' }), true);
});

test('V 8: a second claim of the same key is lost and changes nothing', async () => {
  const request = requestOf('lost');
  assert.equal(await claim(request), true);
  assert.equal(await claim(request, 'two', 'task_2'), false);
  await pass('owner_until', request);
  assert.deepEqual(await findRecord(db, request), { kind: 'abandoned', owner: 'one', resourceId: 'task_1' });
  assert.equal(await claim(request, 'two', 'task_2'), false, 'an abandoned record is recovered, not taken');
});

test('V 8: of fifty concurrent claims one wins; a claim that is rolled back leaves the key to the next one', async () => {
  const request = requestOf('race');
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, n) =>
      db.transaction().execute(async (tx) => {
        const isClaimed = await claim(request, `owner ${n}`, `task_${n}`, tx);
        if (isClaimed && n < 5) throw new Error('rolled back');
        return isClaimed;
      }),
    ),
  );
  assert.equal(results.filter((one) => one.status === 'fulfilled' && one.value).length, 1);
});

test('V 8: another request with the same key is a conflict, before and after the operation has finished', async () => {
  const request = requestOf('conflict');
  const other = { ...request, fingerprint: hashIdempotencyKey(Buffer.from('another request')) };
  await claim(request, 'one', 'task_conflict');
  assert.deepEqual(await findRecord(db, other), { kind: 'conflict' });
  await finishRecord(db, resource('task_conflict'), 200);
  assert.deepEqual(await findRecord(db, other), { kind: 'conflict' });
});

test('V 8: a finished record returns its resource, and a stable error its code without a resource', async () => {
  const [success, failure] = [requestOf('success'), requestOf('failure')];
  await claim(success, 'one', 'task_success');
  await finishRecord(db, resource('task_success'), 202);
  assert.deepEqual(await findRecord(db, success), {
    kind: 'finished',
    response: { status: 202, resourceId: 'task_success', error: undefined },
  });
  const error = { code: 'invalid_request', message: 'duration: too long.', param: 'duration' };
  await claim(failure, 'one', 'task_failure');
  await finishRecord(db, resource('task_failure'), 400, error);
  assert.deepEqual(await findRecord(db, failure), {
    kind: 'finished',
    response: { status: 400, resourceId: undefined, error },
  });
});

test('finish and remove have no effect for another resource or on a finished record', async () => {
  const request = requestOf('owner');
  await claim(request, 'one', 'task_owned');
  await finishRecord(db, resource('task_other'), 200);
  await removeRecord(db, resource('task_other'));
  assert.deepEqual(await findRecord(db, request), { kind: 'in_progress' });
  await finishRecord(db, resource('task_owned'), 202);
  await finishRecord(db, resource('task_owned'), 400, { code: 'invalid_request', message: 'late' });
  await removeRecord(db, resource('task_owned'));
  const state = await findRecord(db, request);
  assert.equal(state.kind === 'finished' && state.response.status, 202);
});

test('remove frees the key for any request', async () => {
  const request = requestOf('removed');
  await claim(request, 'one', 'task_removed');
  await removeRecord(db, resource('task_removed'));
  assert.equal(await claim({ ...request, fingerprint: Buffer.alloc(32) }, 'two'), true);
});

test('a record is finished or removed by its resource, whatever its owner, and only for its user', async () => {
  const [taken, unsent] = [requestOf('taken over'), requestOf('never sent')];
  await claim(taken, 'one', 'task_taken');
  await claim(unsent, 'one', 'task_unsent');
  await finishRecord(db, resource('task_taken', 'bob'), 200);
  await removeRecord(db, resource('task_unsent', 'bob'));
  assert.deepEqual(
    [(await findRecord(db, taken)).kind, (await findRecord(db, unsent)).kind],
    Array(2).fill('in_progress'),
  );
  await finishRecord(db, resource('task_taken'), 202);
  await removeRecord(db, resource('task_unsent'));
  assert.equal((await findRecord(db, taken)).kind, 'finished');
  assert.equal((await findRecord(db, unsent)).kind, 'absent');
});

test('V 8: an expired record is free, and a new claim replaces all of it', async () => {
  const request = requestOf('expired');
  await claim(request, 'one', 'task_expired');
  await finishRecord(db, resource('task_expired'), 400, { code: 'invalid_request', message: 'no' });
  await pass('expires_at', request);
  assert.deepEqual(await findRecord(db, request), { kind: 'absent' });
  const next = { ...request, fingerprint: Buffer.alloc(32) };
  assert.equal(await claim(next, 'two', 'task_2'), true);
  assert.deepEqual(await findRecord(db, next), { kind: 'in_progress' });
  await finishRecord(db, resource('task_2'), 200);
  assert.deepEqual(await findRecord(db, next), {
    kind: 'finished',
    response: { status: 200, resourceId: 'task_2', error: undefined },
  });
});

test('V 8: the record of a task is kept as long as the task', async () => {
  const [kept, deleted] = [requestOf('task'), requestOf('deleted task')];
  await storeTask('task_kept');
  await storeTask('task_deleted', true);
  for (const [request, id] of [[kept, 'task_kept'] as const, [deleted, 'task_deleted'] as const]) {
    await claim(request, 'one', id);
    await finishRecord(db, resource(id), 200);
    await pass('expires_at', request);
  }
  assert.equal((await findRecord(db, kept)).kind, 'finished', 'before the clean-up');
  assert.equal(await claim(kept, 'two'), false);
  while ((await expireRecords(db)) > 0);
  assert.equal((await findRecord(db, kept)).kind, 'finished', 'after the clean-up');
  assert.equal((await findRecord(db, deleted)).kind, 'absent');
  assert.equal(await claim(deleted, 'two'), true);
});

longTest('a clean-up removes expired records in batches and reads no more than a batch of them', async (t) => {
  const KEPT = 20_000;
  const GONE = 2_500;
  await sql`insert into video_tasks (user_id, id, key_id, group_id, variant, model, upstream_model, callback_token_hash, safety_identifier,
      parameters, has_video_input, callback_secret_sealed, expires_at)
    select 'bob', 'task_' || n, 'k', 'g', 'A', 'm', 'm', sha256(n::text::bytea), 's', '{}', false, '', now()
    from generate_series(1, ${KEPT}::int) n`.execute(db);
  // Those of existing tasks are the oldest: a clean-up that left them in place would read all of them in every run.
  await sql`insert into idempotency_records (user_id, operation, key_hash, fingerprint, owner, owner_until, resource_id, expires_at,
      http_status, finished_at)
    select 'bob', 'task.create.v3', sha256(n::text::bytea), '', 'o', now(), 'task_' || n,
      now() - interval '2 days' + n * interval '1 second', 200, now()
    from generate_series(1, ${KEPT + GONE}::int) n`.execute(db);
  await sql`analyze idempotency_records, video_tasks`.execute(db);
  const client = await connect(own.url);
  t.after(() => client.end());
  const [statement] = await statementsOf(() => expireRecords(db, 100));
  assert.ok(statement);
  await client.query('begin');
  const { blocks } = await explain(client, statement);
  await client.query('rollback');
  t.diagnostic(`${blocks} blocks for 100 of ${KEPT + GONE} records`);
  assert.ok(blocks < 1_500, `${blocks} blocks`);
  const due: number[] = [];
  for (let n = await expireRecords(db); n > 0; n = await expireRecords(db)) due.push(n);
  assert.equal(
    due.reduce((sum, n) => sum + n, 0),
    KEPT + GONE - 100,
    'each record is due once',
  );
  const { rows } = await sql<{ n: bigint }>`select count(*) as n from idempotency_records where user_id = 'bob'
    and resource_id like 'task_%' and finished_at is not null`.execute(db);
  assert.equal(rows[0]?.n, BigInt(KEPT));
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type LedgerFixture, openLedgerFixture } from '../../../test/support/ledger.ts';
import { makeUser } from '../../../test/support/ledger-process.ts';
import { longTest } from '../../../test/support/long-test.ts';
import { explainWrites, statementsOf } from '../../../test/support/plan.ts';
import { storeTask } from '../../../test/support/stored-task.ts';
import { connect } from '../../platform/db/index.ts';
import { CHECK_INTERVALS, CHECK_JITTER, REVIEW } from '../../rules/index.ts';
import { takeDue } from './due.ts';

let fixture: LedgerFixture;
before(async () => {
  fixture = await openLedgerFixture();
  await makeUser(fixture.db, 'ana');
});
after(() => fixture.close());

const secondsAgo = (seconds: number): Date => new Date(Date.now() - seconds * 1_000);

const store = (id: string, accountId: string, more: Partial<Parameters<typeof storeTask>[1]> = {}) =>
  storeTask(fixture.db, {
    user_id: 'ana',
    id,
    account_id: accountId,
    upstream_id: `up-${id}`,
    submission: 'confirmed',
    next_check_at: secondsAgo(1),
    ...more,
  });

const idsOf = (tasks: readonly { readonly id: string }[]): string[] => tasks.map(({ id }) => id).toSorted();

test('takeDue takes for each account the tasks that are due longest, up to its slots, and each once', async () => {
  for (const [n, due] of [3, 9, 6].entries()) await store(`task_a${n}`, 'a', { next_check_at: secondsAgo(due) });
  await store('task_b', 'b');
  await store('task_c', 'c');
  await store('task_later', 'b', { next_check_at: secondsAgo(-60) });
  await store('task_unknown', 'b', { submission: 'unknown' });
  const accounts = [
    { accountId: 'a', slots: 2 },
    { accountId: 'b', slots: 5 },
  ];
  assert.deepEqual(idsOf(await takeDue(fixture.db, accounts)), ['task_a1', 'task_a2', 'task_b']);
  assert.deepEqual(idsOf(await takeDue(fixture.db, accounts)), ['task_a0']);
  assert.deepEqual(await takeDue(fixture.db, accounts), []);
});

test('takeDue moves the next check by the interval of the age, with its jitter', async () => {
  const cases = [
    ...CHECK_INTERVALS.map(({ everyMs }, n) => ({ age: [0, 130, 700, 4_000][n] ?? 0, everyMs, review: null })),
    { age: 0, everyMs: REVIEW.everyMs, review: secondsAgo(-3_600) },
  ];
  for (const [n, { age, review }] of cases.entries())
    await store(`task_i${n}`, 'i', { created_at: secondsAgo(age), review_until: review });
  const taken = await takeDue(fixture.db, [{ accountId: 'i', slots: 20 }]);
  assert.equal(taken.length, cases.length);
  const { rows } = await sql<{ id: string; ms: number }>`
    select id, (extract(epoch from next_check_at - now()) * 1000)::float8 as ms from video_tasks where account_id = 'i'`.execute(
    fixture.db,
  );
  for (const [n, { everyMs }] of cases.entries()) {
    const { ms = 0 } = rows.find(({ id }) => id === `task_i${n}`) ?? {};
    assert.ok(ms <= everyMs * (1 + CHECK_JITTER), `${ms} of ${everyMs}`);
    assert.ok(ms >= everyMs * (1 - CHECK_JITTER) - 2_000, `${ms} of ${everyMs}`);
  }
});

longTest('takeDue reads no table from end to end, however many tasks are over', async () => {
  const client = await connect(fixture.url);
  try {
    await fill(50_000);
    await client.query('vacuum analyze video_tasks');
    const accounts = Array.from({ length: 500 }, (_, n) => ({ accountId: `live-${n}`, slots: 2 }));
    const sent = await statementsOf(() =>
      fixture.db
        .transaction()
        .execute(async (tx) => {
          await takeDue(tx, accounts);
          throw new Error('taken back');
        })
        .catch(() => undefined),
    );
    const [cost] = await explainWrites(client, sent);
    assert.deepEqual([...(cost?.scanned ?? ['no statement'])], []);
    assert.ok((cost?.blocks ?? 0) < 5_000, `${cost?.blocks} blocks`);
  } finally {
    await client.end();
  }
});

/** One in a hundred is running and due, the others are over. */
const fill = (rows: number) =>
  sql`insert into video_tasks (user_id, id, key_id, group_id, variant, model, upstream_model, status, submission, account_id,
      upstream_id, callback_token_hash, safety_identifier, parameters, has_video_input, callback_secret_sealed, expires_at,
      finished_at, next_check_at)
    select 'ana', 'task_' || n, 'key_1', 'ep', 'EP', 'video', 'video', case when live then 'running' else 'succeeded' end,
      'confirmed', 'live-' || n % 500, 'up-' || n, sha256(n::text::bytea), 'end-user', '{}', false, repeat('s', 120),
      now() + interval '2 days', case when not live then now() end, case when live then now() - interval '1 second' end
    from generate_series(1, ${rows}::int) n, lateral (select n % 100 = 0 as live) t`.execute(fixture.db);

/** Lists of the admin API over all users, for the console: video tasks, private assets, balances, and the settings of the server. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { storeTask } from '../support/stored-task.ts';
import { callVideo, startVideo, TASKS, taskBody, type VideoFixture } from '../support/video.ts';

let fixture: VideoFixture;
const admin = adminApi(() => fixture.gateway.url);

before(async () => {
  fixture = await startVideo({ worker: false, env: { ADMIN_TOKEN } });
});
after(() => fixture.close());

interface Task {
  readonly id: string;
  readonly user: string;
  readonly account: string | null;
  readonly status: string;
  readonly submission: string;
  readonly hold: { readonly state: string; readonly held: string; readonly charged: string | null } | null;
  readonly parameters: Record<string, unknown>;
  readonly callback_host: string | null;
}
interface Page<T> {
  readonly data: readonly T[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}
const tasks = async (query: string) => (await admin<Page<Task>>('GET', `/tasks${query}`)).body;

test('admin tasks lists the tasks of all users with their holds and accounts, never the prompt', async () => {
  const { body: made } = await callVideo(fixture.gateway.url, TASKS, {
    body: taskBody('A', { callback_url: 'https://hooks.example.com/secret-path' }),
  });
  await storeTask(fixture.gateway.context.database.db, {
    user_id: 'bob',
    id: 'task_bob',
    status: 'failed',
    progress: 100,
    error: JSON.stringify({ code: 'submission_failed', message: 'The task failed.' }),
    next_check_at: null,
    finished_at: new Date(),
  });
  const { data } = await tasks('');
  assert.deepEqual(data.map(({ user, status }) => `${user} ${status}`).sort(), ['ana queued', 'bob failed']);
  const one = await admin<Task>('GET', `/tasks/${made.id}`);
  assert.equal(one.body.account, 'account-video-a');
  assert.equal(one.body.hold?.state, 'held');
  assert.match(one.body.hold?.held ?? '', /^\d+\.\d+$/);
  assert.equal(one.body.callback_host, 'hooks.example.com');
  assert.doesNotMatch(one.text, /lighthouse|secret-path/i);
});

test('admin tasks filters by user and status, and pages from newest to oldest', async () => {
  assert.deepEqual(
    (await tasks('?user=bob')).data.map(({ id }) => id),
    ['task_bob'],
  );
  assert.deepEqual(
    (await tasks('?status=failed')).data.map(({ id }) => id),
    ['task_bob'],
  );
  assert.deepEqual((await tasks('?status=running')).data, []);
  const first = await tasks('?limit=1');
  assert.equal(first.has_more, true);
  const second = await tasks(`?limit=1&cursor=${first.next_cursor}`);
  assert.equal(new Set([...first.data, ...second.data].map(({ id }) => id)).size, 2);
  assert.equal(second.has_more, false);
});

test('admin tasks responds with object_not_found to an unknown task', async () => {
  const { status, text } = await admin('GET', '/tasks/task_unknown');
  assert.equal(status, 404);
  assert.match(text, /object_not_found/);
});

test('admin assets lists the assets of all users with their account, never the source', async () => {
  const { db } = fixture.gateway.context.database;
  const owner = { user_id: 'ana', group_id: 'ep', variant: 'EP', account_id: 'account-ep' };
  await db
    .insertInto('asset_groups')
    .values({ ...owner, id: 'assetgrp_1', name: 'Faces', status: 'active', group_type: 'AIGC', upstream_id: 'g-1' })
    .execute();
  await db
    .insertInto('assets')
    .values({
      ...owner,
      id: 'asset_1',
      asset_group_id: 'assetgrp_1',
      name: 'Lamp',
      asset_type: 'Image',
      status: 'processing',
      source_url: 'https://private.example.com/lamp.png',
    })
    .execute();
  const { body, text } = await admin<Page<Record<string, unknown>>>('GET', '/assets?user=ana');
  assert.deepEqual(
    body.data.map(({ id, user, account, status }) => ({ id, user, account, status })),
    [{ id: 'asset_1', user: 'ana', account: 'account-ep', status: 'processing' }],
  );
  assert.doesNotMatch(text, /private\.example/);
  assert.deepEqual((await admin<Page<unknown>>('GET', '/assets?status=active')).body.data, []);
});

test('admin balances lists the same users in every order, without a call and with any balance', async () => {
  const { gateway } = fixture;
  await gateway.apply({
    users: [
      { id: 'idle-1', balance: '1' },
      { id: 'idle-2', balance: '2' },
      { id: 'rich-1', balance: '5000000000' },
      { id: 'rich-2', balance: '6000000000' },
    ],
  });
  const users = async (query: string): Promise<string[]> => {
    const { status, body } = await admin<Page<{ user: string }>>('GET', `/balances?limit=1&${query}`);
    assert.equal(status, 200, query);
    const rest =
      body.next_cursor === null ? [] : await users(`${query.split('&cursor')[0]}&cursor=${body.next_cursor}`);
    return [...body.data.map(({ user }) => user), ...rest];
  };
  for (const sort of ['user', 'available', 'available.asc', 'created']) {
    assert.deepEqual((await users(`user=idle-*&below=10&sort=${sort}`)).sort(), ['idle-1', 'idle-2'], sort);
    assert.deepEqual((await users(`user=rich-*&sort=${sort}`)).sort(), ['rich-1', 'rich-2'], sort);
  }
});

test('admin settings shows values and their sources, and no secret', async () => {
  const { body, text } = await admin<Page<{ name: string; value: string | null; source: string; secret: boolean }>>(
    'GET',
    '/settings',
  );
  const byName = new Map(body.data.map((setting) => [setting.name, setting]));
  assert.equal(byName.get('ALARM_CHECK_MS')?.source, 'default');
  assert.deepEqual(
    (({ value, source, secret }) => ({ value, source, secret }))(byName.get('ADMIN_TOKEN') ?? assert.fail()),
    { value: 'set', source: 'environment', secret: true },
  );
  assert.ok(!text.includes(ADMIN_TOKEN));
  assert.doesNotMatch(text, /postgres(ql)?:\/\/\S*@/);
});

/** Reading, listing and deleting video tasks over HTTP (V 2, V 3, V 4.3 to V 4.5, V 4.7). */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TASK_STATUSES, type TaskStatus } from '../../src/rules/index.ts';
import {
  type ApiResponse,
  callVideo,
  KEYS,
  startVideo,
  TASKS,
  TEST_VARIANTS,
  type TestVariant,
  taskBody,
  textItem,
  VIDEO_MODELS,
  VIDEO_PRICES,
  type VideoFixture,
} from '../support/video.ts';
import { addUser, rowOf, STORED_UPSTREAM_ID, setStatus, storeTask, TERMINAL } from '../support/video-tasks.ts';

/** A model of variant A whose provider cannot cancel queued tasks. */
const WITHOUT_CANCEL = 'demo-video-without-cancel';

let fixture: VideoFixture;
before(async () => {
  fixture = await startVideo({
    // Tasks of the provider stay queued until a test moves its clock.
    video: { clock: 'manual' },
    models: [{ id: WITHOUT_CANCEL, groups: ['video-a'], prices: VIDEO_PRICES, capabilities: { cancel_queued: false } }],
  });
});
after(() => fixture.close());

interface TaskList {
  readonly items: readonly { readonly id: string; readonly status: string; readonly model: string }[];
  readonly total: number;
}
interface VideoList {
  readonly object: string;
  readonly data: readonly { readonly id: string }[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

const get = (path: string, key?: string) => callVideo(fixture.gateway.url, path, { key });
const getTask = (id: unknown, key?: string) => get(`${TASKS}/${String(id)}`, key);
const getVideo = (id: unknown, key?: string) => get(`/v1/videos/${String(id)}`, key);
const remove = (path: string, key?: string) => callVideo(fixture.gateway.url, path, { key, method: 'DELETE' });
const deleteTask = (id: unknown, key?: string) => remove(`${TASKS}/${String(id)}`, key);
const user = (id: string) => addUser(fixture.gateway, id);
const store = (...args: Parameters<typeof storeTask> extends [unknown, ...infer Rest] ? Rest : never) =>
  storeTask(fixture.gateway, ...args);
const upstreamCalls = () => fixture.sim.video.journal.requests.length;

async function create(variant: TestVariant, more: object = {}, key?: string): Promise<string> {
  const { status, body } = await callVideo(fixture.gateway.url, TASKS, { body: taskBody(variant, more), key });
  assert.equal(status, 200, JSON.stringify(body));
  return String(body.id);
}

const list = async (query: string, key: string): Promise<TaskList> => {
  const { status, body } = await get(`${TASKS}${query}`, key);
  assert.equal(status, 200, JSON.stringify(body));
  return body as unknown as TaskList;
};
const idsOf = ({ items }: TaskList): string[] => items.map(({ id }) => id);
const listVideos = async (query: string, key: string): Promise<VideoList> => {
  const { status, body } = await get(`/v1/videos${query}`, key);
  assert.equal(status, 200, JSON.stringify(body));
  return body as unknown as VideoList;
};

function assertError(response: ApiResponse, status: number, code: string): void {
  assert.deepEqual([response.status, response.body.error?.code], [status, code], JSON.stringify(response.body));
  assert.deepEqual(Object.keys(response.body.error ?? {}).toSorted(), ['code', 'message', 'type'], 'V 7 shape');
  assert.match(response.headers.get('x-request-id') ?? '', /^req_/);
}

describe('the task object', () => {
  for (const variant of TEST_VARIANTS)
    for (const status of TASK_STATUSES)
      test(`V 2: a ${status} task of variant ${variant} has the fields of the document and no others`, async () => {
        const id = await store('ana', {
          variant,
          status,
          parameters: { duration: 5, resolution: '480p', ratio: '16:9', seed: 7, watermark: false },
        });
        const { status: http, body } = await getTask(id);
        assert.equal(http, 200);
        const expected = ['id', 'model', 'status', 'progress', 'error', 'created_at', 'updated_at'];
        expected.push('duration', 'resolution', 'ratio', 'generate_audio', 'watermark', 'return_last_frame');
        if (variant === 'A') expected.push('seed');
        if (status === 'succeeded') expected.push('content');
        assert.deepEqual(Object.keys(body).toSorted(), expected.toSorted());
        assert.match(id, /^task_[A-Za-z0-9]+$/, 'V 1 ids');
        assert.deepEqual([body.id, body.model, body.status], [id, VIDEO_MODELS[variant], status]);
        assert.ok(Number.isInteger(body.progress));
        for (const time of ['created_at', 'updated_at']) assert.ok(Number.isInteger(body[time]), time);
        assert.ok(Number(body.created_at) < 1e11 && Number(body.updated_at) >= Number(body.created_at));
        assert.equal(body.watermark, false, 'an explicit false is kept');
      });

  test('V 2: progress is 0 for queued, 50 for running and 100 for succeeded tasks', async () => {
    for (const [status, progress] of [
      ['queued', 0],
      ['running', 50],
      ['succeeded', 100],
    ] as const)
      assert.equal((await getTask(await store('ana', { status }))).body.progress, progress);
  });

  test('V 2: error is null, or code, message and type of a task that ended without success', async () => {
    const error = { code: 'task_expired', message: 'Too late.', type: 'server_error' };
    assert.equal((await getTask(await store('ana'))).body.error, null);
    assert.deepEqual((await getTask(await store('ana', { status: 'expired', error }))).body.error, error);
  });

  test('V 2, V 4.6: content has our own addresses, and the last frame only if one was generated', async () => {
    const plain = await store('ana', { status: 'succeeded' });
    const { url } = fixture.gateway;
    assert.deepEqual((await getTask(plain)).body.content, { video_url: `${url}/v1/videos/${plain}/content` });
    const framed = await store('ana', { status: 'succeeded', reported: { last_frame: true } });
    assert.deepEqual((await getTask(framed)).body.content, {
      video_url: `${url}/v1/videos/${framed}/content`,
      last_frame_url: `${url}/v1/videos/${framed}/last-frame`,
    });
  });

  test('V 2: usage is absent until the provider reported it', async () => {
    assert.ok(!('usage' in (await getTask(await store('ana', { status: 'succeeded' }))).body));
    const measured = await store('ana', { status: 'succeeded', usageTokens: 50_638 });
    assert.deepEqual((await getTask(measured)).body.usage, { completion_tokens: 50_638, total_tokens: 50_638 });
  });

  test('V 2: duration is absent for -1 until the provider reported it', async () => {
    const parameters = { duration: -1 };
    assert.ok(!('duration' in (await getTask(await store('ana', { parameters }))).body));
    const known = await store('ana', { status: 'succeeded', parameters, reported: { duration: 8 } });
    assert.equal((await getTask(known)).body.duration, 8);
  });

  test('V 2: resolution and ratio are the requested ones until the provider reported its own', async () => {
    const parameters = { resolution: '720p', ratio: 'adaptive' };
    const asked = (await getTask(await store('ana', { parameters }))).body;
    assert.deepEqual([asked.resolution, asked.ratio], ['720p', 'adaptive']);
    const reported = { resolution: '720p', ratio: '4:3' };
    const made = (await getTask(await store('ana', { status: 'succeeded', parameters, reported }))).body;
    assert.deepEqual([made.resolution, made.ratio], ['720p', '4:3']);
    const silent = (await getTask(await store('ana', { parameters: {} }))).body;
    assert.ok(!('resolution' in silent) && !('ratio' in silent));
  });

  for (const variant of TEST_VARIANTS)
    test(`V 2: seed and framespersecond are ${variant === 'A' ? 'fields' : 'no fields'} of variant ${variant}`, async () => {
      const reported = { seed: 11, framespersecond: 24 };
      const { body } = await getTask(await store('ana', { variant, status: 'succeeded', reported }));
      assert.deepEqual([body.seed, body.framespersecond], variant === 'A' ? [11, 24] : [undefined, undefined]);
    });

  test('V 2: generate_audio, watermark and return_last_frame come back as they were given', async () => {
    const flags = { generate_audio: false, watermark: true, return_last_frame: false };
    const { body } = await getTask(await create('EP', flags));
    assert.deepEqual(
      { generate_audio: body.generate_audio, watermark: body.watermark, return_last_frame: body.return_last_frame },
      flags,
    );
    const { generate_audio, watermark, return_last_frame } = (await getTask(await create('EP'))).body;
    assert.deepEqual([generate_audio, watermark, return_last_frame], [true, false, false], 'the defaults');
    const reported = { generate_audio: false };
    const mute = (await getTask(await store('ana', { status: 'succeeded', reported }))).body;
    assert.equal(mute.generate_audio, false, 'as the provider reported it');
  });

  test('include=parameters adds every parameter in effect', async () => {
    const given = { duration: 7, seed: 7, service_tier: 'default', execution_expires_after: 7_200 };
    const id = await create('A', { ...given, tools: [{ type: 'web_search' }] });
    const { body } = await get(`${TASKS}/${id}?include=parameters`);
    assert.deepEqual(body.parameters, {
      ...given,
      resolution: '480p',
      ratio: '16:9',
      tools: [{ type: 'web_search' }],
      generate_audio: true,
      watermark: false,
      return_last_frame: false,
    });
    const made = {
      status: 'succeeded',
      parameters: { duration: -1 },
      reported: { duration: 8, ratio: '4:3' },
    } as const;
    const { body: succeeded } = await get(`${TASKS}/${await store('ana', made)}?include=parameters`);
    assert.partialDeepStrictEqual(succeeded.parameters, { duration: 8, ratio: '4:3' });
    assertError(await get(`${TASKS}/${id}?include=prompt`), 400, 'invalid_request');
  });
});

describe('reading a task', () => {
  test('V 3: a new task is queued', async () => {
    assert.equal((await getTask(await create('HC'))).body.status, 'queued');
  });

  test('V 4.3: missing, foreign, malformed and deleted ids give 404 task_not_found', async () => {
    const foreign = await create('A');
    const deleted = await store('ana', { status: 'failed' });
    assert.equal((await deleteTask(deleted)).status, 204);
    assertError(await getTask(foreign, KEYS.bob), 404, 'task_not_found');
    for (const id of [deleted, 'task_missing', 'task_', 'video_1', '%20', 'task_%27', `task_${'x'.repeat(400)}`]) {
      assertError(await getTask(id), 404, 'task_not_found');
      assertError(await getVideo(id), 404, 'task_not_found');
    }
  });

  for (const variant of TEST_VARIANTS)
    test(`V 4.3: a task of variant ${variant} stays readable after 8 days without a call to the provider`, async () => {
      const id = await store('ana', { variant, ageDays: 8, status: 'succeeded' });
      const calls = upstreamCalls();
      assert.equal((await getTask(id)).body.status, 'succeeded');
      assert.equal((await getVideo(id)).status, 200);
      assert.equal(upstreamCalls(), calls);
    });
});

describe('the task list', () => {
  test('V 4.4: the list has items and total only, and 20 items by default', async () => {
    const key = await user('defaults');
    for (let n = 0; n < 21; n += 1) await store('defaults');
    const { status, body } = await get(TASKS, key);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), ['items', 'total']);
    const found = body as unknown as TaskList;
    assert.deepEqual([found.items.length, found.total], [20, 21]);
    const [first] = found.items;
    assert.deepEqual(first, (await getTask(first?.id, key)).body, 'an item is a task object');
  });

  test('V 4.4: page_num and page_size from 1 to 500 pass, other values give 400', async () => {
    const key = await user('ranges');
    for (const name of ['page_num', 'page_size']) {
      for (const value of ['1', '500']) assert.equal((await get(`${TASKS}?${name}=${value}`, key)).status, 200, value);
      for (const value of ['0', '501', '-1', '1.5', 'abc', '', '1e2', '+1'])
        assertError(await get(`${TASKS}?${name}=${encodeURIComponent(value)}`, key), 400, 'invalid_request');
      assertError(await get(`${TASKS}?${name}=1&${name}=2`, key), 400, 'invalid_request');
    }
  });

  test('V 4.4: pages are newest first, do not overlap, and total counts all matches', async () => {
    const key = await user('pages');
    const ids: string[] = [];
    // Two tasks of the same microsecond in every three: their order is stable too.
    for (let n = 0; n < 12; n += 1) {
      const at = new Date(Date.now() - 60_000 + Math.floor(n / 3) * 1_000).toISOString();
      ids.push(await store('pages', { createdAt: n % 3 === 2 ? at.replace('Z', '001Z') : at }));
    }
    const whole = idsOf(await list('?page_size=500', key));
    assert.deepEqual(whole.toSorted(), ids.toSorted());
    const rows = await Promise.all(whole.map((id) => rowOf(fixture.gateway, id)));
    assert.deepEqual(
      rows.map(({ created_at }) => created_at.getTime()),
      rows.map(({ created_at }) => created_at.getTime()).toSorted((a, b) => b - a),
    );
    const paged: string[] = [];
    for (let page = 1; page <= 3; page += 1) {
      const found = await list(`?page_num=${page}&page_size=5`, key);
      assert.equal(found.total, 12);
      paged.push(...idsOf(found));
    }
    assert.deepEqual(paged, whole);
    for (const page of [4, 500])
      assert.deepEqual(await list(`?page_num=${page}&page_size=5`, key), { items: [], total: 12 });
    assert.deepEqual(idsOf(await list('?page_size=500', key)), whole, 'the order is stable');
  });

  test('V 4.4: a repeated filter.status matches any of its values; unknown ones give 400', async () => {
    const key = await user('statuses');
    for (const status of TASK_STATUSES) await store('statuses', { status });
    for (const status of TASK_STATUSES) {
      const { items, total } = await list(`?filter.status=${status}`, key);
      assert.deepEqual([items.map((item) => item.status), total], [[status], 1]);
    }
    const two = await list('?filter.status=queued&filter.status=failed', key);
    assert.deepEqual(two.items.map(({ status }) => status).toSorted(), ['failed', 'queued']);
    for (const word of ['completed', 'queued,failed', 'QUEUED', ''])
      assertError(await get(`${TASKS}?filter.status=${word}`, key), 400, 'invalid_request');
  });

  test('V 4.4: filter.task_ids takes up to 100 ids; foreign, malformed and joined ones match nothing', async () => {
    const key = await user('ids');
    const [one, two] = [await store('ids'), await store('ids')];
    await store('ids');
    const foreign = await store('ana');
    const query = (ids: readonly string[]) =>
      `?${ids.map((id) => `filter.task_ids=${encodeURIComponent(id)}`).join('&')}`;
    const found = await list(query([one, two, foreign, 'task_missing', 'x', '']), key);
    assert.deepEqual(idsOf(found).toSorted(), [one, two].toSorted());
    assert.equal(found.total, 2);
    for (const ids of [[`${one},${two}`], [foreign], ['\u{1F600}']])
      assert.deepEqual(await list(query(ids), key), { items: [], total: 0 }, JSON.stringify(ids));
    const many = Array.from({ length: 99 }, (_, n) => `task_${n}`);
    assert.deepEqual(idsOf(await list(query([...many, one]), key)), [one]);
    assertError(await get(`${TASKS}${query([...many, one, two])}`, key), 400, 'invalid_request');
  });

  test('V 4.4: filter.model matches the public name; an unknown name matches nothing', async () => {
    const key = await user('models');
    for (const variant of TEST_VARIANTS) await store('models', { variant });
    const { items, total } = await list(`?filter.model=${VIDEO_MODELS.HC}`, key);
    assert.deepEqual([items.map(({ model }) => model), total], [[VIDEO_MODELS.HC], 1]);
    assert.deepEqual(await list('?filter.model=unknown', key), { items: [], total: 0 });
    assertError(await get(`${TASKS}?filter.model=a&filter.model=b`, key), 400, 'invalid_request');
    assertError(await get(`${TASKS}?filter.model=%00`, key), 400, 'invalid_request');
  });

  test('V 4.4: filter.service_tier matches tasks of variant A; without a tier they have the default', async () => {
    const key = await user('tiers');
    const implicit = await store('tiers');
    const explicit = await store('tiers', { parameters: { service_tier: 'default' } });
    await store('tiers', { variant: 'EP' });
    await store('tiers', { variant: 'HC' });
    const found = await list('?filter.service_tier=default', key);
    assert.deepEqual(idsOf(found).toSorted(), [implicit, explicit].toSorted());
    assert.equal(found.total, 2);
    assert.deepEqual(await list('?filter.service_tier=flex', key), { items: [], total: 0 });
  });

  test('V 4.4: tasks of EP and HC leave the lists after 7 days, also with filter.task_ids; tasks of A stay', async () => {
    const key = await user('window');
    const old = new Map<TestVariant, string>();
    const recent: string[] = [];
    for (const variant of TEST_VARIANTS) {
      old.set(variant, await store('window', { variant, ageDays: 7.01, status: 'succeeded' }));
      recent.push(await store('window', { variant, ageDays: 6.99, status: 'succeeded' }));
    }
    const expected = [...recent, old.get('A')].toSorted();
    const found = await list('', key);
    assert.deepEqual([idsOf(found).toSorted(), found.total], [expected, 4]);
    const named = await list(`?${[...old.values()].map((id) => `filter.task_ids=${id}`).join('&')}`, key);
    assert.deepEqual([idsOf(named), named.total], [[old.get('A')], 1]);
    assert.equal((await list('?page_size=1', key)).total, 4, 'total counts the same tasks');
    assert.deepEqual((await listVideos('', key)).data.map(({ id }) => id).toSorted(), expected, 'V 4.7');
    for (const id of old.values()) assert.equal((await getTask(id, key)).status, 200, 'V 4.3');
  });

  test('V 4.4: filters of different names must all match, and unknown parameters give 400', async () => {
    const key = await user('combined');
    const wanted = await store('combined', { variant: 'EP', status: 'failed' });
    await store('combined', { variant: 'EP' });
    await store('combined', { variant: 'HC', status: 'failed' });
    const query = `?filter.status=failed&filter.model=${VIDEO_MODELS.EP}`;
    assert.deepEqual(idsOf(await list(query, key)), [wanted]);
    assert.deepEqual(idsOf(await list(`${query}&filter.service_tier=default`, key)), []);
    for (const parameter of ['limit=5', 'filter.statuses=queued', 'page=1', 'filter[status]=queued'])
      assertError(await get(`${TASKS}?${parameter}`, key), 400, 'invalid_request');
  });

  test('V 1: a list contains the tasks of all keys of the user, and of no other user', async () => {
    await user('lonely');
    const ana = await list('?page_size=500', KEYS.ana);
    assert.deepEqual(await list('?page_size=500', KEYS.ana2), ana);
    assert.deepEqual(await list('', await user('lonely')), { items: [], total: 0 });
  });

  test('V 4.5: a deleted task leaves both lists', async () => {
    const key = await user('leaver');
    const [gone, stays] = [await store('leaver', { status: 'failed' }), await store('leaver')];
    assert.equal((await deleteTask(gone, key)).status, 204);
    const found = await list('', key);
    assert.deepEqual([idsOf(found), found.total], [[stays], 1]);
    assert.deepEqual(
      (await listVideos('', key)).data.map(({ id }) => id),
      [stays],
    );
  });
});

describe('deleting a task', () => {
  type Outcome = 204 | readonly [status: number, code: string];
  const OUTCOMES: Readonly<Record<TestVariant, Readonly<Record<TaskStatus, Outcome>>>> = {
    A: {
      queued: 204,
      running: [409, 'task_not_cancellable'],
      cancelled: 204,
      succeeded: 204,
      failed: 204,
      expired: 204,
    },
    EP: unsupported(),
    HC: unsupported(),
  };
  function unsupported(): Record<TaskStatus, Outcome> {
    const cancel = [400, 'task_cancel_not_supported'] as const;
    const removal = [400, 'task_delete_not_supported'] as const;
    return {
      queued: cancel,
      running: cancel,
      cancelled: removal,
      succeeded: removal,
      failed: removal,
      expired: removal,
    };
  }

  for (const variant of TEST_VARIANTS)
    for (const status of TASK_STATUSES) {
      const outcome = OUTCOMES[variant][status];
      const expected = outcome === 204 ? '204' : outcome.join(' ');
      test(`V 3: DELETE of a ${status} task of variant ${variant} gives ${expected}`, async () => {
        const id = await create(variant);
        await setStatus(fixture.gateway, id, status);
        const before = (await getTask(id)).body;
        const response = await deleteTask(id);
        if (outcome === 204) {
          assert.equal(response.status, 204);
          assert.equal(response.headers.get('content-type'), null, 'V 4.5: no content type');
          assert.equal(response.headers.get('content-length'), null);
          assert.deepEqual(response.body, {}, 'V 4.5: no body');
          if (TERMINAL.includes(status)) assertError(await getTask(id), 404, 'task_not_found');
          else assert.equal((await getTask(id)).body.status, 'cancelled');
        } else {
          assertError(response, ...outcome);
          assert.equal(response.headers.get('x-should-retry'), outcome[0] === 409 ? 'false' : null);
          assert.deepEqual((await getTask(id)).body, before, 'V 7: the state is unchanged');
        }
      });
    }

  test('V 3: DELETE of a queued task cancels it at the provider and releases its hold', async () => {
    const key = await user('canceller');
    const id = await create('A', {}, key);
    const held = () =>
      fixture.gateway.context.database.db
        .selectFrom('holds')
        .select('state')
        .where('reference', '=', `task:${id}`)
        .executeTakeFirstOrThrow();
    assert.equal((await held()).state, 'held');
    assert.equal((await deleteTask(id, key)).status, 204);
    const { upstream_id } = await rowOf(fixture.gateway, id);
    assert.equal(fixture.sim.video.tasks.get(String(upstream_id))?.status, 'cancelled');
    const { body } = await getTask(id, key);
    assert.equal(body.status, 'cancelled');
    assert.equal(body.error?.code, 'task_cancelled');
    assert.equal(body.progress, 0);
    assert.equal((await held()).state, 'released');
    assert.equal((await deleteTask(id, key)).status, 204, 'a cancelled task can be removed');
    assertError(await deleteTask(id, key), 404, 'task_not_found');
  });

  test('V 3: a model that cannot cancel gives 400 task_cancel_not_supported without a call to the provider', async () => {
    const id = await create('A', { model: WITHOUT_CANCEL });
    const calls = upstreamCalls();
    assertError(await deleteTask(id), 400, 'task_cancel_not_supported');
    assert.equal(upstreamCalls(), calls);
    assert.equal((await getTask(id)).body.status, 'queued');
    await setStatus(fixture.gateway, id, 'failed');
    assert.equal((await deleteTask(id)).status, 204, 'finished tasks can be removed nevertheless');
  });

  const stuckRunning = { content: [textItem('[sim:queued=0;stuck=running]')] };

  test('V 3: a task that runs at the provider gives 409 task_not_cancellable and becomes running', async () => {
    const id = await create('A', stuckRunning);
    await fixture.sim.video.clock.advance(1);
    assert.equal((await getTask(id)).body.status, 'queued', 'the gateway has not looked yet');
    assertError(await deleteTask(id), 409, 'task_not_cancellable');
    const { body } = await getTask(id);
    assert.deepEqual([body.status, body.progress], ['running', 50]);
    const row = await rowOf(fixture.gateway, id);
    assert.deepEqual([row.version, row.cancel_requested_at], [2, null]);
  });

  test('V 3: a provider that rejects the cancellation gives 409 task_not_cancellable', async () => {
    const id = await create('A', { content: [textItem('[sim:on=delete;error=TaskRunningCannotCancel]')] });
    assertError(await deleteTask(id), 409, 'task_not_cancellable');
    assert.equal((await getTask(id)).body.status, 'queued', 'the provider says so');
    assert.equal((await rowOf(fixture.gateway, id)).cancel_requested_at, null);
  });

  test('V 3: a task that has ended at the provider is not deleted there', async () => {
    const id = await create('A', { content: [textItem('[sim:queued=0;running=0]')] });
    await fixture.sim.video.clock.advance(1);
    assertError(await deleteTask(id), 409, 'task_not_cancellable');
    const { upstream_id } = await rowOf(fixture.gateway, id);
    assert.equal(fixture.sim.video.tasks.get(String(upstream_id))?.status, 'succeeded');
  });

  for (const [about, trigger] of [
    ['cannot be asked', 'on=get;fault=500'],
    ['does not respond to the cancellation', 'on=delete;fault=500'],
  ] as const)
    test(`V 3: a provider that ${about} gives 204, and the cancellation stays recorded`, async () => {
      const id = await create('A', { content: [textItem(`[sim:${trigger}]`)] });
      assert.equal((await deleteTask(id)).status, 204);
      assert.equal((await getTask(id)).body.status, 'queued');
      assert.notEqual((await rowOf(fixture.gateway, id)).cancel_requested_at, null);
      assert.equal((await deleteTask(id)).status, 204, 'asking again is harmless');
    });

  test('V 3: DELETE of a task whose submission is unknown gives 204, and the cancellation stays recorded', async () => {
    const id = await store('ana');
    await fixture.gateway.context.database.db
      .updateTable('video_tasks')
      .set({ submission: 'unknown', upstream_id: null })
      .where('id', '=', id)
      .execute();
    const calls = upstreamCalls();
    assert.equal((await deleteTask(id)).status, 204);
    assert.equal(upstreamCalls(), calls);
    assert.notEqual((await rowOf(fixture.gateway, id)).cancel_requested_at, null);
  });

  test('V 4.5: DELETE of missing, foreign and malformed ids gives 404 task_not_found for every variant', async () => {
    for (const variant of TEST_VARIANTS) {
      const id = await store('ana', { variant, status: 'succeeded' });
      for (const path of [`${TASKS}/${id}`, `/v1/videos/${id}`])
        assertError(await remove(path, KEYS.bob), 404, 'task_not_found');
      assert.equal((await getTask(id)).status, 200);
    }
    for (const id of ['task_missing', 'x', '%20']) assertError(await deleteTask(id), 404, 'task_not_found');
  });

  test('V 8: two DELETE requests at once both succeed, and the provider cancels once', async () => {
    const id = await create('A');
    const responses = await Promise.all([deleteTask(id), deleteTask(id)]);
    for (const { status } of responses) assert.equal(status, 204);
    assert.equal((await rowOf(fixture.gateway, id)).version, 2, 'one change of status');
  });
});

describe('the compatibility entry', () => {
  const STATUS: Readonly<Record<TaskStatus, string>> = {
    queued: 'queued',
    running: 'in_progress',
    succeeded: 'completed',
    failed: 'failed',
    cancelled: 'failed',
    expired: 'failed',
  };

  for (const status of TASK_STATUSES)
    test(`V 4.7: a ${status} task is a video with the status ${STATUS[status]}`, async () => {
      const failed = { code: `task_${status}`, message: 'It ended.', type: 'server_error' };
      const hasError = TERMINAL.includes(status) && status !== 'succeeded';
      const id = await store('ana', { variant: 'HC', status, ...(hasError && { error: failed }) });
      const { status: http, headers, body } = await getVideo(id);
      assert.equal(http, 200);
      assert.ok(Number(headers.get('openai-poll-after-ms')) >= 1_000);
      const { created_at: created, completed_at: completed, expires_at: expires, ...video } = body;
      assert.deepEqual(video, {
        id,
        object: 'video',
        model: VIDEO_MODELS.HC,
        status: STATUS[status],
        progress: { queued: 0, running: 50, succeeded: 100 }[status as string] ?? 0,
        error: hasError ? failed : null,
        prompt: null,
        remixed_from_video_id: null,
        seconds: '5',
        size: '864x496',
      });
      assert.ok(Number.isInteger(created));
      assert.equal(completed === null, !TERMINAL.includes(status));
      assert.equal(expires, status === 'succeeded' ? Number(completed) + 86_400 : null);
    });

  test('V 4.7: seconds and size are "auto" until they are known', async () => {
    const parameters = { duration: -1, resolution: '720p', ratio: 'adaptive' };
    const asked = (await getVideo(await store('ana', { parameters }))).body;
    assert.deepEqual([asked.seconds, asked.size], ['auto', 'auto']);
    const reported = { duration: 9, resolution: '720p', ratio: '1:1' };
    const made = (await getVideo(await store('ana', { parameters, reported, status: 'succeeded' }))).body;
    assert.deepEqual([made.seconds, made.size], ['9', '960x960']);
  });

  test('V 4.7: the list has the envelope of the document; an empty one has null ids', async () => {
    const key = await user('empty');
    assert.deepEqual(await listVideos('', key), {
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
    const id = await store('empty');
    const { data, ...envelope } = await listVideos('', key);
    assert.deepEqual(envelope, { object: 'list', first_id: id, last_id: id, has_more: false });
    assert.deepEqual(data[0], (await getVideo(id, key)).body, 'an item is a video object');
  });

  test('V 4.7: limit is 20 by default and from 1 to 100; order is asc or desc; unknown parameters give 400', async () => {
    const key = await user('limits');
    for (let n = 0; n < 21; n += 1) await store('limits');
    const found = await listVideos('', key);
    assert.deepEqual([found.data.length, found.has_more], [20, true]);
    for (const query of ['?limit=1', '?limit=100', '?order=asc', '?order=desc'])
      assert.equal((await get(`/v1/videos${query}`, key)).status, 200, query);
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=abc',
      'limit=',
      'order=up',
      'order=asc&order=desc',
      'page_num=1',
    ])
      assertError(await get(`/v1/videos?${query}`, key), 400, 'invalid_request');
  });

  for (const order of ['asc', 'desc'] as const)
    test(`V 4.7: after walks through the list in order ${order} without gap or overlap`, async () => {
      const key = await user(`walker-${order}`);
      // Several tasks of one millisecond, at different microseconds and at the same one.
      const at = new Date(Date.now() - 60_000).toISOString().replace('Z', '');
      for (let n = 0; n < 9; n += 1)
        await store(`walker-${order}`, { createdAt: `${at}${Math.floor(n / 2) * 100 + 100}Z` });
      const whole = (await listVideos(`?order=${order}`, key)).data.map(({ id }) => id);
      assert.equal(whole.length, 9);
      const walked: string[] = [];
      let page: VideoList | undefined;
      do {
        const after: string = page ? `&after=${page.last_id}` : '';
        page = await listVideos(`?order=${order}&limit=2${after}`, key);
        assert.deepEqual([page.first_id, page.last_id], [page.data[0]?.id, page.data.at(-1)?.id]);
        walked.push(...page.data.map(({ id }) => id));
      } while (page.has_more);
      assert.deepEqual(walked, whole);
    });

  test('V 4.7: an unknown, foreign or malformed after gives 400', async () => {
    const key = await user('cursors');
    const foreign = await store('ana');
    for (const after of ['task_missing', foreign, 'x', '', '%00'])
      assertError(await get(`/v1/videos?after=${after}`, key), 400, 'invalid_request');
  });

  test('V 4.7: DELETE follows the rules of the task and returns the deleted object', async () => {
    const id = await create('A');
    await setStatus(fixture.gateway, id, 'succeeded');
    const { status, body } = await remove(`/v1/videos/${id}`);
    assert.equal(status, 200);
    assert.deepEqual(body, { id, object: 'video.deleted', deleted: true });
    assertError(await getVideo(id), 404, 'task_not_found');
    const queued = await create('A');
    assert.equal((await remove(`/v1/videos/${queued}`)).status, 200);
    assert.equal((await getVideo(queued)).body.status, 'failed', 'a cancelled task shows as failed');
    for (const variant of ['EP', 'HC'] as const)
      assertError(await remove(`/v1/videos/${await create(variant)}`), 400, 'task_cancel_not_supported');
  });

  test('V 4.7: a task of either entry is visible and deletable through the other', async () => {
    const key = await user('both');
    const task = await create('A', {}, key);
    const created = await callVideo(fixture.gateway.url, '/v1/videos', {
      body: { model: VIDEO_MODELS.A, prompt: 'A lighthouse', seconds: '4' },
      key,
    });
    const video = String(created.body.id);
    assert.deepEqual(idsOf(await list('', key)), [video, task]);
    assert.deepEqual(
      (await listVideos('', key)).data.map(({ id }) => id),
      [video, task],
    );
    assert.equal((await getVideo(task, key)).body.object, 'video');
    assert.equal((await getTask(video, key)).body.duration, 4);
    assert.equal((await deleteTask(video, key)).status, 204);
    assert.equal((await remove(`/v1/videos/${task}`, key)).status, 200);
  });

  test('V 4.7: operations of the compatible API that are not offered are rejected', async () => {
    const id = await create('A');
    for (const path of [`/v1/videos/${id}/remix`, '/v1/videos/characters/char_1']) {
      const response = await callVideo(fixture.gateway.url, path, { body: {} });
      assertError(response, 404, 'not_found');
    }
    for (const path of ['/v1/videos/edits', '/v1/videos/extensions', '/v1/videos/characters'])
      assertError(await callVideo(fixture.gateway.url, path, { body: {} }), 404, 'not_found');
  });
});

test('V 1: no response shows the id of the provider', async () => {
  const key = await user('hidden');
  await store('hidden', { status: 'succeeded' });
  for (const path of [TASKS, '/v1/videos'])
    assert.ok(!JSON.stringify((await get(path, key)).body).includes(STORED_UPSTREAM_ID));
});

/** Following of video tasks to their end: status, settlement and what the caller sees. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  callVideo,
  startVideo,
  TASKS,
  TEST_VARIANTS,
  type TestVariant,
  taskBody,
  textItem,
  VIDEO_MODELS,
  type VideoFixture,
} from '../support/video.ts';
import { until } from '../support/wait.ts';

let fixture: VideoFixture;
before(async () => {
  fixture = await startVideo({ worker: true, video: { queuedMs: 50, runningMs: 50 } });
});
after(() => fixture.close());

interface TaskView {
  readonly status: string;
  readonly progress: number;
  readonly error: { readonly code: string } | null;
  readonly usage?: { readonly total_tokens: number };
  readonly content?: { readonly video_url: string };
  readonly duration?: number;
  readonly resolution?: string;
}

const trigger = (variant: TestVariant, words: string, more: object = {}) =>
  taskBody(variant, { content: [textItem(`[sim:${words}]`)], ...more });

async function create(body: object): Promise<string> {
  const response = await callVideo(fixture.gateway.url, TASKS, { body });
  assert.equal(response.status, 200, JSON.stringify(response.body));
  return String(response.body.id);
}

const read = async (id: string): Promise<TaskView> =>
  (await callVideo(fixture.gateway.url, `${TASKS}/${id}`)).body as unknown as TaskView;

/** Looks at the task at once instead of in some seconds. */
async function hurry(id: string): Promise<void> {
  await fixture.gateway.context.database.db
    .updateTable('video_tasks')
    .set({ next_check_at: new Date(0) })
    .where('id', '=', id)
    .where('next_check_at', 'is not', null)
    .execute();
}

async function end(id: string): Promise<TaskView> {
  return until(`the end of ${id}`, async () => {
    await hurry(id);
    const task = await read(id);
    return ['queued', 'running'].includes(task.status) ? undefined : task;
  });
}

const holdOf = (id: string) =>
  fixture.gateway.context.database.db
    .selectFrom('holds')
    .selectAll()
    .where('reference', '=', `task:${id}`)
    .executeTakeFirstOrThrow();

for (const variant of TEST_VARIANTS)
  test(`V 8: a succeeded task of variant ${variant} is charged by its reported usage, once`, async () => {
    const id = await create(taskBody(variant));
    const task = await end(id);
    assert.equal(task.status, 'succeeded');
    assert.equal(task.progress, 100);
    assert.equal(task.content?.video_url, `${fixture.gateway.url}/v1/videos/${id}/content`);
    const tokens = Math.floor((864 * 496 * (24 * 5 + 1)) / 1024);
    assert.equal(task.usage?.total_tokens, tokens);
    const hold = await holdOf(id);
    assert.deepEqual([hold.state, hold.settled_nanos], ['settled', BigInt(tokens) * 7_000n]);
    const records = await fixture.gateway.context.database.db
      .selectFrom('usage_records')
      .select(['nanos', 'operation', 'model'])
      .where('request_id', '=', id)
      .execute();
    assert.deepEqual(records, [
      { nanos: BigInt(tokens) * 7_000n, operation: 'tasks.create', model: VIDEO_MODELS[variant] },
    ]);
  });

test('V 3: a task that the provider fails releases its hold and has a neutral error', async () => {
  const id = await create(trigger('EP', 'fail=OutputVideoSensitiveContentDetected.PolicyViolation'));
  const task = await end(id);
  assert.deepEqual([task.status, task.error?.code], ['failed', 'output_content_rejected']);
  assert.equal((await holdOf(id)).state, 'released');
});

test('V 8: a success without usage keeps its hold in review and is settled when usage appears', async () => {
  const id = await create(trigger('EP', 'usage_after=2500'));
  const task = await end(id);
  assert.equal(task.status, 'succeeded');
  assert.equal(task.usage, undefined, 'usage is never estimated');
  assert.equal((await holdOf(id)).state, 'review');
  const settled = await until('the settlement', async () => {
    await hurry(id);
    const hold = await holdOf(id);
    return hold.state === 'settled' ? hold : undefined;
  });
  assert.ok((settled.settled_nanos ?? 0n) > 0n);
  assert.ok((await read(id)).usage?.total_tokens);
});

test('V 3: an unknown status and a step back change nothing', async () => {
  const odd = await create(trigger('EP', 'unknown_status'));
  const back = await create(trigger('EP', 'backwards'));
  assert.equal((await end(odd)).status, 'succeeded');
  assert.equal((await end(back)).status, 'succeeded');
});

test('V 8: usage above the hold is charged in full', async () => {
  const id = await create(trigger('EP', 'resolution=720p'));
  const task = await end(id);
  assert.deepEqual([task.status, task.resolution], ['succeeded', '720p']);
  const hold = await holdOf(id);
  assert.equal(hold.settled_nanos, BigInt(task.usage?.total_tokens ?? 0) * 7_000n);
  assert.ok((hold.settled_nanos ?? 0n) > hold.nanos);
});

test('V 3: a running task that is cancelled at the provider ends, and its hold is released', async () => {
  const id = await create(trigger('EP', 'stuck=running'));
  const seen = async (status: string) => {
    await hurry(id);
    return (await read(id)).status === status;
  };
  await until('the task runs', () => seen('running'));
  const task = fixture.sim.video.tasks.all[0];
  assert.ok(task);
  task.status = 'cancelled';
  await until('the task is cancelled', () => seen('cancelled'));
  assert.equal((await read(id)).error?.code, 'task_cancelled');
  assert.equal((await holdOf(id)).state, 'released');
});

test('V 3: a queued task of variant A is cancelled at the provider and costs nothing', async () => {
  const id = await create(trigger('A', 'stuck=queued'));
  const { status } = await callVideo(fixture.gateway.url, `${TASKS}/${id}`, { method: 'DELETE' });
  assert.equal(status, 204);
  assert.equal((await read(id)).status, 'cancelled');
  assert.equal((await holdOf(id)).state, 'released');
});

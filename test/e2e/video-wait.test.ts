/** Long polls and status streams of video tasks, beyond the document. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startGateway } from '../support/gateway.ts';
import { callVideo, KEYS, startVideo, TASKS, taskBody, textItem, type VideoFixture } from '../support/video.ts';
import { until } from '../support/wait.ts';

let fixture: VideoFixture;
before(async () => {
  fixture = await startVideo({ worker: true, video: { clock: 'manual', queuedMs: 1_000, runningMs: 1_000 } });
});
after(() => fixture.close());

async function create(): Promise<string> {
  const { body } = await callVideo(fixture.gateway.url, TASKS, { body: taskBody('EP', { content: [textItem()] }) });
  return String(body.id);
}

/** Lets the provider finish the task and the worker look at it. */
async function finish(id: string): Promise<void> {
  await fixture.sim.video.clock.advance(5_000);
  await fixture.gateway.context.database.db
    .updateTable('video_tasks')
    .set({ next_check_at: new Date(0) })
    .where('id', '=', id)
    .execute();
}

test('a long poll returns when the task changes, and a finished task at once', async () => {
  const id = await create();
  const waiting = callVideo(fixture.gateway.url, `${TASKS}/${id}?wait=30`);
  await finish(id);
  const { status, body, headers } = await waiting;
  assert.deepEqual([status, body.status], [200, 'succeeded']);
  assert.equal(headers.get('retry-after'), null, 'a finished task needs no further poll');
  const again = await callVideo(fixture.gateway.url, `/v1/videos/${id}?wait=30`);
  assert.equal(again.body.status, 'completed');
});

test('a long poll returns the unchanged task when the time is up', async () => {
  const id = await create();
  const { body, headers } = await callVideo(fixture.gateway.url, `${TASKS}/${id}?wait=1`);
  assert.equal(body.status, 'queued');
  assert.equal(headers.get('retry-after'), '5');
});

test('wait must be an integer from 1 to 60', async () => {
  const id = await create();
  for (const wait of ['0', '61', 'x', '1.5', '']) {
    const { status, body } = await callVideo(fixture.gateway.url, `${TASKS}/${id}?wait=${wait}`);
    assert.deepEqual([status, body.error?.code], [400, 'invalid_request'], wait);
  }
});

test('a status stream sends every state of the task and ends with the last one', async () => {
  const id = await create();
  const response = await fetch(`${fixture.gateway.url}${TASKS}/${id}`, {
    headers: { authorization: `Bearer ${KEYS.ana}`, accept: 'Text/Event-Stream' },
  });
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const reader = (response.body ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader.read()).value ?? '';
  await finish(id);
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
  const statuses = [...text.matchAll(/^event: task\ndata: (.*)$/gm)].map(
    ([, data]) => (JSON.parse(data ?? '') as { status: string }).status,
  );
  assert.equal(statuses[0], 'queued');
  assert.equal(statuses.at(-1), 'succeeded');
});

test('a status stream of a foreign task is 404, and a client that disconnects is forgotten', async () => {
  const id = await create();
  const foreign = await fetch(`${fixture.gateway.url}${TASKS}/${id}`, {
    headers: { authorization: `Bearer ${KEYS.bob}`, accept: 'text/event-stream' },
  });
  assert.equal(foreign.status, 404);
  const controller = new AbortController();
  await fetch(`${fixture.gateway.url}${TASKS}/${id}`, {
    headers: { authorization: `Bearer ${KEYS.ana}`, accept: 'text/event-stream' },
    signal: controller.signal,
  });
  controller.abort();
  await until('the log line', () =>
    fixture.gateway.log.some(
      ({ msg, task, outcome }) => msg === 'request.completed' && task === id && outcome === 'client_closed',
    ),
  );
});

test('at a stop a long poll returns the task as it is, and a status stream says to read it again', async () => {
  const id = await create();
  const replica = await startGateway({ database: fixture.gateway.database, env: { DRAIN_MS: '60000' } });
  const poll = callVideo(replica.url, `${TASKS}/${id}?wait=60`);
  const stream = await fetch(`${replica.url}${TASKS}/${id}`, {
    headers: { authorization: `Bearer ${KEYS.ana}`, accept: 'text/event-stream' },
  });
  await until('the requests to wait', async () =>
    /^dragoman_open_requests(?:{.*})? 3$/m.test(await (await fetch(`${replica.url}/metrics`)).text()),
  );
  await replica.stop();
  const { status, body } = await poll;
  assert.deepEqual([status, body.status], [200, 'queued']);
  assert.match(await stream.text(), /^event: error\ndata: .*read the task again/m);
});

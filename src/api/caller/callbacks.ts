/** Callback deliveries of a caller's own tasks: what was sent, what the receiver returned, and delivery again. Beyond document 2. */
import { fail, failAt } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { VIDEO_QUERIES } from '../../rules/index.ts';
import type { Video } from '../../video/index.ts';
import { sendList } from './list.ts';
import { readVideoQuery } from './query.ts';

interface CallbackServices {
  readonly video: Video;
}

export async function listOwnCallbacks({ video }: CallbackServices, call: Call, { key }: Caller): Promise<void> {
  const { limit, after, task_id, state } = readVideoQuery(call.query, VIDEO_QUERIES['callbacks.list']);
  if (after !== undefined && !(await video.callbacks.find(key, after)))
    throw failAt('invalid_request', 'after', `"${after.slice(0, 80)}" is not the id of a callback in this list.`);
  const rows = await video.callbacks.list({ userId: key.userId, task: task_id, states: state }, { after, limit });
  sendList(call, rows, { limit, view: (event) => video.callbacks.view(event), id: ({ event_id }) => event_id });
}

export async function getOwnCallback({ video }: CallbackServices, call: Call, { key }: Caller): Promise<void> {
  const event = await video.callbacks.find(key, eventIdIn(call));
  if (!event) throw fail('callback_not_found');
  sendJson(call, 200, await video.callbacks.detail(event));
}

export async function redeliverOwnCallback({ video }: CallbackServices, call: Call, { key }: Caller): Promise<void> {
  const event = await video.callbacks.redeliver(key, eventIdIn(call));
  if (!event) throw fail('callback_not_found');
  if (event === 'pending') throw fail('callback_pending');
  sendJson(call, 202, video.callbacks.view(event));
}

/** Sends at once and waits for the outcome, at most 15 seconds. */
export async function testOwnCallback({ video }: CallbackServices, call: Call, { key }: Caller): Promise<void> {
  const task = await video.getTask(key, call.params.task_id ?? '');
  const sent = await video.testCallback(key.userId, task.id);
  if (sent === 'no_task') throw fail('task_not_found');
  if (sent === 'no_url')
    throw fail('invalid_request', 'The task has no callback URL; create one with callback_url.', {
      param: 'callback_url',
    });
  const { eventId, delivered, status, error, durationMs } = sent;
  sendJson(call, 200, {
    object: 'callback_test',
    id: eventId,
    task_id: task.id,
    delivered,
    status,
    error,
    duration_ms: durationMs,
  });
}

const eventIdIn = (call: Call): string => call.params.event_id ?? '';

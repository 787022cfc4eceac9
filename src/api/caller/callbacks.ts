/**
 * Callback deliveries of a caller's own tasks: what was sent, what the receiver returned, and delivery again. Beyond
 * document 2.
 */
import { fail, failAt, valueOfJson } from '../../core/index.ts';
import { type Call, expectJson, readBody, sendJson, sendNoContent } from '../../platform/web/index.ts';
import { BODY_BYTES, VIDEO_QUERIES } from '../../rules/index.ts';
import type { Video } from '../../video/index.ts';
import { readVideoQuery, sendList, type VideoHandlers } from './query.ts';

export const CALLBACK_HANDLERS: VideoHandlers<'callbacks'> = {
  async 'callbacks.list'({ video }, call, { key }) {
    const { limit, after, task_id, state } = readVideoQuery(call.query, VIDEO_QUERIES['callbacks.list']);
    if (after !== undefined && !(await video.callbacks.find(key, after)))
      throw failAt('invalid_request', 'after', `"${after.slice(0, 80)}" is not the id of a callback in this list.`);
    const rows = await video.callbacks.list({ userId: key.userId, task: task_id, states: state }, { after, limit });
    sendList(call, rows, { limit, view: (event) => video.callbacks.view(event), id: ({ event_id }) => event_id });
  },

  async 'callbacks.get'({ video }, call, { key }) {
    const event = await video.callbacks.find(key, eventIdIn(call));
    if (!event) throw fail('callback_not_found');
    sendJson(call, 200, await video.callbacks.detail(event));
  },

  async 'callbacks.redeliver'({ video }, call, { key }) {
    const event = await video.callbacks.redeliver(key, eventIdIn(call));
    if (!event) throw fail('callback_not_found');
    if (event === 'pending') throw fail('callback_pending');
    sendJson(call, 202, video.callbacks.view(event));
  },

  /** Sends at once and waits for the outcome, at most 15 seconds. */
  async 'callbacks.test'({ video }, call, { key }) {
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
  },

  async 'callbacks.getDefault'({ video }, call, { key }) {
    sendJson(call, 200, await video.callbackDefaults.get(key));
  },

  async 'callbacks.setDefault'({ video }, call, { key }) {
    expectJson(call);
    const body = await readBody(call, BODY_BYTES.small);
    sendJson(call, 200, await video.callbackDefaults.set(key, valueOfJson(body.toString('utf8'))));
  },

  async 'callbacks.removeDefault'({ video }, call, { key }) {
    await video.callbackDefaults.remove(key);
    sendNoContent(call);
  },
};

const eventIdIn = (call: Call): string => call.params.event_id ?? '';

/**
 * Reports of video providers on the secret path of a task. The body is a hint and never trusted; a wrong path gets 404.
 */
export async function receiveProviderReport(video: Video, call: Call): Promise<void> {
  const body = await readBody(call, BODY_BYTES.small);
  const isKnown = await video.onProviderReport(call.params.secret ?? '', valueOfJson(body.toString('utf8')));
  if (!isKnown) throw fail('not_found', 'Unknown callback path.');
  sendJson(call, 200, {});
}

/** One attempt to send a callback: signed now, to an address that is checked now. */
import { newId, type Sealer } from '../../core/index.ts';
import * as outbound from '../../platform/outbound/index.ts';
import { CALLBACK_RULES, type CallbackRules, TEST_EVENT_TYPE } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import { callbackSecretLocation, findCreatedTask, type TaskRow } from '../tasks/task.ts';
import { taskView } from '../tasks/view.ts';
import type { TakenEvent } from './take.ts';

export interface CallbackSender extends Pick<VideoServices, 'sealer' | 'clock'> {
  readonly fetcher: Pick<outbound.PublicFetcher, 'post'>;
}

type SentEvent = Pick<TakenEvent, 'task_id' | 'event_id' | 'url' | 'body' | 'secret_sealed'>;

/** Never rejects. */
export async function sendCallback(
  { fetcher, sealer, clock }: CallbackSender,
  { task_id: taskId, event_id: eventId, url, body, secret_sealed: sealed }: SentEvent,
  { headMs, timeoutMs, responseBytes }: CallbackRules,
): Promise<outbound.SendResult> {
  if (sealed === null) return { ok: false, reason: 'task' };
  const secret = openSecret(sealer, sealed, taskId);
  if (!secret) return { ok: false, reason: 'secret' };
  const timestamp = Math.floor(clock.now() / 1_000);
  const headers = outbound.callbackHeaders({ secret, eventId, taskId, timestamp, body });
  return fetcher.post(url, { headers, body, headMs, timeoutMs, maxBytes: responseBytes });
}

function openSecret(sealer: Sealer, sealed: string, taskId: string): Buffer | undefined {
  try {
    return Buffer.from(sealer.open(sealed, callbackSecretLocation(taskId)), 'base64');
  } catch {
    return undefined;
  }
}

type TestServices = CallbackSender & Pick<VideoServices, 'db' | 'publicUrl'>;

/**
 * A test event for the receiver of a task, sent once and not stored. It has the form and the signature of a real one;
 * its type and version 0 keep receivers from acting on it. Works for deleted tasks too.
 */
export async function testCallback(services: TestServices, userId: string, taskId: string) {
  const { db, clock } = services;
  const task = await findCreatedTask(db, userId, taskId);
  if (!task) return 'no_task';
  if (task.callback_url === null) return 'no_url';
  const eventId = newId('evt');
  const body = Buffer.from(JSON.stringify(testEvent(services, task, eventId)));
  const begun = clock.now();
  const { callback_url: url, callback_secret_sealed: secret_sealed } = task;
  const event = { task_id: taskId, event_id: eventId, url, body, secret_sealed };
  const result = await sendCallback(services, event, CALLBACK_RULES);
  return {
    eventId,
    host: new URL(url).host,
    delivered: outbound.isDelivery(result),
    ...outbound.summaryOf(result),
    durationMs: Math.max(0, Math.round(clock.now() - begun)),
  };
}

function testEvent({ clock, publicUrl }: TestServices, task: TaskRow, eventId: string): object {
  const { id, model, status, error, created_at, updated_at } = taskView(task, publicUrl());
  return {
    event_id: eventId,
    type: TEST_EVENT_TYPE,
    created_at: Math.floor(clock.now() / 1_000),
    data: { id, model, status, error, created_at, updated_at, version: 0 },
  };
}

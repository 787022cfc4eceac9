/** One attempt to send a callback: signed now, to an address that is checked now. */
import type { Sealer } from '../../core/index.ts';
import { callbackHeaders, type PublicFetcher, type SendResult } from '../../platform/outbound/index.ts';
import type { CallbackRules } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import { callbackSecretLocation } from '../tasks/task.ts';
import type { TakenEvent } from './take.ts';

export interface CallbackSender extends Pick<VideoServices, 'sealer' | 'clock'> {
  readonly fetcher: Pick<PublicFetcher, 'post'>;
}

type SentEvent = Pick<TakenEvent, 'task_id' | 'event_id' | 'url' | 'body' | 'secret_sealed'>;

/** Never rejects. */
export async function sendCallback(
  { fetcher, sealer, clock }: CallbackSender,
  { task_id: taskId, event_id: eventId, url, body, secret_sealed: sealed }: SentEvent,
  { headMs, timeoutMs, responseBytes }: CallbackRules,
): Promise<SendResult> {
  if (sealed === null) return { ok: false, reason: 'task' };
  const secret = openSecret(sealer, sealed, taskId);
  if (!secret) return { ok: false, reason: 'secret' };
  const timestamp = Math.floor(clock.now() / 1_000);
  const headers = callbackHeaders({ secret, eventId, taskId, timestamp, body });
  return fetcher.post(url, { headers, body, headMs, timeoutMs, maxBytes: responseBytes });
}

function openSecret(sealer: Sealer, sealed: string, taskId: string): Buffer | undefined {
  try {
    return Buffer.from(sealer.open(sealed, callbackSecretLocation(taskId)), 'base64');
  } catch {
    return undefined;
  }
}

/** One attempt to send a callback: signed now, to an address that is checked now. */
import type { Sealer } from '../../core/index.ts';
import { callbackHeaders, type PublicFetcher, type SendResult } from '../../platform/outbound/index.ts';
import type { CallbackRules } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import { callbackSecretLocation } from '../tasks/task.ts';

export interface CallbackSender extends Pick<VideoServices, 'sealer' | 'clock'> {
  readonly fetcher: Pick<PublicFetcher, 'post'>;
}

export interface Callback {
  readonly taskId: string;
  readonly eventId: string;
  readonly url: string;
  readonly body: Buffer;
  /** The secret of the key that created the task, sealed with the task: the key may be gone. Null when the task is gone. */
  readonly secretSealed: string | null;
}

/** Never rejects. */
export async function sendCallback(
  { fetcher, sealer, clock }: CallbackSender,
  { taskId, eventId, url, body, secretSealed }: Callback,
  { headMs, timeoutMs, responseBytes }: CallbackRules,
): Promise<SendResult> {
  if (secretSealed === null) return { ok: false, reason: 'task' };
  const secret = openSecret(sealer, secretSealed, taskId);
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

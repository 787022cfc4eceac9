/** One attempt to send a callback: signed now, to an address that is checked now. */
import type { Sealer } from '../../core/index.ts';
import type { CallbackRules } from '../../rules/index.ts';
import type { PostResult, PublicFetcher } from '../../upstream/index.ts';
import type { VideoServices } from '../services.ts';
import { callbackSecretLocation } from '../tasks/task.ts';
import { callbackHeaders } from './sign.ts';

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

/** `secret`: it cannot be decrypted, which only the operator can change. `task`: the task is gone, and the secret with it. */
export type SendResult = PostResult | { readonly ok: false; readonly reason: 'secret' | 'task' };

/** What the delivery log keeps of an attempt. */
export interface AttemptSummary {
  readonly status: number | null;
  /** A reason of the gateway, never a text of the receiver. Null for a delivery. */
  readonly error: string | null;
}

export const isDelivery = (result: SendResult): boolean => result.ok && result.status >= 200 && result.status < 300;

export const summaryOf = (result: SendResult): AttemptSummary => ({
  status: result.ok ? result.status : null,
  error: result.ok ? (isDelivery(result) ? null : 'status') : result.reason,
});

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

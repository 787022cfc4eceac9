/**
 * Headers of a signed POST: ids, time and signatures (V 6 r4, r5).
 * Every attempt has its own time, so receivers can reject old ones.
 */
import { createHmac } from 'node:crypto';

export interface SignedCallback {
  /** 32 bytes. */
  readonly secret: Buffer;
  readonly eventId: string;
  /** Undefined for an event that is not about a task. */
  readonly taskId?: string | undefined;
  /** Unix seconds. */
  readonly timestamp: number;
  /** Exactly as sent. */
  readonly body: Buffer;
}

/** Flat name, value, name, value: our own headers, then those of Standard Webhooks with the same secret. */
export function callbackHeaders({ secret, eventId, taskId, timestamp, body }: SignedCallback): string[] {
  const hmacOf = (prefix: string): Buffer => createHmac('sha256', secret).update(prefix).update(body).digest();
  return [
    ['content-type', 'application/json'],
    ['x-gateway-event-id', eventId],
    ...(taskId === undefined ? [] : [['x-gateway-task-id', taskId]]),
    ['x-gateway-timestamp', String(timestamp)],
    ['x-gateway-signature', `v1=${hmacOf(`${timestamp}\n${eventId}\n`).toString('hex')}`],
    ['webhook-id', eventId],
    ['webhook-timestamp', String(timestamp)],
    ['webhook-signature', `v1,${hmacOf(`${eventId}.${timestamp}.`).toString('base64')}`],
  ].flat();
}

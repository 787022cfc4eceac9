/** What the outcome of an attempt means for its event: delivered, dead, or another attempt at a later time (V 6 r2). */
import type { CallbackRules } from '../../rules/index.ts';
import type { PostResult } from './public-fetch.ts';

/**
 * `secret`: it cannot be decrypted, which only the operator can change. `task`: the task is gone, and the secret with
 * it. `mail`: the mail server did not accept the message. `recipient`: the destination has no address left.
 */
export type SendResult = PostResult | { readonly ok: false; readonly reason: 'secret' | 'task' | 'mail' | 'recipient' };

/** What a delivery log keeps of an attempt. */
export interface AttemptSummary {
  readonly status: number | null;
  /** A reason of the gateway, never a text of the receiver. Null for a delivery. */
  readonly error: string | null;
}

export const isDelivery = (result: SendResult): boolean => result.ok && result.status >= 200 && result.status < 300;

export function summaryOf(result: SendResult): AttemptSummary {
  if (!result.ok) return { status: null, error: result.reason };
  return { status: result.status, error: isDelivery(result) ? null : 'status' };
}

export type Verdict =
  | { readonly state: 'delivered' | 'dead' }
  | {
      readonly state: 'pending';
      /** Time to the next attempt. */
      readonly waitMs: number;
    };

export interface Attempt {
  readonly result: SendResult;
  /** 1 for the first attempt of the schedule. */
  readonly number: number;
  readonly now: number;
  /** From 0 to 1. */
  readonly random: number;
}

/** The receiver wants no more of this event. */
const GONE = 410;
const MAY_ASK_TO_WAIT: readonly number[] = [429, 503];

export function verdictOf(
  { result, number, now, random }: Attempt,
  { retryMs, jitter, maxRetryAfterMs }: Pick<CallbackRules, 'retryMs' | 'jitter' | 'maxRetryAfterMs'>,
): Verdict {
  if (isDelivery(result)) return { state: 'delivered' };
  const wait = retryMs[number - 1];
  if (wait === undefined || isHopeless(result)) return { state: 'dead' };
  const asked = result.ok && MAY_ASK_TO_WAIT.includes(result.status) ? retryAfterMs(result.retryAfter, now) : 0;
  const varied = wait * (1 - jitter + 2 * jitter * random);
  return { state: 'pending', waitMs: Math.round(Math.max(varied, Math.min(asked, maxRetryAfterMs))) };
}

/** No later attempt can succeed. */
const isHopeless = (result: SendResult): boolean =>
  result.ok ? result.status === GONE : result.reason === 'task' || result.reason === 'recipient';

/** Reads seconds or an HTTP date; 0 for anything else. */
function retryAfterMs(value: string | undefined, now: number): number {
  if (value === undefined) return 0;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}

/** What the outcome of an attempt means for its event: delivered, dead, or another attempt at a later time (V 6 r2). */
import type { CallbackRules } from '../../rules/index.ts';
import { isDelivery, type SendResult } from './send.ts';

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
  { retryMs, jitter, maxRetryAfterMs }: CallbackRules,
): Verdict {
  if (isDelivery(result)) return { state: 'delivered' };
  const wait = retryMs[number - 1];
  if (wait === undefined || isHopeless(result)) return { state: 'dead' };
  const asked = result.ok && MAY_ASK_TO_WAIT.includes(result.status) ? retryAfterMs(result.retryAfter, now) : 0;
  const varied = wait * (1 - jitter + 2 * jitter * random);
  return { state: 'pending', waitMs: Math.round(Math.max(varied, Math.min(asked, maxRetryAfterMs))) };
}

/** No later attempt can succeed. */
const isHopeless = (result: SendResult): boolean => (result.ok ? result.status === GONE : result.reason === 'task');

/** Reads seconds or an HTTP date; 0 for anything else. */
function retryAfterMs(value: string | undefined, now: number): number {
  if (value === undefined) return 0;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}

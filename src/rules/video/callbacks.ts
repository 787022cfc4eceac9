/**
 * Delivery of callbacks (V 6): the schedule of attempts and the limits of a destination. A destination is a user and a
 * host.
 */
import { TASK_STATUSES } from './status.ts';

/** `dead`: given up; it is sent again only on demand. */
export const CALLBACK_STATES = ['pending', 'delivered', 'dead'] as const;

export interface CallbackRules {
  /** Wait after each failed attempt. There is one attempt more than waits. */
  readonly retryMs: readonly number[];
  /** Waits vary by this part, so that events that failed together are not repeated together. */
  readonly jitter: number;
  /** Upper bound of a wait that a receiver asks for with `Retry-After`. */
  readonly maxRetryAfterMs: number;
  /** Time to the head of the response, and for the whole attempt. */
  readonly headMs: number;
  readonly timeoutMs: number;
  /** Part of a response that is read and dropped; the status alone counts. */
  readonly responseBytes: number;
  /** Time in which no other worker takes the event. Longer than an attempt; a crash delays the event by it. */
  readonly leaseMs: number;
  /** Attempts at the same time: of one replica, and to one destination from all replicas. */
  readonly concurrency: number;
  readonly perDestination: number;
  readonly circuit: {
    /** Failures in a row after which only single probes are sent. */
    readonly failures: number;
    /** Time to the first probe; every failed probe doubles it, up to the largest. */
    readonly probeMs: number;
    readonly maxProbeMs: number;
    /** An event that has waited this long for a probe is sent anyway, so that every event ends. */
    readonly maxWaitMs: number;
  };
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** 10 attempts over about 28 hours. */
export const CALLBACK_RULES: CallbackRules = {
  retryMs: [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR],
  jitter: 0.2,
  maxRetryAfterMs: HOUR,
  headMs: 10 * SECOND,
  timeoutMs: 15 * SECOND,
  responseBytes: 64 * 1024,
  leaseMs: 30 * SECOND,
  concurrency: 32,
  perDestination: 4,
  circuit: { failures: 5, probeMs: MINUTE, maxProbeMs: 15 * MINUTE, maxWaitMs: HOUR },
};

export const CALLBACK_RETENTION_DAYS = 30;

/** Types of events: the statuses that a task can move to (V 6 r6). */
export const CALLBACK_TYPES = TASK_STATUSES.filter((status) => status !== 'queued');

/** The `type` of an event that an operator sends to try a receiver. All other types are statuses (V 6 r6). */
export const TEST_EVENT_TYPE = 'test';

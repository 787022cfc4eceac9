/** What a replayed call showed. */
import type { Dialect, UpstreamDialect } from '../../src/rules/index.ts';
import type { Recording } from './recording.ts';

/**
 * `native`: bytes through; `request`: a real request on a key of another style; `answer`: a real response for another
 * client.
 */
export const WAYS = ['native', 'request', 'answer'] as const;
export type Way = (typeof WAYS)[number];

/** A call of one way: `client` speaks to the gateway, which speaks `provider` upstream. */
export interface Replay {
  readonly recording: Recording;
  readonly way: Way;
  readonly client: Dialect;
  readonly provider: UpstreamDialect;
}

export interface Difference {
  /** A fact, a member of the request, or `status`, `request bytes`, `response bytes`. */
  readonly what: string;
  readonly expected: string;
  readonly found: string;
}

export interface Outcome {
  readonly replay: Replay;
  /** The gateway rejected the request, and its error names the member. */
  readonly refusal?: string;
  readonly differences: readonly Difference[];
  /** The account failed from the gateway's view, or may have. */
  readonly spoilsLane: boolean;
}

export const difference = (what: string, expected: unknown, found: unknown): Difference => ({
  what,
  expected: shorten(expected),
  found: shorten(found),
});

const MAX_CHARS = 160;
const shorten = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}... (${text.length} characters)` : text;
};

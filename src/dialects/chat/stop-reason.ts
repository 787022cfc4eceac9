/** Finish reasons, both ways. Agent loops hang on `tool_calls` without a call and on `stop` with one. */
import type { HubStop } from '../hub/types.ts';
import { tableOf } from '../wire/read.ts';

const FROM_WIRE = tableOf<HubStop>({
  stop: 'end',
  length: 'length',
  tool_calls: 'tool',
  content_filter: 'filter',
  // Of the older form, and of compatible servers.
  function_call: 'tool',
  tool_use: 'tool',
  max_tokens: 'length',
  model_length: 'length',
  sensitive: 'filter',
});

/** Finish reasons of compatible servers that gave up. */
const FAILURES: ReadonlySet<string> = new Set(['error', 'abort', 'network_error', 'insufficient_system_resource']);
export const isFailure = (reason: string | undefined): boolean => reason !== undefined && FAILURES.has(reason);

/** Reply content that overrides the upstream's finish reason. */
export interface ReplyContent {
  readonly hasCalls: boolean;
  readonly hasRefusal: boolean;
}

/** Unknown reasons of compatible servers count as a natural end. */
export function decodeStop(reason: string | undefined, { hasCalls, hasRefusal }: ReplyContent): HubStop {
  const stop = FROM_WIRE.get(reason ?? 'stop') ?? 'end';
  if (hasRefusal && (stop === 'end' || stop === 'filter')) return 'refusal';
  // Many servers send `stop` with calls, some send `tool_calls` without any.
  if (stop === 'end' || stop === 'tool') return hasCalls ? 'tool' : 'end';
  return stop;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** `error`: the dialect has no finish reason for it, and the reply ends as a failure. */
const TO_WIRE: Readonly<Record<HubStop, FinishReason | 'error'>> = {
  end: 'stop',
  stop_sequence: 'stop',
  pause: 'stop',
  compaction: 'stop',
  cancelled: 'stop',
  // The model declined in its own words, in `message.refusal`. SDKs throw on `content_filter`.
  refusal: 'stop',
  length: 'length',
  context_full: 'length',
  continuation: 'length',
  tool: 'tool_calls',
  filter: 'content_filter',
  malformed_call: 'error',
};

export function encodeStop(stop: HubStop, hasCalls: boolean): FinishReason | 'error' {
  const reason = TO_WIRE[stop];
  // `stop` beside calls would look as if the client should not have got them.
  if (stop === 'refusal' && hasCalls) return 'content_filter';
  if (reason !== 'stop' && reason !== 'tool_calls') return reason;
  return hasCalls ? 'tool_calls' : 'stop';
}

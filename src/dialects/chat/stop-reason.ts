/** Why an answer ended, both ways. Agent loops hang when `tool_calls` is said without a call, or `stop` with one. */
import type { HubStop } from '../hub/types.ts';

const FROM_WIRE: ReadonlyMap<string, HubStop> = new Map([
  ['stop', 'end'],
  ['length', 'length'],
  ['tool_calls', 'tool'],
  ['function_call', 'tool'],
  ['content_filter', 'filter'],
]);

/** What the answer turned out to hold. */
export interface Held {
  readonly calls: boolean;
  readonly refusal: boolean;
}

/** Reasons that compatible servers invent count as a natural end. */
export function decodeStop(reason: string | undefined, held: Held): HubStop {
  const stop = FROM_WIRE.get(reason ?? 'stop') ?? 'end';
  if (held.refusal && (stop === 'end' || stop === 'filter')) return 'refusal';
  // Many servers say `stop` beside calls, some say `tool_calls` beside none.
  if (stop === 'end' || stop === 'tool') return held.calls ? 'tool' : 'end';
  return stop;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** `error`: there is no finish reason for it; the answer ends as a failure. */
const TO_WIRE: Readonly<Record<HubStop, FinishReason | 'error'>> = {
  end: 'stop',
  tool: 'tool_calls',
  length: 'length',
  stop_sequence: 'stop',
  context_full: 'length',
  refusal: 'content_filter',
  filter: 'content_filter',
  pause: 'stop',
  compaction: 'stop',
  continuation: 'length',
  malformed_call: 'error',
  cancelled: 'stop',
};

export function encodeStop(stop: HubStop, calls: boolean): FinishReason | 'error' {
  const reason = TO_WIRE[stop];
  return reason === 'stop' || reason === 'tool_calls' ? (calls ? 'tool_calls' : 'stop') : reason;
}

/** Stop reasons in both directions. The provider uses STOP for a complete text, for calls and for a stop sequence. */
import type { HubStop } from '../hub/types.ts';
import { tableOf } from '../wire/read.ts';

const STOPS = tableOf<HubStop>({
  STOP: 'end',
  FINISH_REASON_UNSPECIFIED: 'end',
  MAX_TOKENS: 'length',
  SAFETY: 'filter',
  RECITATION: 'filter',
  LANGUAGE: 'filter',
  BLOCKLIST: 'filter',
  PROHIBITED_CONTENT: 'filter',
  SPII: 'filter',
  MODEL_ARMOR: 'filter',
  IMAGE_SAFETY: 'filter',
  IMAGE_PROHIBITED_CONTENT: 'filter',
  IMAGE_RECITATION: 'filter',
  IMAGE_OTHER: 'filter',
  NO_IMAGE: 'filter',
  CONTINUATION: 'continuation',
  MALFORMED_FUNCTION_CALL: 'malformed_call',
  UNEXPECTED_TOOL_CALL: 'malformed_call',
  TOO_MANY_TOOL_CALLS: 'malformed_call',
  MISSING_THOUGHT_SIGNATURE: 'malformed_call',
});

/**
 * A reply with a complete call stops with `tool`, unless it was truncated or
 * filtered. Any other reason means `end` with content and `filter` without.
 */
export function decodeStop(reason: string, found: { readonly call: boolean; readonly content: boolean }): HubStop {
  const stop = STOPS.get(reason);
  if (stop === 'length' || stop === 'filter') return stop;
  if (found.call) return 'tool';
  return stop ?? (found.content ? 'end' : 'filter');
}

export const FINISH_REASONS: Readonly<Record<HubStop, string>> = {
  end: 'STOP',
  tool: 'STOP',
  stop_sequence: 'STOP',
  pause: 'STOP',
  compaction: 'STOP',
  cancelled: 'STOP',
  length: 'MAX_TOKENS',
  context_full: 'MAX_TOKENS',
  refusal: 'SAFETY',
  filter: 'SAFETY',
  continuation: 'CONTINUATION',
  malformed_call: 'MALFORMED_FUNCTION_CALL',
};

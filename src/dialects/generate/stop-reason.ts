/** Stop reasons in both directions. The provider uses STOP for a complete text, for calls and for a stop sequence. */
import { byName, each } from '../../rules/index.ts';
import type { HubStop } from '../hub/types.ts';

/** `other` means `end` with content and `filter` without. */
const STOPS = byName<HubStop | 'other'>({
  end: 'STOP FINISH_REASON_UNSPECIFIED',
  length: 'MAX_TOKENS',
  filter:
    'SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR ' +
    'IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_OTHER NO_IMAGE',
  continuation: 'CONTINUATION',
  malformed_call: 'MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE',
});

/** A reply with a complete call stops with `tool`, unless it was truncated or filtered. */
export function decodeStop(reason: string, found: { readonly call: boolean; readonly content: boolean }): HubStop {
  const stop = STOPS.get(reason) ?? 'other';
  if (stop === 'length' || stop === 'filter') return stop;
  if (found.call) return 'tool';
  return stop === 'other' ? (found.content ? 'end' : 'filter') : stop;
}

export const FINISH_REASONS: Readonly<Record<HubStop, string>> = {
  ...each('STOP', 'end tool stop_sequence pause compaction cancelled'),
  ...each('MAX_TOKENS', 'length context_full'),
  ...each('SAFETY', 'refusal filter'),
  continuation: 'CONTINUATION',
  malformed_call: 'MALFORMED_FUNCTION_CALL',
};

/** Why an answer ended, both ways. The provider says STOP for a finished text, for calls and for a stop sequence alike. */
import type { HubStop } from '../hub/types.ts';
import { own } from '../wire/read.ts';

/** `other` depends on whether anything was said. */
const STOPS: Readonly<Record<string, HubStop | 'other'>> = {
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
  OTHER: 'other',
  CONTINUATION: 'continuation',
  MALFORMED_FUNCTION_CALL: 'malformed_call',
  UNEXPECTED_TOOL_CALL: 'malformed_call',
  TOO_MANY_TOOL_CALLS: 'malformed_call',
  MISSING_THOUGHT_SIGNATURE: 'malformed_call',
};

/** A complete call anywhere means the client has work to do, unless the answer was cut or filtered. */
export function decodeStop(reason: string, seen: { readonly call: boolean; readonly content: boolean }): HubStop {
  const stop = own(STOPS, reason) ?? 'other';
  if (stop === 'length' || stop === 'filter') return stop;
  if (seen.call) return 'tool';
  return stop === 'other' ? (seen.content ? 'end' : 'filter') : stop;
}

export const FINISH_REASONS: Readonly<Record<HubStop, string>> = {
  end: 'STOP',
  tool: 'STOP',
  length: 'MAX_TOKENS',
  stop_sequence: 'STOP',
  context_full: 'MAX_TOKENS',
  refusal: 'SAFETY',
  filter: 'SAFETY',
  pause: 'STOP',
  compaction: 'STOP',
  continuation: 'CONTINUATION',
  malformed_call: 'MALFORMED_FUNCTION_CALL',
  cancelled: 'STOP',
};

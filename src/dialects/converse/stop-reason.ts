/** Stop reasons of Converse. A guardrail that intervened, and a filter of the model, end a reply like a content filter. */

import type { HubStop } from '../hub/types.ts';
import { alignWithCalls } from '../messages/index.ts';
import { tableOf } from '../wire/read.ts';

const STOPS = tableOf<HubStop>({
  end_turn: 'end',
  tool_use: 'tool',
  max_tokens: 'length',
  stop_sequence: 'stop_sequence',
  guardrail_intervened: 'filter',
  content_filtered: 'filter',
  model_context_window_exceeded: 'context_full',
  malformed_model_output: 'malformed_call',
  malformed_tool_use: 'malformed_call',
});

/** Unknown reasons are a normal end. */
export const decodeStop = (reason: string, hasCalls: boolean): HubStop =>
  alignWithCalls(STOPS.get(reason) ?? 'end', hasCalls);

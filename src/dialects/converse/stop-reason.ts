/** Stop reasons of Converse. A guardrail that intervened, and a filter of the model, end a reply like a content filter. */
import { byName } from '../../rules/index.ts';
import type { HubStop } from '../hub/types.ts';
import { alignWithCalls } from '../messages/index.ts';

const STOPS = byName<HubStop>({
  end: 'end_turn',
  tool: 'tool_use',
  length: 'max_tokens',
  stop_sequence: 'stop_sequence',
  filter: 'guardrail_intervened content_filtered',
  context_full: 'model_context_window_exceeded',
  malformed_call: 'malformed_model_output malformed_tool_use',
});

/** Unknown reasons are a normal end. */
export const decodeStop = (reason: string, hasCalls: boolean): HubStop =>
  alignWithCalls(STOPS.get(reason) ?? 'end', hasCalls);

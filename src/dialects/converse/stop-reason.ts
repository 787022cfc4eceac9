/** Stop reasons of Converse. A guardrail that intervened, and a filter of the model, end a reply like a content filter. */
import type { HubStop } from '../hub/types.ts';

const STOPS: ReadonlyMap<string, HubStop> = new Map(
  Object.entries<HubStop>({
    end_turn: 'end',
    tool_use: 'tool',
    max_tokens: 'length',
    stop_sequence: 'stop_sequence',
    guardrail_intervened: 'filter',
    content_filtered: 'filter',
    model_context_window_exceeded: 'context_full',
    malformed_model_output: 'malformed_call',
    malformed_tool_use: 'malformed_call',
  }),
);

/** Unknown reasons are a normal end. The reason and the calls must agree, because agent loops hang otherwise. */
export function decodeStop(reason: string, hasCalls: boolean): HubStop {
  const stop = STOPS.get(reason) ?? 'end';
  if (stop === 'tool' && !hasCalls) return 'end';
  return stop === 'end' && hasCalls ? 'tool' : stop;
}

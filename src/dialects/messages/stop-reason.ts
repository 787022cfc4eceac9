/**
 * Stop reasons in both directions. `tool_use` is set exactly when
 * there are calls, because agent loops hang otherwise.
 */
import type { HubStop } from '../hub/types.ts';
import { tableOf } from '../wire/read.ts';

const FROM_WIRE = tableOf<HubStop>({
  end_turn: 'end',
  max_tokens: 'length',
  stop_sequence: 'stop_sequence',
  tool_use: 'tool',
  pause_turn: 'pause',
  refusal: 'refusal',
  model_context_window_exceeded: 'context_full',
  compaction: 'compaction',
});

/** Treats unknown reasons as a normal end. */
export const decodeStop = (reason: string | undefined, hasCalls: boolean): HubStop =>
  alignWithCalls(FROM_WIRE.get(reason ?? '') ?? 'end', hasCalls);

const TO_WIRE: Readonly<Record<HubStop, string>> = {
  end: 'end_turn',
  cancelled: 'end_turn',
  // Not used: the encoders report it as an error.
  malformed_call: 'end_turn',
  length: 'max_tokens',
  continuation: 'max_tokens',
  refusal: 'refusal',
  filter: 'refusal',
  tool: 'tool_use',
  stop_sequence: 'stop_sequence',
  context_full: 'model_context_window_exceeded',
  pause: 'pause_turn',
  compaction: 'compaction',
};

interface StopInfo {
  readonly stop: HubStop;
  readonly stopSequence?: string;
  readonly refusal?: string;
}

/** Returns the members that describe the end of a message, for the message and for `message_delta`. */
export function encodeStop(info: StopInfo, hasCalls: boolean): Record<string, unknown> {
  const stop = alignWithCalls(info.stop, hasCalls);
  const isRefusal = stop === 'refusal' || stop === 'filter';
  // Clients expect the matched string with `stop_sequence`; without it report a normal end.
  const isUnnamed = stop === 'stop_sequence' && info.stopSequence === undefined;
  return {
    stop_reason: isUnnamed ? TO_WIRE.end : TO_WIRE[stop],
    stop_sequence: stop === 'stop_sequence' ? (info.stopSequence ?? null) : null,
    stop_details: isRefusal ? { type: 'refusal', category: null, explanation: info.refusal ?? null } : null,
    container: null,
  };
}

/** The reason and the calls must agree, because agent loops hang otherwise. */
export function alignWithCalls(stop: HubStop, hasCalls: boolean): HubStop {
  if (stop === 'tool' && !hasCalls) return 'end';
  return stop === 'end' && hasCalls ? 'tool' : stop;
}

/** Stop reasons both ways. Agent loops hang on a call that is not announced and on an announced call that is not there. */
import type { HubStop } from '../hub/types.ts';

const FROM_WIRE: ReadonlyMap<string, HubStop> = new Map(
  Object.entries<HubStop>({
    end_turn: 'end',
    max_tokens: 'length',
    stop_sequence: 'stop_sequence',
    tool_use: 'tool',
    pause_turn: 'pause',
    refusal: 'refusal',
    model_context_window_exceeded: 'context_full',
    compaction: 'compaction',
  }),
);

/** A reason we do not know ends the turn like any other; the calls in it decide how. */
export const decodeStop = (reason: string | undefined, calls: boolean): HubStop =>
  settle(FROM_WIRE.get(reason ?? '') ?? 'end', calls);

type WireStop =
  | 'end_turn'
  | 'max_tokens'
  | 'stop_sequence'
  | 'tool_use'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded'
  | 'compaction';

const TO_WIRE = {
  end: 'end_turn',
  tool: 'tool_use',
  length: 'max_tokens',
  stop_sequence: 'stop_sequence',
  context_full: 'model_context_window_exceeded',
  refusal: 'refusal',
  filter: 'refusal',
  pause: 'pause_turn',
  compaction: 'compaction',
  continuation: 'max_tokens',
  cancelled: 'end_turn',
  /** No success can be made of it: it is told as an error before this table is asked. */
  malformed_call: 'end_turn',
} as const satisfies Record<HubStop, WireStop>;

export interface Ending {
  readonly stop: HubStop;
  readonly stopSequence?: string;
  readonly refusal?: string;
}

/** The four members that say how a message ended, as they stand in the message and in `message_delta`. */
export function encodeStop(ending: Ending, calls: boolean): Record<string, unknown> {
  const stop = settle(ending.stop, calls);
  const declined = stop === 'refusal' || stop === 'filter';
  // Without its string a stop sequence cannot be told from a normal end.
  const unnamed = stop === 'stop_sequence' && ending.stopSequence === undefined;
  return {
    stop_reason: unnamed ? TO_WIRE.end : TO_WIRE[stop],
    stop_sequence: stop === 'stop_sequence' ? (ending.stopSequence ?? null) : null,
    stop_details: declined ? { type: 'refusal', category: null, explanation: ending.refusal ?? null } : null,
    container: null,
  };
}

function settle(stop: HubStop, calls: boolean): HubStop {
  if (stop === 'tool' && !calls) return 'end';
  return stop === 'end' && calls ? 'tool' : stop;
}

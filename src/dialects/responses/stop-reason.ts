/** Why an answer ended, both ways. What a stop does to the items (refusal parts, cut calls) is the encoders' business. */
import type { HubItem, HubReply, HubStop, JsonObject } from '../hub/types.ts';
import { maybeObject, maybeString, own } from '../wire/read.ts';

const INCOMPLETE: Readonly<Record<string, HubStop>> = {
  max_output_tokens: 'length',
  content_filter: 'filter',
  max_messages: 'length',
  steered: 'cancelled',
};

/** Of a response that was not `failed`. An incomplete one stays so whatever calls it holds. */
export function decodeStop(response: JsonObject, items: readonly HubItem[]): Pick<HubReply, 'stop' | 'refusal'> {
  if (response.status === 'cancelled') return { stop: 'cancelled' };
  if (response.status === 'incomplete') {
    const reason = maybeString(maybeObject(response.incomplete_details).reason) ?? '';
    return { stop: own(INCOMPLETE, reason) ?? 'length' };
  }
  if (items.some((item) => item.kind === 'tool_call')) return { stop: 'tool' };
  const refusal = refusalOf(items);
  return refusal === undefined ? { stop: 'end' } : { stop: 'refusal', refusal };
}

export function refusalOf(items: readonly HubItem[]): string | undefined {
  for (const item of items) {
    if (item.kind !== 'message') continue;
    for (const part of item.parts) if (part.kind === 'refusal') return part.text;
  }
  return undefined;
}

export interface Ending {
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  readonly event: 'response.completed' | 'response.incomplete' | 'response.failed';
  /** `incomplete_details.reason`. */
  readonly reason?: string;
  /** The model was cut off: a call without whole arguments must not be run by anyone. */
  readonly cut?: true;
  /** The answer must hold a refusal part. */
  readonly declined?: true;
}
const COMPLETED: Ending = { status: 'completed', event: 'response.completed' };
const CUT: Ending = { status: 'incomplete', event: 'response.incomplete', reason: 'max_output_tokens', cut: true };
// Agents treat `incomplete` as a broken stream and ask again; a refusal is a complete answer.
const DECLINED: Ending = { ...COMPLETED, declined: true };

export const ENDINGS: Readonly<Record<HubStop, Ending>> = {
  end: COMPLETED,
  tool: COMPLETED,
  length: CUT,
  stop_sequence: COMPLETED,
  context_full: CUT,
  refusal: DECLINED,
  filter: DECLINED,
  pause: COMPLETED,
  compaction: COMPLETED,
  continuation: CUT,
  malformed_call: { status: 'failed', event: 'response.failed', cut: true },
  // The stream has no event of that name.
  cancelled: { status: 'cancelled', event: 'response.incomplete', cut: true },
};

export const DECLINED_TEXT = 'The request was declined.';

/** Stop reasons of the responses dialect, in both directions. */
import type { HubItem, HubReply, HubStop, JsonObject } from '../hub/types.ts';
import { lookUp, maybeObject, maybeString } from '../wire/read.ts';

const INCOMPLETE_REASONS: Readonly<Record<string, HubStop>> = {
  max_output_tokens: 'length',
  content_filter: 'filter',
  max_messages: 'length',
  steered: 'cancelled',
};

/**
 * Decodes the stop of a response that did not fail. An incomplete
 * response stays incomplete even if it contains calls.
 */
export function decodeStop(response: JsonObject, items: readonly HubItem[]): Pick<HubReply, 'stop' | 'refusal'> {
  if (response.status === 'cancelled') return { stop: 'cancelled' };
  if (response.status === 'incomplete') {
    const reason = maybeString(maybeObject(response.incomplete_details).reason) ?? '';
    return { stop: lookUp(INCOMPLETE_REASONS, reason) ?? 'length' };
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

interface Ending {
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  readonly event: 'response.completed' | 'response.incomplete' | 'response.failed';
  /** `incomplete_details.reason`. */
  readonly reason?: string;
  /** The model did not finish. Calls with invalid arguments are incomplete. */
  readonly truncated?: true;
  /** The response must contain a refusal part. */
  readonly declined?: true;
}
const COMPLETED: Ending = { status: 'completed', event: 'response.completed' };
const TRUNCATED: Ending = {
  status: 'incomplete',
  event: 'response.incomplete',
  reason: 'max_output_tokens',
  truncated: true,
};
// Agents retry `incomplete` responses as broken streams, so a refusal is `completed`.
const DECLINED: Ending = { ...COMPLETED, declined: true };

export const ENDINGS: Readonly<Record<HubStop, Ending>> = {
  end: COMPLETED,
  tool: COMPLETED,
  stop_sequence: COMPLETED,
  pause: COMPLETED,
  compaction: COMPLETED,
  length: TRUNCATED,
  context_full: TRUNCATED,
  continuation: TRUNCATED,
  refusal: DECLINED,
  filter: DECLINED,
  malformed_call: { status: 'failed', event: 'response.failed', truncated: true },
  // The dialect has no `response.cancelled` event.
  cancelled: { status: 'cancelled', event: 'response.incomplete', truncated: true },
};

export const DECLINED_TEXT = 'The request was declined.';

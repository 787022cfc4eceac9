/** Which result answers which call, for targets that want results directly behind their calls. */
import type { HubItem, HubToolCall, HubToolResult } from './hub.ts';
import { refuse } from './refusal.ts';

/**
 * Clients may use an id again in a later turn, so a result belongs to the last call of its id that came before it. Several
 * results of one call are one answer in several pieces. A result without a call cannot be placed, and leaving it out would
 * hide it from the model.
 */
export function pairResults(items: readonly HubItem[]): ReadonlyMap<HubToolCall, HubToolResult> {
  const waiting = new Map<string, HubToolCall[]>();
  const last = new Map<string, HubToolCall>();
  const results = new Map<HubToolCall, HubToolResult>();
  for (const item of items) {
    if (item.kind === 'tool_call') waiting.set(item.callId, [...(waiting.get(item.callId) ?? []), item]);
    if (item.kind !== 'tool_result') continue;
    const call = waiting.get(item.callId)?.shift() ?? last.get(item.callId) ?? refuseOrphan(item.callId);
    last.set(item.callId, call);
    results.set(call, joined(results.get(call), item));
  }
  return results;
}

const joined = (before: HubToolResult | undefined, more: HubToolResult): HubToolResult =>
  before ? { ...before, ...more, parts: [...before.parts, ...more.parts] } : more;

export const refuseOrphan = (callId: string): never =>
  refuse('conversation', `No tool call found for function call output with call_id ${callId.slice(0, 80)}.`, 'invalid_request');

/** Told to the model in place of a result that never came. */
export const NO_RESULT = 'No output was recorded for this call.';

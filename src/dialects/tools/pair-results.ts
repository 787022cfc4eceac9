/** Pairing of tool results with their calls, for targets that want results directly after the calls. */
import { rejectVerbatim } from '../errors/rejection.ts';
import type { HubItem, HubToolCall, HubToolResult } from '../hub/types.ts';

/** Returns the result of a call. Call it once per tool call, in conversation order. */
export type TakeResult = (call: HubToolCall) => HubToolResult | undefined;

interface PendingCall {
  /** Equal for calls without any other item between them. */
  readonly turn: number;
  result?: HubToolResult;
}

/**
 * By call id, of which clients may reuse one: the last waiting turn gets the
 * result, further ones are merged. A result without a call is never dropped.
 */
export function pairResults(items: readonly HubItem[]): TakeResult {
  const callsById = new Map<string, PendingCall[]>();
  let turn = 0;
  for (const item of items) {
    if (item.kind === 'tool_call') callsById.set(item.callId, [...(callsById.get(item.callId) ?? []), { turn }]);
    else turn += 1;
    if (item.kind !== 'tool_result') continue;
    const call = callFor(callsById.get(item.callId) ?? []) ?? rejectOrphan(item.callId);
    call.result = mergeResults(call.result, item);
  }
  return (call) => callsById.get(call.callId)?.shift()?.result;
}

/** The first waiting call of the last waiting turn; the last call if none waits. */
function callFor(calls: readonly PendingCall[]): PendingCall | undefined {
  const turn = calls.findLast((call) => !call.result)?.turn;
  return calls.find((call) => !call.result && call.turn === turn) ?? calls.at(-1);
}

const mergeResults = (first: HubToolResult | undefined, next: HubToolResult): HubToolResult =>
  first ? { ...first, ...next, parts: [...first.parts, ...next.parts] } : next;

/** OpenAI's own message, which clients match on. */
export const rejectOrphan = (callId: string): never =>
  rejectVerbatim('conversation', `No tool call found for function call output with call_id ${callId.slice(0, 80)}.`);

/** Sent to the model in place of a missing result. */
export const NO_RESULT = 'No output was recorded for this call.';

/** Which result answers which call, for targets that want results directly behind their calls. */

import { reject } from '../errors/rejection.ts';
import type { HubItem, HubToolCall, HubToolResult } from '../hub/types.ts';

/** Gives each call its result; to be asked once per call, in the order of the conversation. */
export type TakeResult = (call: HubToolCall) => HubToolResult | undefined;

interface Asked {
  /** Calls of one turn stand side by side. */
  readonly turn: number;
  result?: HubToolResult;
}

/**
 * Clients may use an id again in a later turn, so a result belongs to the last turn that waits for it. Several results of one
 * call are one answer in several pieces. A result without a call cannot be placed, and leaving it out would hide it.
 */
export function pairResults(items: readonly HubItem[]): TakeResult {
  const asked = new Map<string, Asked[]>();
  let turn = 0;
  for (const item of items) {
    if (item.kind === 'tool_call') asked.set(item.callId, [...(asked.get(item.callId) ?? []), { turn }]);
    else turn += 1;
    if (item.kind !== 'tool_result') continue;
    const call = waitingFor(asked.get(item.callId) ?? []) ?? rejectOrphan(item.callId);
    call.result = joined(call.result, item);
  }
  return (call) => asked.get(call.callId)?.shift()?.result;
}

function waitingFor(calls: readonly Asked[]): Asked | undefined {
  const turn = calls.findLast((call) => !call.result)?.turn;
  return calls.find((call) => !call.result && call.turn === turn) ?? calls.at(-1);
}

const joined = (before: HubToolResult | undefined, more: HubToolResult): HubToolResult =>
  before ? { ...before, ...more, parts: [...before.parts, ...more.parts] } : more;

export const rejectOrphan = (callId: string): never =>
  reject(
    'conversation',
    `No tool call found for function call output with call_id ${callId.slice(0, 80)}.`,
    'invalid_request',
  );

/** Told to the model in place of a result that never came. */
export const NO_RESULT = 'No output was recorded for this call.';

/** Limits that a request to Claude must keep. */
import type { UpstreamTarget } from '../codec.ts';
import type { HubRequest } from '../hub/types.ts';
import { isThinking, type MessageTurn } from './encode-messages.ts';

/** Limit for unary calls: with more output tokens the call may exceed the timeouts on the way. */
const MAX_UNARY_TOKENS = 64_000;

export function maxTokensFor({ limits, stream }: HubRequest, target: UpstreamTarget): number {
  if (limits.prewarm) return 0;
  const modelLimit = target.maxOutput ?? target.capabilities.maxOutput;
  return Math.min(limits.maxOutput ?? (stream ? modelLimit : MAX_UNARY_TOKENS), modelLimit);
}

/** Returns whether the last calls lack their thinking. With a budget, the provider requires it at the start of their turn. */
export function lacksThinking(turns: readonly MessageTurn[]): boolean {
  const hasResults = turns.at(-1)?.blocks[0]?.type === 'tool_result';
  return hasResults && !isThinking(turns.at(-2)?.blocks[0]);
}

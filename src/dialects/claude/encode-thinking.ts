/** Encoder of reasoning settings in the form the model supports: adaptive with an effort, or a token budget. */
import type { Capabilities, Effort } from '../../rules/index.ts';
import type { UpstreamTarget } from '../codec.ts';
import type { HubReasoning, HubRequest, JsonObject } from '../hub/types.ts';
import { effortOfBudget, nearestEffort } from '../wire/efforts.ts';
import { compact, lookUp } from '../wire/read.ts';
import { isThinking, type MessageTurn } from './encode-messages.ts';

export interface ThinkingSettings {
  readonly thinking?: JsonObject;
  readonly effort?: string;
  /** The model or another request field excludes the requested reasoning. */
  readonly dropped?: boolean;
}

interface ThinkingLimits {
  readonly maxTokens: number;
  /** The provider rejects a budget with a forced tool, or when a call with a result lacks its thinking. */
  readonly rejectsBudget: boolean;
}

export function encodeThinkingSettings(
  reasoning: HubReasoning,
  capabilities: Capabilities,
  limits: ThinkingLimits,
): ThinkingSettings {
  const { mode, effort } = reasoning;
  if (mode === undefined && effort === undefined) return {};
  if (mode === 'off' || effort === 'none') return disabled(capabilities);
  if (capabilities.thinking === 'none') return { dropped: true };
  return capabilities.thinking === 'manual'
    ? withBudget(reasoning, capabilities, limits)
    : adaptive(reasoning, capabilities);
}

/** A model that is not asked to think has nothing to summarize. */
export const losesSummary = ({ style, mode }: HubReasoning, thinks: boolean): boolean =>
  style !== undefined && mode !== 'off' && !thinks;

function disabled(capabilities: Capabilities): ThinkingSettings {
  if (capabilities.thinking === 'none') return {};
  if (capabilities.thinkingOff) return { thinking: thinkingOff(capabilities) };
  return effortFor('low', capabilities);
}

const thinkingOff = ({ thinkingOff: form }: Capabilities): JsonObject => ({
  type: form === 'between_tools' ? 'between_tools' : 'disabled',
});

function adaptive(reasoning: HubReasoning, capabilities: Capabilities): ThinkingSettings {
  const effort = reasoning.mode === 'budget' ? effortOfBudget(reasoning.budget ?? 0) : reasoning.effort;
  const type = reasoning.mode === 'between_tools' ? 'between_tools' : 'adaptive';
  const display = type === 'adaptive' ? displayOf(reasoning, capabilities) : undefined;
  return { thinking: compact({ type, display }), ...(effort && effortFor(effort, capabilities)) };
}

function effortFor(requested: string, { efforts }: Capabilities): { effort?: string } {
  const effort = nearestEffort(requested, efforts);
  return effort === undefined ? {} : { effort };
}

const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1_024,
  low: 4_096,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 32_000,
};
/** Smallest budget that the provider accepts, in tokens. */
const MIN_BUDGET = 1_024;

function withBudget(reasoning: HubReasoning, capabilities: Capabilities, limits: ThinkingLimits): ThinkingSettings {
  const requested = reasoning.mode === 'budget' ? reasoning.budget : lookUp(BUDGETS, reasoning.effort ?? '');
  // Mode `auto` without an effort: a manual model thinks only with an
  // explicit budget. It never thinks between tools only.
  if (requested === undefined) return reasoning.mode === 'between_tools' || reasoning.effort ? { dropped: true } : {};
  // An explicit budget may leave one token for output; a budget derived from an effort leaves a quarter.
  const maxBudget = reasoning.mode === 'budget' ? limits.maxTokens - 1 : Math.floor((limits.maxTokens * 3) / 4);
  const budget = Math.min(requested, maxBudget, capabilities.thinkingBudget[1]);
  if (limits.rejectsBudget || budget < MIN_BUDGET) {
    return { dropped: true, ...(capabilities.thinkingOff && { thinking: thinkingOff(capabilities) }) };
  }
  return { thinking: compact({ type: 'enabled', budget_tokens: budget, display: displayOf(reasoning, capabilities) }) };
}

function displayOf({ show }: HubReasoning, { display }: Capabilities): string | undefined {
  if (!display || show === undefined) return undefined;
  return show === 'summary' ? 'summarized' : 'omitted';
}

/** Limit for unary calls: with more output tokens the call may exceed the timeouts on the way. */
const MAX_UNARY_TOKENS = 64_000;

export function maxTokensFor({ limits, stream }: HubRequest, target: UpstreamTarget): number {
  if (limits.prewarm) return 0;
  const modelLimit = target.maxOutput ?? target.capabilities.maxOutput;
  return Math.min(limits.maxOutput ?? (stream ? modelLimit : MAX_UNARY_TOKENS), modelLimit);
}

/**
 * Returns whether the last calls lack their thinking. With a budget,
 * the provider requires it at the start of their turn.
 */
export function lacksThinking(turns: readonly MessageTurn[]): boolean {
  const hasResults = turns.at(-1)?.blocks[0]?.type === 'tool_result';
  return hasResults && !isThinking(turns.at(-2)?.blocks[0]);
}

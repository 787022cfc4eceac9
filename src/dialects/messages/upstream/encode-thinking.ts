/** How much to think, in the form the model takes: adaptive with an effort, or a budget of tokens, or nothing. */
import type { Capabilities } from '../../../rules/index.ts';
import type { Effort, HubReasoning, JsonObject } from '../../hub/types.ts';
import { effortOfBudget, nearestEffort } from '../../wire/efforts.ts';
import { compact } from '../../wire/read.ts';

export interface Thinking {
  readonly thinking?: JsonObject;
  readonly effort?: string;
  /** The model, or the rest of the request, leaves no room for what was asked. */
  readonly dropped?: boolean;
}

export interface Room {
  readonly maxTokens: number;
  /** A tool must be called, or an answered call lacks the thinking that led to it: a budget is refused then. */
  readonly budgetRefused: boolean;
}

export function encodeThinkingSettings(reasoning: HubReasoning, capabilities: Capabilities, room: Room): Thinking {
  const { mode, effort } = reasoning;
  if (mode === undefined && effort === undefined) return {};
  if (mode === 'off' || effort === 'none') return off(capabilities);
  if (capabilities.thinking === 'none') return { dropped: true };
  return capabilities.thinking === 'manual'
    ? withBudget(reasoning, capabilities, room)
    : adaptive(reasoning, capabilities);
}

function off(capabilities: Capabilities): Thinking {
  if (capabilities.thinking === 'none') return {};
  if (capabilities.thinkingOff) return { thinking: { type: 'disabled' } };
  return effortFor('low', capabilities);
}

function adaptive(reasoning: HubReasoning, capabilities: Capabilities): Thinking {
  const effort = reasoning.mode === 'budget' ? effortOfBudget(reasoning.budget ?? 0) : reasoning.effort;
  const type = reasoning.mode === 'between_tools' ? 'between_tools' : 'adaptive';
  const display = type === 'adaptive' ? displayOf(reasoning, capabilities) : undefined;
  return { thinking: compact({ type, display }), ...(effort && effortFor(effort, capabilities)) };
}

function effortFor(wanted: Effort, { efforts }: Capabilities): { effort?: string } {
  const effort = nearestEffort(wanted, efforts);
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
/** Below this the provider refuses a budget. */
const LEAST_BUDGET = 1_024;

function withBudget(reasoning: HubReasoning, capabilities: Capabilities, room: Room): Thinking {
  const wanted = reasoning.mode === 'budget' ? reasoning.budget : reasoning.effort && BUDGETS[reasoning.effort];
  // "As much as you like" without an effort: such a model thinks only when told how much.
  if (wanted === undefined) return {};
  // An explicit budget may leave a single token for the answer; one that we chose leaves a quarter.
  const most = reasoning.mode === 'budget' ? room.maxTokens - 1 : Math.floor((room.maxTokens * 3) / 4);
  const budget = Math.min(wanted, most, capabilities.thinkingBudget[1]);
  if (room.budgetRefused || budget < LEAST_BUDGET) {
    return { dropped: true, ...(capabilities.thinkingOff && { thinking: { type: 'disabled' } }) };
  }
  return { thinking: compact({ type: 'enabled', budget_tokens: budget, display: displayOf(reasoning, capabilities) }) };
}

function displayOf({ show }: HubReasoning, { display }: Capabilities): string | undefined {
  if (!display || show === undefined) return undefined;
  return show === 'summary' ? 'summarized' : 'omitted';
}

/**
 * Encoder of reasoning settings in the form the model supports: a
 * level or a token budget, which exclude each other.
 */
import { type Capabilities, type Effort, isKnownEffort } from '../../../rules/index.ts';
import type { HubReasoning, JsonObject } from '../../hub/types.ts';
import { effortOfBudget, nearestEffort } from '../../wire/efforts.ts';
import { compact, lookUp } from '../../wire/read.ts';

/** Returns undefined if the request does not set reasoning, or the model has no such setting. */
export function encodeThinkingConfig(reasoning: HubReasoning, capabilities: Capabilities): JsonObject | undefined {
  if (capabilities.thinkingConfig === 'none') return undefined;
  const input = inputOf(reasoning);
  const amount = input === undefined ? {} : AMOUNTS[capabilities.thinkingConfig](input, capabilities);
  const config = compact({ ...amount, includeThoughts: showsThoughts(reasoning, capabilities) || undefined });
  return Object.keys(config).length > 0 ? config : undefined;
}

/** An effort that no table knows has no tokens. */
export const lacksBudget = ({ mode, effort }: HubReasoning, { thinkingConfig }: Capabilities): boolean =>
  thinkingConfig === 'budget' && mode === undefined && effort !== undefined && !isKnownEffort(effort);

/** The provider rejects `includeThoughts` when the model does not think, and leaves thoughts out without it. */
export function showsThoughts(reasoning: HubReasoning, capabilities: Capabilities): boolean {
  const { display, thinkingConfig, thinksByDefault } = capabilities;
  if (reasoning.show !== 'summary' || !display || thinkingConfig === 'none') return false;
  const input = inputOf(reasoning);
  return input === undefined ? thinksByDefault : input !== 'off';
}

/** `off`, `auto`, an effort, or tokens. */
type ThinkingInput = string | number;

function inputOf(reasoning: HubReasoning): ThinkingInput | undefined {
  const { mode, effort, budget } = reasoning;
  if (mode === 'off') return 'off';
  if (mode === 'budget' && budget !== undefined) return budget;
  if (effort !== undefined) return effort === 'none' ? 'off' : effort;
  if (mode === 'between_tools') return 'low';
  return mode === undefined ? undefined : 'auto';
}

type Amount = (input: ThinkingInput, capabilities: Capabilities) => { thinkingLevel?: string; thinkingBudget?: number };

const AMOUNTS: Readonly<Record<'level' | 'budget', Amount>> = {
  level(input, { efforts }) {
    if (input === 'auto') return {};
    const effort = typeof input === 'number' ? effortOfBudget(input) : input;
    // No level means `none`; the lowest level is the nearest.
    const levels = efforts.filter((one) => one !== 'none');
    const level = nearestEffort(effort === 'off' ? 'none' : effort, levels);
    return level === undefined ? {} : { thinkingLevel: level.toUpperCase() };
  },
  budget(input, { thinkingBudget: [min, max] }) {
    // -1 lets the model choose; it is valid for every range.
    if (input === 'auto') return { thinkingBudget: -1 };
    const tokens = typeof input === 'number' ? input : lookUp(BUDGETS, input);
    return tokens === undefined ? {} : { thinkingBudget: Math.min(Math.max(tokens, min), max) };
  },
};

const BUDGETS: Readonly<Record<'off' | Exclude<Effort, 'none'>, number>> = {
  off: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};

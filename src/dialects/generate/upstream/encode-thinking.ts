/** How hard to think, in the form the model takes: a level by name or a budget in tokens; both together are refused by it. */
import type { Capabilities } from '../../../rules/index.ts';
import type { Effort, HubReasoning, JsonObject } from '../../hub/types.ts';
import { effortOfBudget, nearestEffort } from '../../wire/efforts.ts';
import { compact } from '../../wire/read.ts';

/** Undefined where the request says nothing about thinking, or the model has no such setting. */
export function thinkingConfig(reasoning: HubReasoning, capabilities: Capabilities): JsonObject | undefined {
  if (capabilities.thinkingConfig === 'none') return undefined;
  const wish = inputOf(reasoning);
  const amount = wish === undefined ? {} : AMOUNT[capabilities.thinkingConfig](wish, capabilities);
  // A model that is told not to think refuses to be asked for its thoughts.
  const shown = wish === 'off' || !capabilities.display ? undefined : SHOWN[reasoning.show ?? 'unsaid'];
  const config = compact({ ...amount, includeThoughts: shown });
  return Object.keys(config).length > 0 ? config : undefined;
}

const SHOWN: Readonly<Record<'none' | 'summary' | 'unsaid', boolean | undefined>> = {
  none: false,
  summary: true,
  unsaid: undefined,
};

type ThinkingInput = 'off' | 'auto' | Exclude<Effort, 'none'> | number;

function inputOf(reasoning: HubReasoning): ThinkingInput | undefined {
  const { mode, effort, budget } = reasoning;
  if (mode === 'off') return 'off';
  if (mode === 'budget' && budget !== undefined) return budget;
  if (effort !== undefined) return effort === 'none' ? 'off' : effort;
  if (mode === 'between_tools') return 'low';
  return mode === undefined ? undefined : 'auto';
}

type Amount = (wish: ThinkingInput, capabilities: Capabilities) => { thinkingLevel?: string; thinkingBudget?: number };

const AMOUNT: Readonly<Record<'level' | 'budget', Amount>> = {
  level(wish, { efforts }) {
    if (wish === 'auto') return {};
    const effort = wish === 'off' ? 'none' : typeof wish === 'number' ? effortOfBudget(wish) : wish;
    // There is no level of that name: the least stands for it.
    const level = nearestEffort(
      effort,
      efforts.filter((one) => one !== 'none'),
    );
    return level === undefined ? {} : { thinkingLevel: level.toUpperCase() };
  },
  budget(wish, { thinkingBudget: [least, most] }) {
    // -1 leaves the amount to the model and lies outside every range.
    if (wish === 'auto') return { thinkingBudget: -1 };
    const tokens = wish === 'off' ? 0 : typeof wish === 'number' ? wish : BUDGETS[wish];
    return { thinkingBudget: Math.min(Math.max(tokens, least), most) };
  },
};

const BUDGETS: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};

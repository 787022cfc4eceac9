/** Encoder of the request to think, in the field that the server has for it. */
import type { ThinkingField } from '../../rules/index.ts';
import type { UpstreamTarget } from '../codec.ts';
import type { HubField, RequestSection } from '../hub/fields.ts';
import type { HubReasoning, JsonObject } from '../hub/types.ts';
import { effortOf, nearestEffort } from '../wire/efforts.ts';
import { compact } from '../wire/read.ts';

export function encodeThinking(
  reasoning: HubReasoning,
  { capabilities: { efforts, thinkingField } }: UpstreamTarget,
  dropped: (HubField | RequestSection)[],
): JsonObject {
  const requested = effortOf(reasoning);
  const nearest = requested && nearestEffort(requested, efforts);
  const isOn = requested === 'none' ? false : (requested ?? reasoning.mode) !== undefined;
  const isAsked = requested !== undefined || reasoning.mode !== undefined;
  // Nothing is dropped when `none` is requested of a model that does not reason.
  if (requested && !nearest && requested !== 'none' && thinkingField === 'reasoning_effort') dropped.push('reasoning');
  const encoded = isAsked ? WRITERS[thinkingField]({ isOn, effort: nearest, budget: reasoning.budget }) : {};
  return compact(encoded);
}

interface Thinking {
  readonly isOn: boolean;
  /** The nearest one that the server accepts. */
  readonly effort: string | undefined;
  /** Tokens. */
  readonly budget: number | undefined;
}

const effortIfOn = ({ isOn, effort }: Thinking): string | undefined => (isOn ? effort : undefined);

const WRITERS: Readonly<Record<ThinkingField, (thinking: Thinking) => JsonObject>> = {
  reasoning_effort: ({ effort }) => ({ reasoning_effort: effort }),
  thinking: (request) => ({
    thinking: { type: request.isOn ? 'enabled' : 'disabled' },
    reasoning_effort: effortIfOn(request),
  }),
  enable_thinking: ({ isOn, budget }) => ({ enable_thinking: isOn, thinking_budget: isOn ? budget : undefined }),
  chat_template_kwargs: (request) => ({
    chat_template_kwargs: { enable_thinking: request.isOn },
    reasoning_effort: effortIfOn(request),
  }),
  reasoning_config: (request) => ({ reasoning_config: effortIfOn(request) }),
  reasoningConfig: ({ isOn, effort }) => ({
    reasoningConfig: isOn ? compact({ type: 'enabled', maxReasoningEffort: effort }) : { type: 'disabled' },
  }),
  reasoning: ({ isOn, effort, budget }) => {
    if (isOn && budget !== undefined) return { reasoning: { max_tokens: budget } };
    return { reasoning: effort === undefined ? { enabled: isOn } : { effort } };
  },
};

/**
 * A tap beside a native response: reads usage, id and the terminal event without touching the bytes. Ignores malformed events; never fails
 * the response. `unary-tap.ts` and `stream-tap.ts` are the two kinds.
 */
import type { HubUsage } from '../../dialects/index.ts';
import type { Dialect } from '../../rules/index.ts';
import type { ImageCount } from '../billing/call-facts.ts';
import { withServiceTier } from '../billing/usage.ts';
import { addSearches, type Searches } from './searches.ts';

export interface TapResult {
  readonly usage: HubUsage | undefined;
  /** The response ended with the terminal event or the error of its dialect. */
  readonly isComplete: boolean;
  /** Its last event says that nothing follows, although it is not the terminal one: see `TOLERANCES.noTerminalEvent`. */
  readonly isFinished?: boolean;
  /** It ended with the provider's error. */
  readonly isError: boolean;
  /** The provider's id of the response, where the dialect has one. */
  readonly id: string | undefined;
  /** Ids in the response that later requests may name, where the dialect stores responses. */
  readonly ownedIds: readonly string[];
  /** The model that the response names, where it names one before its content. */
  readonly model?: string | undefined;
  /** Sequence number of the last event, where the dialect numbers them. */
  readonly sequence: number | undefined;
  /** The pictures of an image call, as they were returned. */
  readonly images?: ImageCount;
}

export const NOTHING: TapResult = {
  usage: undefined,
  isComplete: false,
  isError: false,
  id: undefined,
  ownedIds: [],
  sequence: undefined,
};

export interface Tap {
  push(chunk: Buffer): void;
  end(): TapResult;
  /** Estimated tokens of the visible output so far. */
  readonly outputTokens: number;
  /** All content has passed as far as the latest events say, and the provider is about to report usage. */
  readonly isFinishing: boolean;
}

/** A larger response or event is not kept for reading its usage. */
export const MAX_KEPT_BYTES = 32 * 2 ** 20;

/** Adds the searches that the reported usage does not count. */
export const withSearches = (result: TapResult, count: () => Searches): TapResult =>
  result.usage ? { ...result, usage: addSearches(result.usage, count()) } : result;

export const hasMembers = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Where each dialect reports usage, which events are terminal, and which of those are errors. */
export const USAGE_FORMS: Readonly<
  Record<
    Dialect,
    {
      member: 'usage' | 'usageMetadata';
      usageOf: (event: TappedEvent) => unknown;
      idOf: (event: TappedEvent) => unknown;
      modelOf: (event: TappedEvent) => unknown;
      isLast: (event: TappedEvent, data: string) => boolean;
      isError: (event: TappedEvent) => boolean;
    }
  >
> = {
  messages: {
    member: 'usage',
    usageOf: (event) => event.usage ?? event.message?.usage,
    idOf: (event) => event.message?.id,
    modelOf: (event) => event.message?.model ?? event.model,
    isLast: (event) => event.type === 'message_stop' || event.type === 'error',
    isError: (event) => event.type === 'error',
  },
  chat: {
    member: 'usage',
    usageOf: (event) => withServiceTier(event.usage, event.service_tier),
    idOf: (event) => event.id,
    modelOf: (event) => event.model,
    isLast: (event, data) => data === '[DONE]' || event.error !== undefined,
    isError: (event) => event.error !== undefined,
  },
  responses: {
    member: 'usage',
    usageOf: ({ response, interaction, usage }) =>
      withServiceTier(reportOf(interaction?.usage ?? response?.usage ?? usage), response?.service_tier),
    idOf: (event) => event.response?.id ?? event.interaction?.id,
    modelOf: (event) => event.response?.model ?? event.interaction?.model ?? event.model,
    isLast: (event) =>
      /^(?:response\.(?:completed|failed|incomplete|cancelled)|interaction\.completed|error)$/.test(typeOf(event)) ||
      event.error !== undefined,
    isError: (event) => /^(?:response\.failed|error)$/.test(typeOf(event)) || event.error !== undefined,
  },
  generate: {
    member: 'usageMetadata',
    usageOf: (event) => event.usageMetadata,
    idOf: (event) => event.responseId,
    modelOf: (event) => event.modelVersion,
    isLast: (event) =>
      event.candidates?.some((candidate) => candidate.finishReason !== undefined) === true ||
      event.promptFeedback !== undefined ||
      event.error !== undefined,
    isError: (event) => event.error !== undefined,
  },
};

const typeOf = ({ type, event_type: given }: TappedEvent): string => type ?? given ?? '';

/** The report of an interaction in the form of the responses dialect, whose other events it resembles. */
export function reportOf(usage: unknown): unknown {
  if (!hasMembers(usage) || !('total_input_tokens' in usage)) return usage;
  const count = (name: string): number => Number((usage as Record<string, unknown>)[name] ?? 0);
  const input = count('total_input_tokens') + count('total_tool_use_tokens');
  const written = count('total_output_tokens') + count('total_thought_tokens');
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: count('total_cached_tokens') },
    // A total says whether thoughts are a part of the output.
    output_tokens: Math.max(
      count('total_output_tokens'),
      Math.min(written, (count('total_tokens') || Infinity) - input),
    ),
    output_tokens_details: { reasoning_tokens: count('total_thought_tokens') },
  };
}

/** Searches that an interaction reports, in the form of `tool_usage`. */
export function groundingOf(usage: unknown): unknown {
  const { grounding_tool_count: counts } = (hasMembers(usage) ? usage : {}) as { grounding_tool_count?: unknown };
  if (!Array.isArray(counts)) return undefined;
  const searches = counts.reduce<number>((sum, one) => sum + (Number(one?.count) || 0), 0);
  return { web_search: { num_requests: searches } };
}

/** The last event of a chat stream without `[DONE]`: the finish reason, or the usage after it. */
export const isFinishOfChat = ({ choices, usage }: TappedEvent): boolean =>
  Array.isArray(choices) &&
  (choices.length === 0 ? hasMembers(usage) : choices.every((choice) => !!choice?.finish_reason));

/** The members that the tap reads, of all dialects. */
export interface TappedEvent {
  readonly type?: string;
  readonly event_type?: string;
  readonly interaction?: { readonly id?: unknown; readonly model?: unknown; readonly usage?: unknown };
  readonly status?: unknown;
  readonly sequence_number?: number;
  readonly id?: unknown;
  readonly model?: unknown;
  readonly modelVersion?: unknown;
  readonly usage?: unknown;
  readonly service_tier?: unknown;
  readonly usageMetadata?: unknown;
  readonly tool_usage?: unknown;
  readonly responseId?: unknown;
  readonly error?: unknown;
  readonly promptFeedback?: unknown;
  readonly message?: { readonly id?: unknown; readonly model?: unknown; readonly usage?: unknown };
  readonly output?: unknown;
  readonly response?: {
    readonly id?: unknown;
    readonly model?: unknown;
    readonly usage?: unknown;
    readonly tool_usage?: unknown;
    readonly service_tier?: unknown;
    readonly output?: unknown;
  };
  readonly choices?: readonly { readonly finish_reason?: unknown }[];
  readonly candidates?: readonly { readonly finishReason?: unknown }[];
}

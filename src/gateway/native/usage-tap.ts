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
    usageOf: ({ response, usage }) => withServiceTier(response?.usage ?? usage, response?.service_tier),
    idOf: (event) => event.response?.id,
    modelOf: (event) => event.response?.model ?? event.model,
    isLast: (event) =>
      /^(?:response\.(?:completed|failed|incomplete|cancelled)|error)$/.test(event.type ?? '') ||
      event.error !== undefined,
    isError: (event) => event.type === 'response.failed' || event.type === 'error' || event.error !== undefined,
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

/** The last event of a chat stream without `[DONE]`: the finish reason, or the usage after it. */
export const isFinishOfChat = ({ choices, usage }: TappedEvent): boolean =>
  Array.isArray(choices) &&
  (choices.length === 0 ? hasMembers(usage) : choices.every((choice) => !!choice?.finish_reason));

/** The members that the tap reads, of all dialects. */
export interface TappedEvent {
  readonly type?: string;
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

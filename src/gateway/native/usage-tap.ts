/**
 * A tap beside a native response (`unary-tap.ts`, `stream-tap.ts`):
 * reads usage, id and the terminal event. Never fails the response.
 */
import type { HubUsage } from '../../dialects/index.ts';
import type { Dialect, ErrorCode } from '../../rules/index.ts';
import type { ImageCount } from '../billing/call-facts.ts';
import { withServiceTier } from '../billing/usage.ts';
import type { CachedContent } from '../objects/cached-content.ts';
import { madeFor, ownedIds } from '../stored/owned-ids.ts';
import { addSearches, hasMembers, reportOf, type Searches } from './searches.ts';

export interface TapResult {
  readonly usage: HubUsage | undefined;
  /** The response ended with the terminal event or the error of its dialect. */
  readonly isComplete: boolean;
  /**
   * Its last event says that nothing follows, although it is not the terminal one: see `TOLERANCES.noTerminalEvent`.
   */
  readonly isFinished?: boolean;
  readonly isError: boolean;
  /** Of the catalogue, where the response ended with an error. */
  readonly errorCode?: ErrorCode | undefined;
  readonly id: string | undefined;
  /** Ids in the response that later requests may name. */
  readonly ownedIds: readonly string[];
  readonly model?: string | undefined;
  readonly sequence: number | undefined;
  readonly images?: ImageCount;
  /** The reply, where the provider keeps what it describes. */
  readonly object?: CachedContent | undefined;
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
  readonly outputTokens: number;
  /** All content has passed as far as the latest events say, and the provider is about to report usage. */
  readonly isFinishing: boolean;
  /** A report in a body that is not whole; see `failed-usage.ts`. */
  readonly reportOfCut?: HubUsage | undefined;
}

/** A larger response or event is not kept for reading its usage. */
export const MAX_KEPT_BYTES = 32 * 2 ** 20;

export const withSearches = (result: TapResult, count: () => Searches): TapResult =>
  result.usage ? { ...result, usage: addSearches(result.usage, count()) } : result;

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
      /** Ids of what the provider keeps. */
      ownedIn: (event: TappedEvent) => string[];
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
    ownedIn: madeFor,
  },
  chat: {
    member: 'usage',
    usageOf: (event) => withServiceTier(event.usage, event.service_tier),
    idOf: (event) => event.id,
    modelOf: (event) => event.model,
    isLast: (event, data) => data === '[DONE]' || event.error !== undefined,
    isError: (event) => event.error !== undefined,
    ownedIn: () => [],
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
    ownedIn: ({ response, output }) => ownedIds(response?.output ?? output),
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
    ownedIn: () => [],
  },
};

const typeOf = ({ type, event_type: given }: TappedEvent): string => type ?? given ?? '';

/** The last event of a chat stream without `[DONE]`: the finish reason, or the usage after it. */
export const isFinishOfChat = ({ choices, usage }: TappedEvent): boolean =>
  Array.isArray(choices) &&
  (choices.length === 0 ? hasMembers(usage) : choices.every((choice) => !!choice?.finish_reason));

/** Members that may be absent, and are whatever the provider sent. */
export interface TappedEvent {
  readonly type?: string;
  readonly event_type?: string;
  readonly sequence_number?: number;
  readonly status?: unknown;
  readonly id?: unknown;
  readonly model?: unknown;
  readonly modelVersion?: unknown;
  readonly usage?: unknown;
  readonly usageMetadata?: unknown;
  readonly tool_usage?: unknown;
  readonly service_tier?: unknown;
  readonly output?: unknown;
  readonly container?: unknown;
  readonly content?: unknown;
  readonly content_block?: unknown;
  readonly delta?: unknown;
  readonly error?: unknown;
  readonly responseId?: unknown;
  readonly promptFeedback?: unknown;
  readonly interaction?: TappedReply;
  readonly message?: TappedReply;
  readonly response?: TappedReply;
  readonly choices?: readonly { readonly finish_reason?: unknown }[];
  readonly candidates?: readonly { readonly finishReason?: unknown }[];
}

interface TappedReply {
  readonly id?: unknown;
  readonly model?: unknown;
  readonly usage?: unknown;
  readonly tool_usage?: unknown;
  readonly service_tier?: unknown;
  readonly output?: unknown;
}

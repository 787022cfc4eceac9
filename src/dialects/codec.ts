/**
 * The contract of a dialect: a client side, where the gateway is the server, and an
 * upstream side. Both are pure; the state of a stream is in its decoder or encoder.
 */
import type { Capabilities, ClientDialect, Style, UpstreamDialect } from '../rules/index.ts';
import type { Fault } from './errors/fault.ts';
import type { FieldNames, HubField, RequestSection, SupportTable } from './hub/fields.ts';
import type * as hub from './hub/types.ts';
import type { SignOpaque } from './opaque/sign.ts';

export interface Codec {
  readonly client: ClientSide;
  readonly upstream: UpstreamSide;
}

export interface ClientSide {
  readonly dialect: ClientDialect;
  /** Field names of this dialect, for `x-gateway-dropped` and for errors. */
  readonly fieldNames: FieldNames;
  /** Throws an `ApiError` whose `param` is the path of the invalid field in the client's body. */
  decodeRequest(body: unknown, head: ClientRequestHead): hub.HubRequest;
  /** A complete reply that is a failure in this dialect, because it lacks what every response has. */
  faultIn?(reply: CompleteReply): Fault | undefined;
  encodeReply(reply: hub.HubReply, context: ReplyContext): unknown;
  openEncoder(context: ReplyContext): StreamEncoder;
  /** What replies of this dialect can show; the gateway names the rest. */
  readonly replyForms: hub.ReplyForms;
}

export type CompleteReply = Pick<hub.HubReply, 'items' | 'stop' | 'refusal'>;

export interface UpstreamSide {
  readonly dialect: UpstreamDialect;
  /** Field names of this dialect, to recognise the field that a provider's error names. */
  readonly fieldNames: FieldNames;
  readonly support: SupportTable;
  /**
   * Throws `reject(...)` for content the dialect cannot express;
   * `encodeRequestFor` puts in the client's field name.
   */
  encodeRequest(request: hub.HubRequest, target: UpstreamTarget): EncodedRequest;
  /**
   * Throws only `ApiError`: `upstream_error` for an unreadable body, or
   * the error inside it, with the code of the stream decoder.
   */
  decodeReply(body: unknown, context: DecodeContext): hub.HubReply;
  openDecoder(context: DecodeContext): StreamDecoder;
  decodeError(response: UpstreamFailure): Fault;
  /**
   * Reads a usage object; undefined without a usable count. `toolUsage`:
   * where the responses dialect reports tokens of images.
   */
  readUsage(usage: unknown, toolUsage?: unknown): hub.HubUsage | undefined;
}

/** The parts of the HTTP request that a request decoder may read besides the body. */
export interface ClientRequestHead {
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** From the path, in dialects that put model and method there. */
  readonly model?: string;
  readonly stream?: boolean;
}

/** The account and model that a request is encoded for. */
export interface UpstreamTarget {
  readonly model: string;
  readonly capabilities: Capabilities;
  readonly maxOutput?: number;
  /** Keyed hash of the account family, compared with the one inside opaque values. */
  readonly account?: string;
  /** Cache breakpoints are added, where the client sets none and the provider caches by them only. */
  readonly marksCache?: boolean;
}

export interface EncodedRequest {
  readonly body: hub.JsonObject;
  /** Extra request headers of the dialect (versions, betas). */
  readonly headers: Readonly<Record<string, string>>;
  /** Fields left out because this model does not support them, in addition to those the support table drops. */
  readonly droppedFields: readonly (HubField | RequestSection)[];
  /** Options of a hosted tool that the upstream does not have, by the names that the client used. */
  readonly droppedToolOptions?: readonly string[];
  /** The same for web search, which has a field of its own in some dialects. */
  readonly droppedSearchOptions?: readonly string[];
  /** Upstream tool name -> the client's; only names that differ. */
  readonly names: ReadonlyMap<string, hub.ToolName>;
  /** Stop sequences that the upstream has no field for; the conversion cuts the text itself. */
  readonly emulateStop: readonly string[];
  readonly computer?: hub.ComputerCalls;
}

/** Facts a decoder needs that are not on the wire. */
export interface DecodeContext {
  /** Seed for ids that the upstream does not provide. */
  readonly requestId: string;
  readonly account?: string;
  /** The capability of that name: the reply may begin with reasoning between tags. */
  readonly thinkTags?: boolean;
  /** Signs the opaque values of the reply. */
  readonly sign?: SignOpaque;
}

/** Facts an encoder needs besides the hub events. */
export interface ReplyContext {
  readonly request: hub.HubRequest;
  /** The model name the client requested; responses carry it instead of the upstream's name. */
  readonly model: string;
  readonly requestId: string;
  /** The id of a response whose client has it before the provider replies; without it, the provider's. */
  readonly responseId?: string;
  /** Issuer of the opaque values in the reply. */
  readonly issuer: Style;
  /** Unix seconds. */
  readonly created: number;
  /** Positions of the request's tools that the provider did not get; a response names no such tool. */
  readonly omittedTools?: readonly number[];
}

/** A class wherever it has a getter: see `StreamEncoder`. */
export interface StreamDecoder {
  /** `data` is the text of one SSE event; `event` its name where the dialect uses one. */
  push(data: string, event?: string): readonly hub.HubEvent[];
  /** The upstream closed the stream. Returns the pending finish, or an error if the stream was truncated. */
  end(): readonly hub.HubEvent[];
  /**
   * True when all content has arrived and only usage or end of stream is
   * pending. Only for dialects without a terminal event.
   */
  readonly isComplete?: boolean;
  /**
   * What the provider has reported so far, for a stream that does not
   * reach its end. Only for dialects that report early.
   */
  readonly usage?: hub.HubUsage | undefined;
}

/**
 * A class where it has a getter: an object literal with a getter has a
 * hidden class that keeps what the stream holds in memory.
 */
export interface StreamEncoder {
  /** Returns complete SSE blocks; empty when the event has no form in this dialect. */
  push(event: hub.HubEvent): string;
  /** The same wire events as `push`, as JSON texts without SSE framing; only where a dialect also speaks WebSocket. */
  pushEvents?(event: hub.HubEvent): readonly string[];
  /**
   * The complete response object of the terminal event; undefined
   * before it, and in dialects without such an object.
   */
  readonly finalResponse?: hub.JsonObject | undefined;
  heartbeat(): string;
}

/** An upstream response with an error status. */
export interface UpstreamFailure {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

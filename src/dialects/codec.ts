/**
 * What a dialect must bring: a client side (we are the server) and an upstream side (we are the client). Both are pure and
 * synchronous; all state of a stream lives in the decoder or encoder that was opened for it. A fifth dialect is a folder
 * with these two halves and one line in `index.ts`.
 */
import type { Capabilities, Dialect, Style } from '../rules/index.ts';
import type { Fault } from './errors/fault.ts';
import type { FieldNames, HubField } from './hub/fields.ts';
import type { HubEvent, HubReply, HubRequest, HubUsage } from './hub/types.ts';

export interface Codec {
  readonly dialect: Dialect;
  readonly client: ClientSide;
  readonly upstream: UpstreamSide;
}

export interface ClientSide {
  /** Throws `fail(...)` with the name of the field, in the client's own words. */
  decodeRequest(body: unknown, from: ClientRequestHead): HubRequest;
  encodeReply(reply: HubReply, answer: ReplyContext): unknown;
  openEncoder(answer: ReplyContext): StreamEncoder;
  /** What this dialect calls a hub field; losses and refusals are told to the caller under that name. */
  readonly fieldNames: FieldNames;
}

export interface UpstreamSide {
  /** Refuses what cannot be written with `refuse(...)`, which `encodeFor` tells in the client's words. */
  encodeRequest(request: HubRequest, target: UpstreamTarget): EncodedRequest;
  /**
   * Throws an `ApiError` and nothing else, whatever the body is: `upstream_error` for one that cannot be read as an answer,
   * or the error that the body itself tells (a failed response under status 200), as the stream would have told it.
   */
  decodeReply(body: unknown, context: DecodeContext): HubReply;
  openDecoder(context: DecodeContext): StreamDecoder;
  decodeError(response: UpstreamFailure): Fault;
  /** The usage object of a reply or stream event alone; undefined when it is none. */
  readUsage(usage: unknown): HubUsage | undefined;
  /** Kept, changed, dropped or refused: the fate of every hub field on the way to this dialect (see `fate.ts`). */
  readonly support: Readonly<Record<HubField, Support>>;
}

export type Support = 'kept' | 'changed' | 'dropped' | 'rejected';

/** What of the HTTP request the body decoder may look at. */
export interface ClientRequestHead {
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** From the path, where the dialect puts model and method there. */
  readonly model?: string;
  readonly stream?: boolean;
}

/** The account and model that a request is encoded for. */
export interface UpstreamTarget {
  readonly model: string;
  readonly capabilities: Capabilities;
  readonly maxOutput?: number;
  /** Keyed hash of the account family, for opaque values that are bound to it. */
  readonly account?: string;
}

export interface EncodedRequest {
  readonly body: JsonBody;
  /** Extra request headers of the dialect (versions, betas). */
  readonly headers: Readonly<Record<string, string>>;
  /** Hub fields that this model cannot take and that were left out, beyond those the fate table drops anyway. */
  readonly droppedFields: readonly HubField[];
  /** From the name that was sent upstream back to the client's own; empty when every name went through as it was. */
  readonly names: ReadonlyMap<string, { readonly name: string; readonly namespace?: string }>;
  /** Stop sequences that the upstream has no field for; the pipeline cuts the text itself. */
  readonly emulateStop: readonly string[];
}
export type JsonBody = Readonly<Record<string, unknown>>;

/** What a decoder needs to know that the wire does not say. */
export interface DecodeContext {
  /** Seed for ids that the upstream does not give. */
  readonly requestId: string;
  readonly account?: string;
}

/** What an encoder needs to know beside the hub events. */
export interface ReplyContext {
  readonly request: HubRequest;
  /** The name the client asked for; answers carry it whatever the upstream calls its model. */
  readonly model: string;
  readonly requestId: string;
  /** Whose opaque values arrive; those of the client's own family are handed on bare, others wrapped. */
  readonly issuer: Style;
  /** Unix seconds. */
  readonly created: number;
}

export interface StreamDecoder {
  /** `data` is the text of one SSE event; `event` its name where the dialect uses one. */
  push(data: string, event?: string): readonly HubEvent[];
  /** The upstream closed the stream: yields the finish or the error that is still missing. */
  end(): readonly HubEvent[];
  /** All has been said but the finish, which waits for usage or the close; only where the dialect has no event for the end. */
  readonly isComplete?: boolean;
}

export interface StreamEncoder {
  /** Wire text, complete SSE blocks, ready to be written; empty when the event says nothing in this dialect. */
  push(event: HubEvent): string;
  /** The same wire events as `push`, as JSON texts without SSE framing; only where a dialect also speaks WebSocket. */
  pushEvents?(event: HubEvent): readonly string[];
  /** The complete response object of the terminal event; undefined before it, and in dialects without such an object. */
  readonly finalResponse?: JsonBody | undefined;
  heartbeat(): string;
}

export interface UpstreamFailure {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

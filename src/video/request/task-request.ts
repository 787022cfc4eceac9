/**
 * A validated request for a video task, and the errors of one that is not valid. All types can cross to another thread.
 */
import { type ApiError, failAt } from '../../core/index.ts';
import type { MediaItemType, MediaKind, MediaRole, Ratio, Resolution, VideoSheet } from '../../rules/index.ts';

/** `tasks` is POST /api/v3/contents/generations/tasks (V 4.2), `videos` is POST /v1/videos (V 4.7). */
export type TaskEntry = 'tasks' | 'videos';

/** What the model of the request accepts. */
export interface TaskTarget {
  readonly sheet: VideoSheet;
  /** Origins that URLs may have although they are not public, as in `EGRESS_ALLOW`. */
  readonly allowedOrigins?: readonly string[];
}

/** What is wrong with a request; the fields of an `ApiError`. */
export interface RequestError {
  readonly code: 'invalid_request' | 'unsupported_video_parameter' | 'invalid_asset_reference';
  readonly message: string;
  readonly param?: string;
}

export type Examination =
  | { readonly kind: 'malformed'; readonly error: RequestError }
  | {
      readonly kind: 'parsed';
      /** SHA-256 in hex. Equal for bodies with equal values, whatever their white space, key order and escapes. */
      readonly fingerprint: string;
      /** Undefined when the member is missing or invalid; `result` is then an error. */
      readonly model: string | undefined;
      /** Undefined when there is no target to check against. */
      readonly result: { readonly error: RequestError } | AcceptedRequest | undefined;
    };

export interface AcceptedRequest {
  readonly request: TaskRequest;
  readonly upstream: NeutralRequest;
}

/** Parameters as the client gave them, under the names of V 4.2; absent members were not given. */
export interface GivenParameters {
  /** -1 lets the model choose. */
  readonly duration?: number;
  readonly frames?: number;
  readonly resolution?: Resolution;
  readonly ratio?: Ratio;
  readonly seed?: number;
  readonly generate_audio?: boolean;
  readonly watermark?: boolean;
  readonly return_last_frame?: boolean;
  readonly service_tier?: string;
  /** Seconds from creation to expiry. */
  readonly execution_expires_after?: number;
  readonly tools?: readonly { readonly type: string }[];
  /** Members that a sheet adds. */
  readonly [name: string]: unknown;
}

export interface TaskRequest {
  readonly model: string;
  readonly parameters: GivenParameters;
  readonly callbackUrl: string | undefined;
  /** The caller's name of its own user. Combined with ours, never stored or sent as it is. */
  readonly safetyIdentifier: string | undefined;
  /** Providers charge other rates for requests with video input. */
  readonly hasVideoInput: boolean;
  /** Options such as `--rs 1080p` in a text, which may replace parameters. Undefined when there are none. */
  readonly promptOptions: PromptOptions | undefined;
  readonly references: readonly MediaReference[];
  readonly files: readonly FileReference[];
}

/**
 * What the options in a prompt ask for. Sets of each value, because the provider does not say which of several counts.
 */
export interface PromptOptions {
  readonly resolutions: ReadonlySet<Resolution>;
  readonly ratios: ReadonlySet<Ratio>;
  /** Of the longest video; 0 without an option for it. */
  readonly seconds: number;
  /** An option or its value is not known: it may ask for the largest video of the model. */
  readonly isUnclear: boolean;
}

/** An `asset://` address. Its form is valid; whether it exists is not known yet. */
export interface MediaReference {
  /** Index of the content item in the upstream request. */
  readonly index: number;
  /** Path of the address in the client's request, for errors. */
  readonly param: string;
  readonly kind: MediaKind;
  readonly role: MediaRole;
  readonly id: string;
  readonly form: 'asset' | 'character';
}

/** An uploaded file. Whether it exists is not known yet. */
export type FileReference = Pick<MediaReference, 'param' | 'kind' | 'id'>;

/** A text with its quotes left out: as it is, or the bytes that the client wrote, with their escapes. */
export type NeutralText = string | { readonly escaped: Uint8Array<ArrayBuffer> };

/**
 * A content item with its role. Without an address it is a reference,
 * whose id depends on the account; the address of a file is its id.
 */
export type NeutralItem = { readonly type: 'text'; readonly text: NeutralText } | NeutralMedia;
export interface NeutralMedia {
  readonly type: MediaItemType;
  readonly role: MediaRole;
  readonly address: NeutralText | undefined;
}

/** What is asked of a provider, in the words of V 4.2. Each family writes it in its own, once an account is chosen. */
export interface NeutralRequest {
  readonly items: readonly NeutralItem[];
  readonly parameters: GivenParameters;
}

/** Malformed, missing, out of range, unknown, or two exclusive fields together (V 4). */
export const invalidField = (param: string, problem: string, advice: string): ApiError =>
  failAt('invalid_request', param, `${problem}; ${advice}.`);

/** A known field, role, value, count or combination that this model does not accept (V 4). */
export const unsupportedField = (param: string, problem: string, advice: string): ApiError =>
  failAt('unsupported_video_parameter', param, `${problem}; ${advice}.`);

/** `a, b or c`. */
export const alternatives = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

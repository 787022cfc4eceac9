/**
 * The error catalogue of both documents (G 7, V 7). A code never changes its meaning: docs/adr/0005-stable-codes.md.
 * docs/errors.md is printed from here.
 */
import type { ErrorFormat } from './endpoints.ts';
import type { VideoVariant } from './groups.ts';

export interface ErrorRow {
  /** The first is the usual one; a second exists only where the document names two. */
  readonly status: number | readonly [number, number];
  readonly doc: string;
  readonly means: string;
  readonly only?: 'A' | 'B' | VideoVariant;
  /** Sent as `x-should-retry`. SDKs retry 409 and every 5xx by themselves; `false` stops them. */
  readonly retry?: boolean;
  /** A status that one dialect spells differently. */
  readonly statusIn?: Partial<Record<ErrorFormat, number>>;
  /** A code that one format spells differently: document 2 has a closed list of codes (V 7). */
  readonly codeIn?: Partial<Record<ErrorFormat, string>>;
  /** The word in `error.type` where it is not the usual one of the status (see ERROR_TYPES). */
  readonly typeIn?: Partial<Record<ErrorFormat, string>>;
}

/** Document 2 has one code for what is wrong with a request. */
export const ERRORS = {
  // Credentials, balance and limits
  invalid_api_key: {
    status: 401,
    doc: 'G 5, V 5',
    means: 'no key, a mistyped key, or a key that is unknown, revoked or expired',
    typeIn: { openai: 'invalid_request_error' },
  },
  invalid_admin_token: {
    status: 401,
    doc: 'admin',
    means: 'no admin token, or not the current one; API keys are not accepted by the admin API',
    typeIn: { openai: 'authentication_error' },
  },
  not_signed_in: {
    status: 401,
    doc: 'console',
    means: 'no session, or one that has ended; sign in again',
    typeIn: { openai: 'authentication_error' },
  },
  invalid_credentials: {
    status: 401,
    doc: 'console',
    means: 'the e-mail address or the password is wrong',
    typeIn: { openai: 'authentication_error' },
  },
  invalid_link: {
    status: 400,
    doc: 'console',
    means: 'the one-time link is unknown, used or expired; ask an operator for a new one',
  },
  not_permitted: { status: 403, doc: 'console', means: 'the role of the signed-in person does not allow this' },
  cross_site_request: {
    status: 403,
    doc: 'console',
    means: 'a request by cookie without the CSRF token of its session, or from another origin',
  },
  key_not_allowed: { status: 403, doc: 'G 5', means: 'the key may not be used from this address or for this purpose' },
  model_not_allowed: { status: 403, doc: 'G 5, V 4.2', means: 'the key may not use this model' },
  insufficient_balance: {
    status: 402,
    doc: 'G 7',
    means:
      'the balance does not cover the maximum cost of the request; add credit, or send the lower limits that the message names',
    retry: false,
    typeIn: { openai: 'insufficient_quota' },
  },
  rate_limit_exceeded: {
    status: 429,
    doc: 'G 8',
    means: 'too many requests or tokens; wait as long as retry-after says',
  },
  spend_limit_reached: {
    status: 429,
    doc: 'G 8',
    means:
      'the key or its user has reached its spend limit of the day or month; retry-after says when the next period begins',
    retry: false,
  },

  // Paths and objects
  not_found: { status: 404, doc: 'G 9', means: 'unknown path' },
  method_not_allowed: {
    status: 405,
    doc: 'G 9',
    means: 'the path exists, but not with this method; see the allow header',
  },
  endpoint_not_supported: { status: 404, doc: 'G 7 r2', means: 'keys of this group cannot use this endpoint' },
  upgrade_required: {
    status: 426,
    doc: 'G 4.1',
    means: 'GET on this path opens a WebSocket; send an upgrade request, or POST',
  },
  not_implemented: { status: 501, doc: 'G 4.1', means: 'this server does not offer the operation yet', retry: false },
  model_not_found: { status: 404, doc: 'G 7', means: "the key's group has no model with that name" },
  response_not_found: { status: 404, doc: 'G 4.4', means: 'the caller has no stored response with that id' },
  file_not_found: { status: 404, doc: 'files', means: 'the caller has no file with that id' },
  batch_not_found: { status: 404, doc: 'batches', means: 'the caller has no batch with that id' },
  cache_not_found: { status: 404, doc: 'objects', means: 'the caller has no cached content with that id' },
  container_not_found: { status: 404, doc: 'objects', means: 'the caller has no container with that id' },
  conversation_not_found: {
    status: 404,
    doc: 'conversations',
    means: 'the caller has no conversation with that id, or it has no such item',
  },
  request_not_found: {
    status: 404,
    doc: 'G 4.7',
    means: 'the key made no call with that id, or the call has not ended',
  },
  previous_response_not_found: {
    status: 400,
    doc: 'G 4.4',
    means: 'previous_response_id is not the id of a response of the caller',
  },
  object_not_found: { status: 404, doc: 'admin', means: 'no object with that id exists' },

  // Malformed or unsupported requests
  invalid_request: { status: 400, doc: 'G 7, V 7', means: 'JSON, a field, a range or an address is invalid' },
  invalid_value: { status: 400, doc: 'G 7', means: 'a field has a value that is not allowed' },
  unsupported_parameter: { status: 400, doc: 'G 7', means: 'the field is not supported for this model or group' },
  wrong_dialect: { status: 400, doc: 'G 4.1 r2', means: 'the body is in another dialect than the path' },
  context_length_exceeded: { status: 400, doc: 'G 7', means: 'the input is longer than the model can read' },
  content_policy_violation: { status: 400, doc: 'G 7', means: 'the provider rejects the content of the request' },
  invalid_encrypted_content: { status: 400, doc: 'G 7', means: 'opaque reasoning state was rejected by the provider' },
  request_too_large: {
    status: 413,
    doc: 'G 8',
    means: 'the body is larger than the endpoint accepts',
    statusIn: { video: 400 },
    codeIn: { video: 'invalid_request' },
  },
  request_too_complex: {
    status: 400,
    doc: 'G 8',
    means: 'reading the request takes more work than the gateway spends on one; send fewer or smaller parts',
    codeIn: { video: 'invalid_request' },
  },
  unsupported_media_type: {
    status: 415,
    doc: 'G 5 r2',
    means: 'the endpoint does not accept this content type or content encoding',
    statusIn: { video: 400 },
    codeIn: { video: 'invalid_request' },
  },
  request_timeout: { status: 408, doc: 'G 8', means: 'the request was not received in time' },
  headers_too_large: { status: 431, doc: 'G 8', means: 'the request headers are too large' },
  conflict: { status: 409, doc: 'G 7', means: 'the request conflicts with another one', retry: false },

  // Failures of providers and of the gateway
  no_upstream_account: {
    status: 503,
    doc: 'G 7',
    means: 'no upstream account is configured for this group and endpoint; the operator must add one',
    retry: false,
    typeIn: { openai: 'service_unavailable_error' },
  },
  model_not_priced: {
    status: 503,
    doc: 'G 7',
    means: 'the model has no price, so it cannot be used; the operator must set one',
    retry: false,
    typeIn: { openai: 'service_unavailable_error' },
  },
  server_is_overloaded: {
    status: 503,
    doc: 'G 7',
    means: 'no upstream account can take the request now; try again shortly',
    statusIn: { messages: 529 },
    typeIn: { openai: 'service_unavailable_error' },
  },
  upstream_error: {
    status: 502,
    doc: 'G 7',
    means: 'the provider failed, or closed the connection in the middle of its response',
  },
  upstream_timeout: { status: 504, doc: 'G 7', means: 'the provider did not respond in time' },
  internal_error: {
    status: 500,
    doc: 'G 7',
    means: 'an internal error of the gateway; report the request id to the operator',
  },
  shutting_down: {
    status: 503,
    doc: 'G 7',
    means: 'this replica is stopping; send the request again',
    statusIn: { messages: 529 },
  },

  // Document 2
  invalid_asset_reference: {
    status: 400,
    doc: 'V 7',
    means: 'a malformed asset:// reference, or an id that is not ours',
  },
  asset_kind_mismatch: { status: 400, doc: 'V 7', means: 'the type of the asset does not match the content item' },
  unsupported_video_parameter: {
    status: 400,
    doc: 'V 7',
    means: 'the model does not accept this field, role, resolution or combination',
  },
  public_catalog_not_supported: { status: 400, doc: 'V 7', means: 'the model has no catalog of public characters' },
  task_cancel_not_supported: { status: 400, doc: 'V 7', means: 'the model cannot cancel queued tasks' },
  task_delete_not_supported: {
    status: 400,
    doc: 'V 3',
    means: 'records of finished tasks cannot be deleted for this model',
    only: 'B',
  },
  task_not_cancellable: {
    status: 409,
    doc: 'V 3',
    means: 'a running task cannot be cancelled',
    only: 'A',
    retry: false,
  },
  asset_groups_not_supported: { status: 400, doc: 'V 7', means: 'HC models have no asset groups', only: 'HC' },
  asset_delete_not_supported: { status: 400, doc: 'V 7', means: 'assets of this variant cannot be deleted', only: 'B' },
  asset_group_delete_not_supported: {
    status: 400,
    doc: 'V 7',
    means: 'asset groups of this variant cannot be deleted',
    only: 'B',
  },
  real_person_auth_not_supported: {
    status: 400,
    doc: 'V 7',
    means: 'this variant has no real-person authorization',
    only: 'B',
  },
  task_not_found: { status: 404, doc: 'V 7', means: "missing, or not the caller's" },
  asset_not_found: { status: 404, doc: 'V 7', means: "missing, or not the caller's" },
  asset_group_not_found: { status: 404, doc: 'V 7', means: "missing, or not the caller's" },
  authorization_session_not_found: { status: 404, doc: 'V 7', means: "missing, or not the caller's", only: 'A' },
  public_character_not_found: { status: 404, doc: 'V 7', means: 'missing, or not available for the model' },
  result_links_disabled: {
    status: 400,
    doc: 'V 4.6 r3',
    means: 'this installation gives no signed links; read results with the API key',
  },
  callback_not_found: { status: 404, doc: 'V 6', means: "missing, or not the caller's" },
  callback_pending: { status: 409, doc: 'V 6', means: 'an attempt to deliver the callback is running', retry: false },
  last_frame_not_found: { status: 404, doc: 'V 4.6 r2', means: 'the task has no last frame' },
  idempotency_conflict: {
    status: 409,
    doc: 'V 7',
    means: 'the same Idempotency-Key was used for another request',
    retry: false,
  },
  idempotency_in_progress: {
    status: 409,
    doc: 'V 7',
    means: 'the first request under this Idempotency-Key is still running',
    retry: true,
  },
  asset_not_ready: { status: 409, doc: 'V 7', means: 'the asset is not active yet', retry: false },
  asset_in_use: { status: 409, doc: 'V 7', means: 'the asset is used by an unfinished task', only: 'A', retry: false },
  asset_group_not_empty: { status: 409, doc: 'V 7', means: 'the group still contains assets', only: 'A', retry: false },
  asset_binding_conflict: {
    status: 409,
    doc: 'V 7',
    means: 'the assets of the request cannot be combined',
    retry: false,
  },
  asset_channel_mismatch: {
    status: 409,
    doc: 'V 7',
    means: 'the model and the asset belong to different spaces',
    retry: false,
  },
  asset_binding_unavailable: { status: 409, doc: 'V 7', means: 'the asset cannot be used now', retry: true },
  asset_route_group_unavailable: {
    status: 409,
    doc: 'V 7',
    means: 'no service group of the key supports this',
    retry: false,
  },
  asset_route_group_misconfigured: {
    status: 409,
    doc: 'V 7',
    means: 'the service group is not set up for this',
    retry: false,
  },
  asset_invalid: {
    status: [409, 410],
    doc: 'V 7',
    means: 'the asset has become invalid; create a new one',
    retry: false,
  },
  video_not_ready: { status: 409, doc: 'V 4.6', means: 'the video is not finished', retry: false },
  authorization_session_expired: { status: 410, doc: 'V 7', means: 'the authorization session has expired', only: 'A' },
  video_result_expired: { status: 410, doc: 'V 7', means: 'the result has expired and cannot be fetched again' },
  asset_upstream_unavailable: { status: [502, 503], doc: 'V 7', means: 'the asset service is temporarily unavailable' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
export const errorRow = (code: ErrorCode): ErrorRow => ERRORS[code];
export const usualStatus = ({ status }: ErrorRow): number => (typeof status === 'number' ? status : status[0]);

/** Of messages and of document 2. */
const COMMON_TYPES = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
} as const;

/**
 * The word each dialect puts in `error.type` (or `status`) for an HTTP status; a missing one falls back to the 4xx/5xx
 * default.
 */
export const ERROR_TYPES: Readonly<Record<ErrorFormat, Readonly<Record<number, string>>>> = {
  messages: {
    ...COMMON_TYPES,
    413: 'request_too_large',
    500: 'api_error',
    504: 'timeout_error',
    529: 'overloaded_error',
  },
  openai: {
    400: 'invalid_request_error',
    403: 'permission_error',
    429: 'rate_limit_error',
    500: 'server_error',
    503: 'service_unavailable_error',
  },
  generate: {
    400: 'INVALID_ARGUMENT',
    401: 'UNAUTHENTICATED',
    402: 'RESOURCE_EXHAUSTED',
    403: 'PERMISSION_DENIED',
    404: 'NOT_FOUND',
    409: 'ABORTED',
    429: 'RESOURCE_EXHAUSTED',
    499: 'CANCELLED',
    500: 'INTERNAL',
    501: 'UNIMPLEMENTED',
    502: 'UNAVAILABLE',
    503: 'UNAVAILABLE',
    504: 'DEADLINE_EXCEEDED',
  },
  video: {
    ...COMMON_TYPES,
    410: 'gone_error',
    500: 'server_error',
  },
};

export function errorType(envelope: ErrorFormat, status: number): string {
  const types = ERROR_TYPES[envelope];
  return types[status] ?? types[status < 500 ? 400 : 500] ?? 'error';
}

/** The status of an error of the messages dialect whose wire has only a type, as in a stream. */
export const statusOfMessagesError = (type: string): number | undefined => {
  const known = Object.entries(ERROR_TYPES.messages).find(([, word]) => word === type);
  return known && Number(known[0]);
};

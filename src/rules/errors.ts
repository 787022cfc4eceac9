/** The error catalogue of both documents (G 7, V 7). A code never changes its meaning: docs/adr/0005-stable-codes.md. docs/errors.md is printed from here. */
import type { ErrorFormat } from './endpoints.ts';
import type { VideoVariant } from './groups.ts';
import { pairsIn, rowsIn } from './notation.ts';

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

/** `only=A`, `retry`, `final` for no retry, or `status`, `code` or `type` in one format, such as `status.messages=529`. */
function moreOf(text: string): Omit<ErrorRow, 'status' | 'doc' | 'means'> {
  const more: Record<string, unknown> = {};
  for (const word of text.split(' ')) {
    const [, what = word, format, value = ''] = /^(\w+)(?:\.(\w+))?=(\w+)$/.exec(word) ?? [];
    if (format) more[`${what}In`] = { [format]: what === 'status' ? Number(value) : value };
    else if (what === 'only') more.only = value;
    else more.retry = what === 'retry';
  }
  return more;
}

/** Status, document, meaning and what else is known. Document 2 has one code for what is wrong with a request. */
export const ERRORS = rowsIn(
  `
invalid_api_key: 401 | G 5, V 5 | no key, a mistyped key, or a key that is unknown, revoked or expired | type.openai=invalid_request_error
invalid_admin_token: 401 | admin | no admin token, or not the current one; API keys are not accepted by the admin API | type.openai=authentication_error
not_signed_in: 401 | console | no session, or one that has ended; sign in again | type.openai=authentication_error
invalid_credentials: 401 | console | the e-mail address or the password is wrong | type.openai=authentication_error
invalid_link: 400 | console | the one-time link is unknown, used or expired; ask an operator for a new one
not_permitted: 403 | console | the role of the signed-in person does not allow this
cross_site_request: 403 | console | a request by cookie without the CSRF token of its session, or from another origin
key_not_allowed: 403 | G 5 | the key may not be used from this address or for this purpose
model_not_allowed: 403 | G 5, V 4.2 | the key may not use this model
insufficient_balance: 402 | G 7 | the balance does not cover the maximum cost of the request; add credit, or send the lower limits that the message names | final type.openai=insufficient_quota
rate_limit_exceeded: 429 | G 8 | too many requests or tokens; wait as long as retry-after says
spend_limit_reached: 429 | G 8 | the key or its user has reached its spend limit of the day or month; retry-after says when the next period begins | final
not_found: 404 | G 9 | unknown path
method_not_allowed: 405 | G 9 | the path exists, but not with this method; see the allow header
endpoint_not_supported: 404 | G 7 r2 | keys of this group cannot use this endpoint
upgrade_required: 426 | G 4.1 | GET on this path opens a WebSocket; send an upgrade request, or POST
not_implemented: 501 | G 4.1 | this server does not offer the operation yet | final
model_not_found: 404 | G 7 | the key's group has no model with that name
response_not_found: 404 | G 4.4 | the caller has no stored response with that id
file_not_found: 404 | files | the caller has no file with that id
batch_not_found: 404 | batches | the caller has no batch with that id
cache_not_found: 404 | objects | the caller has no cached content with that id
container_not_found: 404 | objects | the caller has no container with that id
conversation_not_found: 404 | conversations | the caller has no conversation with that id, or it has no such item
request_not_found: 404 | G 4.7 | the key made no call with that id, or the call has not ended
previous_response_not_found: 400 | G 4.4 | previous_response_id is not the id of a response of the caller
object_not_found: 404 | admin | no object with that id exists
invalid_request: 400 | G 7, V 7 | JSON, a field, a range or an address is invalid
invalid_value: 400 | G 7 | a field has a value that is not allowed
unsupported_parameter: 400 | G 7 | the field is not supported for this model or group
wrong_dialect: 400 | G 4.1 r2 | the body is in another dialect than the path
context_length_exceeded: 400 | G 7 | the input is longer than the model can read
content_policy_violation: 400 | G 7 | the provider rejects the content of the request
invalid_encrypted_content: 400 | G 7 | opaque reasoning state was rejected by the provider
request_too_large: 413 | G 8 | the body is larger than the endpoint accepts | status.video=400 code.video=invalid_request
request_too_complex: 400 | G 8 | reading the request takes more work than the gateway spends on one; send fewer or smaller parts | code.video=invalid_request
unsupported_media_type: 415 | G 5 r2 | the endpoint does not accept this content type or content encoding | status.video=400 code.video=invalid_request
request_timeout: 408 | G 8 | the request was not received in time
headers_too_large: 431 | G 8 | the request headers are too large
conflict: 409 | G 7 | the request conflicts with another one | final
no_upstream_account: 503 | G 7 | no upstream account is configured for this group and endpoint; the operator must add one | final type.openai=service_unavailable_error
model_not_priced: 503 | G 7 | the model has no price, so it cannot be used; the operator must set one | final type.openai=service_unavailable_error
server_is_overloaded: 503 | G 7 | no upstream account can take the request now; try again shortly | status.messages=529 type.openai=service_unavailable_error
upstream_error: 502 | G 7 | the provider failed, or closed the connection in the middle of its response
upstream_timeout: 504 | G 7 | the provider did not respond in time
internal_error: 500 | G 7 | an internal error of the gateway; report the request id to the operator
shutting_down: 503 | G 7 | this replica is stopping; send the request again | status.messages=529
invalid_asset_reference: 400 | V 7 | a malformed asset:// reference, or an id that is not ours
asset_kind_mismatch: 400 | V 7 | the type of the asset does not match the content item
unsupported_video_parameter: 400 | V 7 | the model does not accept this field, role, resolution or combination
public_catalog_not_supported: 400 | V 7 | the model has no catalog of public characters
task_cancel_not_supported: 400 | V 7 | the model cannot cancel queued tasks
task_delete_not_supported: 400 | V 3 | records of finished tasks cannot be deleted for this model | only=B
task_not_cancellable: 409 | V 3 | a running task cannot be cancelled | only=A final
asset_groups_not_supported: 400 | V 7 | HC models have no asset groups | only=HC
asset_delete_not_supported: 400 | V 7 | assets of this variant cannot be deleted | only=B
asset_group_delete_not_supported: 400 | V 7 | asset groups of this variant cannot be deleted | only=B
real_person_auth_not_supported: 400 | V 7 | this variant has no real-person authorization | only=B
task_not_found: 404 | V 7 | missing, or not the caller's
asset_not_found: 404 | V 7 | missing, or not the caller's
asset_group_not_found: 404 | V 7 | missing, or not the caller's
authorization_session_not_found: 404 | V 7 | missing, or not the caller's | only=A
public_character_not_found: 404 | V 7 | missing, or not available for the model
result_links_disabled: 400 | V 4.6 r3 | this installation gives no signed links; read results with the API key
callback_not_found: 404 | V 6 | missing, or not the caller's
callback_pending: 409 | V 6 | an attempt to deliver the callback is running | final
last_frame_not_found: 404 | V 4.6 r2 | the task has no last frame
idempotency_conflict: 409 | V 7 | the same Idempotency-Key was used for another request | final
idempotency_in_progress: 409 | V 7 | the first request under this Idempotency-Key is still running | retry
asset_not_ready: 409 | V 7 | the asset is not active yet | final
asset_in_use: 409 | V 7 | the asset is used by an unfinished task | only=A final
asset_group_not_empty: 409 | V 7 | the group still contains assets | only=A final
asset_binding_conflict: 409 | V 7 | the assets of the request cannot be combined | final
asset_channel_mismatch: 409 | V 7 | the model and the asset belong to different spaces | final
asset_binding_unavailable: 409 | V 7 | the asset cannot be used now | retry
asset_route_group_unavailable: 409 | V 7 | no service group of the key supports this | final
asset_route_group_misconfigured: 409 | V 7 | the service group is not set up for this | final
asset_invalid: 409 410 | V 7 | the asset has become invalid; create a new one | final
video_not_ready: 409 | V 4.6 | the video is not finished | final
authorization_session_expired: 410 | V 7 | the authorization session has expired | only=A
video_result_expired: 410 | V 7 | the result has expired and cannot be fetched again
asset_upstream_unavailable: 502 503 | V 7 | the asset service is temporarily unavailable
`,
  ([status = '', doc = '', means = '', more]): ErrorRow => {
    const [usual = 0, other] = status.split(' ').map(Number);
    return { status: other ? [usual, other] : usual, doc, means, ...(more && moreOf(more)) };
  },
);

export type ErrorCode = keyof typeof ERRORS;
export const errorRow = (code: ErrorCode): ErrorRow => ERRORS[code];
export const usualStatus = ({ status }: ErrorRow): number => (typeof status === 'number' ? status : status[0]);

const TYPES = [
  '400:invalid_request_error 401:authentication_error 402:billing_error 403:permission_error 404:not_found_error',
  '409:conflict_error 429:rate_limit_error',
];

/** The word each dialect puts in `error.type` (or `status`) for an HTTP status; a missing one falls back to the 4xx/5xx default. */
export const ERROR_TYPES: Readonly<Record<ErrorFormat, Readonly<Record<number, string>>>> = {
  messages: pairsIn(...TYPES, '413:request_too_large 500:api_error 504:timeout_error 529:overloaded_error'),
  openai: pairsIn(
    '400:invalid_request_error 403:permission_error 429:rate_limit_error 500:server_error 503:service_unavailable_error',
  ),
  generate: pairsIn(
    '400:INVALID_ARGUMENT 401:UNAUTHENTICATED 402:RESOURCE_EXHAUSTED 403:PERMISSION_DENIED 404:NOT_FOUND 409:ABORTED',
    '429:RESOURCE_EXHAUSTED 499:CANCELLED 500:INTERNAL 501:UNIMPLEMENTED 502:UNAVAILABLE 503:UNAVAILABLE',
    '504:DEADLINE_EXCEEDED',
  ),
  video: pairsIn(...TYPES, '410:gone_error 500:server_error'),
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

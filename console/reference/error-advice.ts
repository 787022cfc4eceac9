/** What a caller does about an error (G 7, V 7). Codes that only people and the admin token get have no row. */
import type { ErrorCode } from '../../src/rules/errors.ts';

type AdminCode =
  | 'invalid_admin_token'
  | 'not_signed_in'
  | 'invalid_credentials'
  | 'invalid_link'
  | 'not_permitted'
  | 'cross_site_request'
  | 'object_not_found';

const OWN_ID = 'check the id, and use a key of the user who made the object';
const OTHER_MODEL = 'use a model of another variant, or leave this step out';
const ASK = 'ask your operator, with the `x-request-id` of the response';

export const ERROR_ADVICE: Readonly<Record<Exclude<ErrorCode, AdminCode>, string>> = {
  invalid_api_key: 'send a valid key as `Authorization: Bearer`, and unset keys of providers that your client may find',
  key_not_allowed: 'call from an address and an endpoint that the key allows, or ask your operator to change the key',
  model_not_allowed: 'choose a model of `GET /v1/models`, or ask your operator to allow this one for the key',
  insufficient_balance: 'add credit, or send a smaller output limit, fewer images or a shorter video',
  rate_limit_exceeded: 'wait as long as `retry-after` says, and send fewer requests at once',
  spend_limit_reached: 'wait for the next day or month, or ask your operator to raise the limit',
  not_found:
    'check the path: OpenAI clients need `/v1` in their base URL, Anthropic and Google clients must not have it',
  method_not_allowed: 'use a method of the `allow` header',
  endpoint_not_supported: 'use a key of a group that serves the endpoint, or the endpoint of the style of your key',
  upgrade_required: 'open a WebSocket, or send POST',
  not_implemented: 'do without the operation',
  model_not_found: 'choose a model of `GET /v1/models`',
  response_not_found: OWN_ID,
  file_not_found: OWN_ID,
  batch_not_found: OWN_ID,
  cache_not_found: OWN_ID,
  container_not_found: OWN_ID,
  conversation_not_found: OWN_ID,
  request_not_found:
    'use the `x-request-id` of a response, with the key that sent the request, once the call has ended',
  previous_response_not_found: 'send the whole conversation instead of `previous_response_id`',
  invalid_request: 'change the field that the message names',
  invalid_value: 'send the nearest valid value, which the message names',
  unsupported_parameter: 'leave the field out, or use a model or group that supports it',
  wrong_dialect: 'send the body to the path of its dialect, which the message names',
  context_length_exceeded: 'send a shorter conversation, or use a model with a larger context',
  content_policy_violation: 'change the prompt or the files; the same request is refused again',
  invalid_encrypted_content: 'remove the reasoning items of earlier turns, and send the request again',
  request_too_large: 'send smaller files, or fewer of them',
  request_too_complex: 'send fewer turns, parts or tools',
  unsupported_media_type: 'send `application/json`, or the form that the endpoint describes',
  request_timeout: 'send the request again over a faster connection',
  headers_too_large: 'send fewer or shorter headers',
  conflict: 'wait until the other request has ended, then decide again',
  no_upstream_account: ASK,
  model_not_priced: ASK,
  server_is_overloaded: 'send the request again after `retry-after`, with a growing pause',
  upstream_error: 'send the request again; if it fails again, ask your operator with the `x-request-id`',
  upstream_timeout: 'stream the reply, ask for less, or send the request again',
  internal_error: ASK,
  shutting_down: 'send the request again',
  invalid_asset_reference: 'refer to an asset as `asset://` and its id',
  asset_kind_mismatch: 'use the asset in a content item of its own type',
  unsupported_video_parameter: 'leave the field out, or send a value that the message names',
  public_catalog_not_supported: 'use a model with public characters',
  task_cancel_not_supported: 'let the task end, or use a model whose tasks can be cancelled',
  task_delete_not_supported: 'leave the record; it disappears from lists by itself',
  task_not_cancellable: 'let the task end',
  asset_groups_not_supported: OTHER_MODEL,
  asset_delete_not_supported: OTHER_MODEL,
  asset_group_delete_not_supported: OTHER_MODEL,
  real_person_auth_not_supported: OTHER_MODEL,
  task_not_found: OWN_ID,
  asset_not_found: OWN_ID,
  asset_group_not_found: OWN_ID,
  authorization_session_not_found: OWN_ID,
  public_character_not_found: 'choose a character of `GET /v1/public-characters` for the model',
  result_links_disabled: 'read the result with the API key',
  callback_not_found: OWN_ID,
  callback_pending: 'wait until the delivery has ended',
  last_frame_not_found: 'create the task with `return_last_frame: true`',
  idempotency_conflict: 'use another `Idempotency-Key` for another body',
  idempotency_in_progress: 'send the same request again after `retry-after`',
  asset_not_ready: 'wait until the asset is active: `GET /v1/assets/{asset_id}`',
  asset_in_use: 'wait until the tasks that use the asset have ended',
  asset_group_not_empty: 'delete the assets of the group first',
  asset_binding_conflict: 'use assets of one space in a request',
  asset_channel_mismatch: 'use a model of the space of the asset, or create the asset for this model',
  asset_binding_unavailable: 'try again later, or create the asset anew',
  asset_route_group_unavailable: ASK,
  asset_route_group_misconfigured: ASK,
  asset_invalid: 'create a new asset',
  video_not_ready: 'read the task until it has succeeded',
  authorization_session_expired: 'create a new session',
  video_result_expired: 'create a new task; save results within their time',
  asset_upstream_unavailable: 'send the request again after a pause',
};

/** Error codes by what an operation does; the reference lists them. Those of document 2 are in video-errors.ts. */
import type { ErrorCode } from '../../src/rules/index.ts';
import { words } from '../../src/rules/index.ts';

export const OPERATION_ERRORS = {
  /** `invalid_request`: also the HTTP of a request may be malformed. */
  every: words('invalid_request internal_error server_is_overloaded shutting_down'),
  /** Needs an API key. */
  key: words('invalid_api_key key_not_allowed rate_limit_exceeded'),
  /** Keys of some group cannot use it. */
  refused: words('endpoint_not_supported'),
  query: words('invalid_request invalid_value'),
  body: words(
    'invalid_request invalid_value unsupported_parameter request_too_large request_too_complex',
    'unsupported_media_type request_timeout',
  ),
  /** Names a model, and a provider responds. */
  provider: words(
    'wrong_dialect context_length_exceeded content_policy_violation invalid_encrypted_content model_not_allowed',
    'model_not_found no_upstream_account upstream_error upstream_timeout',
  ),
  metered: words('insufficient_balance spend_limit_reached model_not_priced'),
  /** Reads or continues stored responses. */
  stored: words('response_not_found previous_response_not_found'),
  model: words('model_not_found'),
  request: words('request_not_found'),
  /** Reads a file, or names one. */
  files: words('file_not_found'),
  /** Names a conversation. */
  conversations: words('conversation_not_found'),
  /** Names a cached content. */
  caches: words('cache_not_found'),
  containers: words('container_not_found'),
  /** Names a batch. */
  batches: words('batch_not_found'),
  socket: words('upgrade_required invalid_request'),
  /** Of the admin API. */
  operator: words('invalid_admin_token not_signed_in not_permitted cross_site_request rate_limit_exceeded'),
  /** Of a person in the console. */
  session: words('not_signed_in not_permitted rate_limit_exceeded'),
  /** By cookie, and changes something. */
  script: words('cross_site_request'),
  /** Names an object in its path or body. */
  object: words('object_not_found'),
  change: words('conflict not_permitted idempotency_conflict idempotency_in_progress'),
  signIn: words('invalid_credentials invalid_link cross_site_request rate_limit_exceeded'),
  /** A file, or a page that this server does not offer. */
  file: words('not_found'),
  metrics: words('invalid_api_key not_found'),
} as const satisfies Record<string, readonly ErrorCode[]>;

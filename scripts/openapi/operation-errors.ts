/** Error codes by what an operation does; the reference lists them. Those of document 2 are in video-errors.ts. */
import type { ErrorCode } from '../../src/rules/index.ts';

export const OPERATION_ERRORS = {
  /** `invalid_request`: also the HTTP of a request may be malformed. */
  every: ['invalid_request', 'internal_error', 'server_is_overloaded', 'shutting_down'],
  /** Needs an API key. */
  key: ['invalid_api_key', 'key_not_allowed', 'rate_limit_exceeded'],
  /** Keys of some group cannot use it. */
  refused: ['endpoint_not_supported'],
  query: ['invalid_request', 'invalid_value'],
  body: [
    'invalid_request',
    'invalid_value',
    'unsupported_parameter',
    'request_too_large',
    'request_too_complex',
    'unsupported_media_type',
    'request_timeout',
  ],
  /** Names a model, and a provider responds. */
  provider: [
    'wrong_dialect',
    'context_length_exceeded',
    'content_policy_violation',
    'invalid_encrypted_content',
    'model_not_allowed',
    'model_not_found',
    'no_upstream_account',
    'upstream_error',
    'upstream_timeout',
  ],
  metered: ['insufficient_balance', 'spend_limit_reached', 'model_not_priced'],
  /** Reads or continues stored responses. */
  stored: ['response_not_found', 'previous_response_not_found'],
  model: ['model_not_found'],
  request: ['request_not_found'],
  /** Reads a file, or names one. */
  files: ['file_not_found'],
  /** Names a conversation. */
  conversations: ['conversation_not_found'],
  /** Names a cached content. */
  caches: ['cache_not_found'],
  containers: ['container_not_found'],
  /** Names a batch. */
  batches: ['batch_not_found'],
  socket: ['upgrade_required', 'invalid_request'],
  /** Of the admin API. */
  operator: ['invalid_admin_token', 'not_signed_in', 'not_permitted', 'cross_site_request', 'rate_limit_exceeded'],
  /** Of a person in the console. */
  session: ['not_signed_in', 'not_permitted', 'rate_limit_exceeded'],
  /** By cookie, and changes something. */
  script: ['cross_site_request'],
  /** Names an object in its path or body. */
  object: ['object_not_found'],
  change: ['conflict', 'not_permitted', 'idempotency_conflict', 'idempotency_in_progress'],
  signIn: ['invalid_credentials', 'invalid_link', 'cross_site_request', 'rate_limit_exceeded'],
  /** A file, or a page that this server does not offer. */
  file: ['not_found'],
  metrics: ['invalid_api_key', 'not_found'],
} as const satisfies Record<string, readonly ErrorCode[]>;

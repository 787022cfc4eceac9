/** Error codes that each task operation can return. V 7 explains them. */
import type { ErrorCode, OfferedVideoOperation } from '../../src/rules/index.ts';

const EVERY = [
  'invalid_request',
  'invalid_api_key',
  'key_not_allowed',
  'rate_limit_exceeded',
  'internal_error',
  'server_is_overloaded',
  'shutting_down',
] as const;

const CREATE = [
  ...EVERY,
  'unsupported_video_parameter',
  'invalid_asset_reference',
  'insufficient_balance',
  'model_not_allowed',
  'model_not_found',
  'file_not_found',
  'asset_not_found',
  'asset_kind_mismatch',
  'asset_invalid',
  'asset_not_ready',
  'asset_binding_conflict',
  'asset_channel_mismatch',
  'asset_binding_unavailable',
  'asset_route_group_unavailable',
  'asset_route_group_misconfigured',
  'public_character_not_found',
  'task_not_found',
  'request_timeout',
  'idempotency_conflict',
  'idempotency_in_progress',
  'no_upstream_account',
] as const;
/** Nothing is claimed, held or sent. */
const ESTIMATE = CREATE.filter(
  (code) =>
    !['insufficient_balance', 'task_not_found', 'no_upstream_account'].includes(code) && !code.startsWith('idem'),
);
const LIST = EVERY;
const READ = [...EVERY, 'task_not_found'] as const;
const DELETE = [...READ, 'task_cancel_not_supported', 'task_delete_not_supported', 'task_not_cancellable'] as const;

const RESULT = [...READ, 'video_not_ready', 'video_result_expired', 'upstream_error', 'upstream_timeout'] as const;

const ASSETS = [...LIST, 'asset_route_group_unavailable'] as const;
const CREATE_SESSION = [
  ...ASSETS,
  'model_not_allowed',
  'model_not_found',
  'request_timeout',
  'idempotency_conflict',
  'idempotency_in_progress',
  'asset_route_group_misconfigured',
  'asset_upstream_unavailable',
] as const;
const CREATE_ASSET_GROUP = [...CREATE_SESSION, 'asset_group_not_found'] as const;
const REFRESH_ASSET = [
  ...ASSETS,
  'asset_not_found',
  'asset_route_group_misconfigured',
  'asset_upstream_unavailable',
] as const;

export const VIDEO_OPERATION_ERRORS: Readonly<Record<OfferedVideoOperation, readonly ErrorCode[]>> = {
  'tasks.create': CREATE,
  'tasks.estimate': ESTIMATE,
  'tasks.list': [...LIST, 'result_links_disabled'],
  'tasks.get': [...READ, 'result_links_disabled'],
  'tasks.delete': DELETE,
  'videos.create': CREATE,
  'videos.estimate': ESTIMATE,
  'videos.list': LIST,
  'videos.get': READ,
  'videos.delete': DELETE,
  'videos.content': [...RESULT, 'unsupported_video_parameter'],
  'videos.lastFrame': [...RESULT, 'last_frame_not_found'],
  'links.create': [...READ, 'video_not_ready', 'result_links_disabled'],
  'links.revoke': READ,
  'callbacks.getDefault': [...EVERY, 'callback_not_found'],
  'callbacks.setDefault': EVERY,
  'callbacks.removeDefault': EVERY,
  'callbacks.list': LIST,
  'callbacks.get': [...EVERY, 'callback_not_found'],
  'callbacks.redeliver': [...EVERY, 'callback_not_found', 'callback_pending'],
  'callbacks.test': READ,
  'assetGroups.create': [...CREATE_ASSET_GROUP, 'asset_groups_not_supported'],
  'assetGroups.list': ASSETS,
  'assetGroups.get': [...EVERY, 'asset_group_not_found'],
  'assetGroups.delete': [
    ...ASSETS,
    'asset_group_not_found',
    'asset_group_not_empty',
    'asset_group_delete_not_supported',
  ],
  'assets.create': [
    ...CREATE_ASSET_GROUP,
    'file_not_found',
    'asset_not_found',
    'asset_channel_mismatch',
    'asset_binding_unavailable',
  ],
  'assets.list': ASSETS,
  'assets.get': [...EVERY, 'asset_not_found'],
  'assets.refresh': REFRESH_ASSET,
  'assets.delete': [...ASSETS, 'asset_not_found', 'asset_in_use', 'asset_delete_not_supported'],
  'sessions.create': [...CREATE_SESSION, 'real_person_auth_not_supported', 'authorization_session_not_found'],
  'sessions.get': [...EVERY, 'authorization_session_not_found', 'authorization_session_expired'],
  'characters.list': [...LIST, 'public_catalog_not_supported', 'asset_route_group_unavailable'],
  'characters.get': [...LIST, 'public_character_not_found', 'asset_route_group_unavailable'],
};

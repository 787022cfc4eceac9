/**
 * The public API of another Dragoman: the same tasks,
 * with our neutral codes, and results behind the account's credential.
 */
import type { Account } from '../../../catalog/index.ts';
import { accountError, contentError, rateError, requestError, type VideoErrorRow } from '../error-rows.ts';
import { ark, reportedTask, requestsAt } from './ark.ts';
import type { VideoFamily } from './family.ts';

const TASKS_PATH = '/api/v3/contents/generations/tasks';

const ERRORS: readonly VideoErrorRow[] = [
  contentError(/^input_content_rejected$/, 'input_content_rejected'),
  contentError(/^output_content_rejected$/, 'output_content_rejected'),
  requestError(/^unsupported_video_parameter$/, 'unsupported_video_parameter'),
  requestError(/^(?:invalid_request|invalid_video_parameter)$/, 'invalid_request'),
  requestError(
    /^(?:asset_not_found|asset_invalid|invalid_asset_reference|public_character_not_found)$/,
    'asset_invalid',
  ),
  requestError(/^asset_(?:kind_mismatch|binding_conflict|channel_mismatch)$/, 'asset_binding_conflict'),
  {
    matches: /^asset_(?:not_ready|binding_unavailable)$/,
    rejection: { kind: 'request', code: 'asset_binding_unavailable', isTransient: true },
    task: 'upstream_error',
  },
  accountError(/^invalid_api_key/, { kind: 'credential' }),
  accountError(/^insufficient_balance/, { kind: 'quota_exhausted' }),
  accountError(/^(?:asset_route_group_\w+|no_upstream_account)$/),
  rateError(/^(?:server_is_overloaded|upstream_rate_limited)$/),
  { ...accountError(/^submission_failed$/), task: 'submission_failed' },
];

export const dragoman: VideoFamily = {
  ...ark,
  ...requestsAt(TASKS_PATH),
  // It rejects unknown fields.
  takesSafetyIdentifier: false,
  returnsExpiry: false,
  takesIdempotencyKey: true,
  ambiguousStatuses: new Set([408, 425]),
  // A request with our key arrived before: it may have created the task.
  ambiguousCodes: /^idempotency_/,
  definitiveCodes: /^(?:server_is_overloaded|no_upstream_account)$/,
  confirmsCancellation: false,
  reportsToPrivateUrls: false,
  errors: ERRORS,
  readTask(body, account) {
    const task = reportedTask(body);
    if (!task) return undefined;
    const { video, lastFrame } = ownResultUrls(account, task.id);
    return { ...task, videoUrl: task.videoUrl && video, lastFrameUrl: task.lastFrameUrl && lastFrame };
  },
  ownsResult: (url, { baseUrl }) => url?.origin === new URL(baseUrl).origin,
  hasOwnResults: true,
};

/** Addresses of the results of a task. Built here: its own links have its public address, which may be another. */
export const ownResultUrls = ({ baseUrl }: Pick<Account, 'baseUrl'>, upstreamId: string) => {
  const video = `${baseUrl}/v1/videos/${encodeURIComponent(upstreamId)}`;
  return { video: `${video}/content`, lastFrame: `${video}/last-frame` };
};

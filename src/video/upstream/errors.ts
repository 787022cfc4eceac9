/** Errors of the video provider, as data: what each code means for a create request and for a task that failed later. */
import type { ErrorCode, FaultKind, TaskErrorCode } from '../../rules/index.ts';

/** An error body of the provider. */
export interface ProviderError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly param: string | undefined;
}

export interface TaskError {
  readonly code: TaskErrorCode;
  readonly message: string;
  readonly type: 'invalid_request_error' | 'server_error';
}

/** What a rejected create means for the caller. */
export type CreateRejection =
  /** The request is at fault; the same request would be rejected again, unless the cause is transient. */
  | { readonly kind: 'request'; readonly code: ErrorCode; readonly isTransient?: boolean }
  /** The content is at fault: the task exists and has failed (V 4.10 r5). */
  | { readonly kind: 'content' }
  /** The provider takes no more requests now. */
  | { readonly kind: 'rate_limited' }
  /** Credential, quota or model of our own account. */
  | { readonly kind: 'account' };

interface Family {
  readonly matches: RegExp;
  readonly rejection: CreateRejection;
  readonly task: TaskErrorCode;
}

/** The first match decides. */
const FAMILIES: readonly Family[] = [
  {
    matches: /^(?:Input\w*SensitiveContentDetected|SensitiveContentDetected|\w*RiskDetection)/,
    rejection: { kind: 'content' },
    task: 'input_content_rejected',
  },
  { matches: /^Output\w*SensitiveContentDetected/, rejection: { kind: 'content' }, task: 'output_content_rejected' },
  {
    matches: /^InvalidParameter(?:\.(?:UnsupportedParameter|TaskType\w+))/,
    rejection: { kind: 'request', code: 'unsupported_video_parameter' },
    task: 'invalid_video_parameter',
  },
  {
    matches:
      /^(?:InvalidEndpoint|ModelNotOpen|OperationDenied|AccountOverdue|AccessDenied|Authentication|InvalidAccount)/,
    rejection: { kind: 'account' },
    task: 'upstream_error',
  },
  {
    matches: /^(?:InvalidParameter|MissingParameter|InvalidImageURL)/,
    rejection: { kind: 'request', code: 'invalid_request' },
    task: 'invalid_video_parameter',
  },
  {
    matches: /(?:RateLimit|QuotaExceeded|ServerOverloaded|RequestBurst|LimitExceeded|InflightBatchsize)/,
    rejection: { kind: 'rate_limited' },
    task: 'upstream_rate_limited',
  },
  // Codes of another Dragoman, which are neutral already.
  { matches: /^input_content_rejected$/, rejection: { kind: 'content' }, task: 'input_content_rejected' },
  { matches: /^output_content_rejected$/, rejection: { kind: 'content' }, task: 'output_content_rejected' },
  {
    matches: /^unsupported_video_parameter$/,
    rejection: { kind: 'request', code: 'unsupported_video_parameter' },
    task: 'invalid_video_parameter',
  },
  {
    matches: /^(?:invalid_request|invalid_video_parameter)$/,
    rejection: { kind: 'request', code: 'invalid_request' },
    task: 'invalid_video_parameter',
  },
  {
    matches: /^(?:asset_not_found|asset_invalid|invalid_asset_reference|public_character_not_found)$/,
    rejection: { kind: 'request', code: 'asset_invalid' },
    task: 'invalid_video_parameter',
  },
  {
    matches: /^asset_(?:kind_mismatch|binding_conflict|channel_mismatch)$/,
    rejection: { kind: 'request', code: 'asset_binding_conflict' },
    task: 'invalid_video_parameter',
  },
  {
    matches: /^asset_(?:not_ready|binding_unavailable)$/,
    rejection: { kind: 'request', code: 'asset_binding_unavailable', isTransient: true },
    task: 'upstream_error',
  },
  {
    matches: /^(?:asset_route_group_\w+|no_upstream_account)$/,
    rejection: { kind: 'account' },
    task: 'upstream_error',
  },
  {
    matches: /^(?:server_is_overloaded|upstream_rate_limited)$/,
    rejection: { kind: 'rate_limited' },
    task: 'upstream_rate_limited',
  },
  { matches: /^submission_failed$/, rejection: { kind: 'account' }, task: 'submission_failed' },
];

const BY_STATUS: Readonly<Record<number, CreateRejection>> = {
  401: { kind: 'account' },
  402: { kind: 'account' },
  403: { kind: 'account' },
  404: { kind: 'account' },
  429: { kind: 'rate_limited' },
};

/** Classifies a 4xx response to a create request. Statuses that leave the outcome open are not passed here. */
export function rejectionOf({ status, code }: ProviderError): CreateRejection {
  if (status === 429) return { kind: 'rate_limited' };
  const family = FAMILIES.find(({ matches }) => matches.test(code));
  if (family) return family.rejection;
  return BY_STATUS[status] ?? { kind: 'request', code: 'invalid_request' };
}

interface AccountFault {
  readonly kind: FaultKind;
  readonly cooldownMs?: number;
}

/** Codes that clearly blame the account. Any other rejection may concern one request only, so it starts no cooldown. */
const ACCOUNT_FAULTS: readonly (AccountFault & { readonly matches: RegExp })[] = [
  { matches: /^(?:Authentication|InvalidAccount|invalid_api_key)/, kind: 'credential' },
  { matches: /^(?:AccountOverdue|insufficient_balance)/, kind: 'quota_exhausted' },
  // The account lacks the model, which only the operator can change. Its other models stay in use.
  { matches: /^(?:InvalidEndpoint|ModelNotOpen)/, kind: 'failed', cooldownMs: 300_000 },
];

/** What a rejected create says about the account that rejected it. */
export function accountFaultOf(error: ProviderError): AccountFault {
  if (rejectionOf(error).kind === 'rate_limited') return { kind: 'rate_limited' };
  const { kind, cooldownMs } = ACCOUNT_FAULTS.find(({ matches }) => matches.test(error.code)) ?? { kind: 'forbidden' };
  return cooldownMs === undefined ? { kind } : { kind, cooldownMs };
}

const MESSAGES: Readonly<Record<TaskErrorCode, string>> = {
  input_content_rejected: 'The input was rejected by the content review.',
  output_content_rejected: 'The generated video was rejected by the content review.',
  invalid_video_parameter: 'The model does not accept the parameters of this task.',
  upstream_rate_limited: 'The provider was at capacity.',
  upstream_error: 'The provider failed to generate the video.',
  submission_failed: 'The task could not be submitted; it was not charged.',
  task_expired: 'The task did not finish in time; it was not charged.',
  task_cancelled: 'The task was cancelled; it was not charged.',
};
const CALLER_FAULTS: ReadonlySet<TaskErrorCode> = new Set<TaskErrorCode>([
  'input_content_rejected',
  'output_content_rejected',
  'invalid_video_parameter',
  'task_cancelled',
]);

export const taskError = (code: TaskErrorCode, detail?: string): TaskError => ({
  code,
  message: detail === undefined ? MESSAGES[code] : `${MESSAGES[code]} ${detail}`,
  type: CALLER_FAULTS.has(code) ? 'invalid_request_error' : 'server_error',
});

const PRIVACY_HINT =
  'It may show a real person: register the media as a private asset and reference it as asset://<asset_id>.';

/** The public error of a task that the provider failed. Names the content item, never the provider's request id. */
export function taskErrorFrom({ code, message }: Pick<ProviderError, 'code' | 'message'>): TaskError {
  const family = FAMILIES.find(({ matches }) => matches.test(code))?.task ?? 'upstream_error';
  const item = /content\[\d+\]/.exec(message)?.[0];
  const details = [
    ...(item !== undefined && family === 'input_content_rejected' ? [`Rejected item: ${item}.`] : []),
    ...(code.endsWith('.PrivacyInformation') || message.includes(PRIVACY_HINT) ? [PRIVACY_HINT] : []),
  ];
  return taskError(family, details.length === 0 ? undefined : details.join(' '));
}

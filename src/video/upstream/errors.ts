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
const family = (matches: RegExp, rejection: CreateRejection, task: TaskErrorCode): Family => ({
  matches,
  rejection,
  task,
});
const request = (code: ErrorCode, isTransient = false): CreateRejection => ({
  ...{ kind: 'request', code },
  ...(isTransient && { isTransient }),
});
const CONTENT = { kind: 'content' } as const;
const RATE_LIMITED = { kind: 'rate_limited' } as const;
const ACCOUNT = { kind: 'account' } as const;

/** The first match decides. */
const FAMILIES: readonly Family[] = [
  family(
    /^(?:Input\w*SensitiveContentDetected|SensitiveContentDetected|\w*RiskDetection)/,
    CONTENT,
    'input_content_rejected',
  ),
  family(/^Output\w*SensitiveContentDetected/, CONTENT, 'output_content_rejected'),
  family(
    /^InvalidParameter(?:\.(?:UnsupportedParameter|TaskType\w+))/,
    request('unsupported_video_parameter'),
    'invalid_video_parameter',
  ),
  family(
    /^(?:InvalidEndpoint|ModelNotOpen|OperationDenied|AccountOverdue|AccessDenied|Authentication|InvalidAccount)/,
    ACCOUNT,
    'upstream_error',
  ),
  family(
    /^(?:InvalidParameter|MissingParameter|InvalidImageURL)/,
    request('invalid_request'),
    'invalid_video_parameter',
  ),
  family(
    /(?:RateLimit|QuotaExceeded|ServerOverloaded|RequestBurst|LimitExceeded|InflightBatchsize)/,
    RATE_LIMITED,
    'upstream_rate_limited',
  ),
  // Codes of another Dragoman, which are neutral already.
  family(/^input_content_rejected$/, CONTENT, 'input_content_rejected'),
  family(/^output_content_rejected$/, CONTENT, 'output_content_rejected'),
  family(/^unsupported_video_parameter$/, request('unsupported_video_parameter'), 'invalid_video_parameter'),
  family(/^(?:invalid_request|invalid_video_parameter)$/, request('invalid_request'), 'invalid_video_parameter'),
  family(
    /^(?:asset_not_found|asset_invalid|invalid_asset_reference|public_character_not_found)$/,
    request('asset_invalid'),
    'invalid_video_parameter',
  ),
  family(
    /^asset_(?:kind_mismatch|binding_conflict|channel_mismatch)$/,
    request('asset_binding_conflict'),
    'invalid_video_parameter',
  ),
  family(/^asset_(?:not_ready|binding_unavailable)$/, request('asset_binding_unavailable', true), 'upstream_error'),
  family(/^(?:asset_route_group_\w+|no_upstream_account)$/, ACCOUNT, 'upstream_error'),
  family(/^(?:server_is_overloaded|upstream_rate_limited)$/, RATE_LIMITED, 'upstream_rate_limited'),
  family(/^submission_failed$/, ACCOUNT, 'submission_failed'),
];

const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 404]);

/** Classifies a 4xx response to a create request. Statuses that leave the outcome open are not passed here. */
export function rejectionOf({ status, code }: ProviderError): CreateRejection {
  if (status === 429) return RATE_LIMITED;
  const known = FAMILIES.find(({ matches }) => matches.test(code))?.rejection;
  return known ?? (ACCOUNT_STATUSES.has(status) ? ACCOUNT : request('invalid_request'));
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
  const rejected = FAMILIES.find(({ matches }) => matches.test(code))?.task ?? 'upstream_error';
  const item = /content\[\d+\]/.exec(message)?.[0];
  const details = [
    ...(item !== undefined && rejected === 'input_content_rejected' ? [`Rejected item: ${item}.`] : []),
    ...(code.endsWith('.PrivacyInformation') || message.includes(PRIVACY_HINT) ? [PRIVACY_HINT] : []),
  ];
  return taskError(rejected, details.length === 0 ? undefined : details.join(' '));
}

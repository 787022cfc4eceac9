/** What errors of video providers mean for callers, by the tables of their families. */
import type { TaskErrorCode } from '../../rules/index.ts';
import { ADAPTERS } from './adapters.ts';
import type { AccountFault, CreateRejection, ProviderError, VideoErrorRow } from './error-rows.ts';

export type { CreateRejection, ProviderError } from './error-rows.ts';

export interface TaskError {
  readonly code: TaskErrorCode;
  readonly message: string;
  readonly type: 'invalid_request_error' | 'server_error';
}

/** Families have no code in common, so that one table serves tasks whose account is gone as well. */
const ROWS = Object.values(ADAPTERS).flatMap(({ errors }) => errors);
const rowOf = (code: string): VideoErrorRow | undefined => ROWS.find(({ matches }) => matches.test(code));

const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 404]);

/** Classifies a 4xx response to a create request. Statuses that leave the outcome open are not passed here. */
export function rejectionOf({ status, code }: ProviderError): CreateRejection {
  if (status === 429) return { kind: 'rate_limited' };
  const unknown: CreateRejection = ACCOUNT_STATUSES.has(status)
    ? { kind: 'account' }
    : { kind: 'request', code: 'invalid_request' };
  return rowOf(code)?.rejection ?? unknown;
}

/** What a rejected create says about the account that rejected it. */
export function accountFaultOf(error: ProviderError): AccountFault {
  if (rejectionOf(error).kind === 'rate_limited') return { kind: 'rate_limited' };
  return rowOf(error.code)?.fault ?? { kind: 'forbidden' };
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
  const rejected = rowOf(code)?.task ?? 'upstream_error';
  const item = /content\[\d+\]/.exec(message)?.[0];
  const details = [
    ...(item !== undefined && rejected === 'input_content_rejected' ? [`Rejected item: ${item}.`] : []),
    ...(code.endsWith('.PrivacyInformation') || message.includes(PRIVACY_HINT) ? [PRIVACY_HINT] : []),
  ];
  return taskError(rejected, details.length === 0 ? undefined : details.join(' '));
}

/**
 * What the errors of providers mean, by dialect: the first matching row classifies an attempt (faults.ts); an error
 * without a row is a failure of the provider.
 */
import { isCredentialError, type ProviderFamily } from './credential-errors.ts';
import type { ErrorCode } from './errors.ts';
import type { FaultKind } from './faults.ts';
import type { Dialect } from './groups.ts';

export interface ProviderReport {
  /** 0 where there is none, as in a stream. */
  readonly status: number;
  /** Codes, status names and reasons, as the body spells them. */
  readonly codes: readonly string[];
  /** Types of errors, where a dialect has them beside codes. */
  readonly types?: readonly string[];
  readonly message: string;
  /** False for a page of a proxy or firewall in front of the provider. */
  readonly isOwn: boolean;
  readonly namesTime?: boolean;
}

/** A row matches when all of its conditions hold; of `codes`, `types` and `message` one is enough. */
export interface ProviderErrorRow {
  readonly kind: FaultKind;
  /** The client's error code, for faults of the request; by default that of the kind. */
  readonly code?: ErrorCode;
  readonly status?: readonly number[] | '4xx' | '5xx';
  /** Whether the body must be the provider's own error, or must not. */
  readonly own?: boolean;
  /** Only errors that name no time to come back. */
  readonly timeless?: true;
  readonly codes?: readonly string[] | RegExp;
  readonly types?: readonly string[];
  readonly message?: RegExp;
  /** The message must match as well. */
  readonly where?: RegExp;
}

/** Stands for the rows of credential-errors.ts. */
const CREDENTIAL: ProviderErrorRow = { kind: 'credential' };
const FAILED: ProviderErrorRow = { kind: 'failed' };
const request = (code: ErrorCode, when: Omit<ProviderErrorRow, 'kind' | 'code'>): ProviderErrorRow => ({
  kind: 'request',
  code,
  ...when,
});

const CHAT: readonly ProviderErrorRow[] = [
  request('context_length_exceeded', {
    codes: ['context_length_exceeded'],
    // The second line: in the words of xAI, llama.cpp, Moonshot, DashScope and LM Studio.
    message: new RegExp(
      'exceeds the context window|maximum context length|' +
        'maximum prompt length|exceeds the available context size|exceeded model token limit|Range of input length should be|context the overflows',
    ),
  }),
  {
    kind: 'opaque_rejected',
    codes: ['invalid_encrypted_content'],
    message: /Encrypted content item_id did not match|without its required following item|Items are not persisted/,
  },
  { kind: 'opaque_rejected', status: [400], message: /thought_signature|hought signature/ },
  { kind: 'quota_exhausted', status: [402], own: true },
  { kind: 'quota_exhausted', codes: ['insufficient_quota', 'credit_balance_exhausted'] },
  { kind: 'overloaded', status: [503, 529] },
  { kind: 'overloaded', codes: ['slow_down', 'server_is_overloaded'] },
  { kind: 'rate_limited', status: [429] },
  { kind: 'rate_limited', codes: ['rate_limit_exceeded'] },
  request('content_policy_violation', { codes: ['content_policy_violation', 'moderation_blocked', 'content_filter'] }),
  { kind: 'model', codes: ['model_not_found', 'unsupported_country_region_territory'] },
  request('invalid_request', { status: [404], message: /\bfile\b/i }),
  // The account lacks the endpoint or the model; another account may have it.
  { kind: 'model', status: [404], own: true },
  CREDENTIAL,
  { kind: 'model', status: [403], message: /\bmodel\b/i },
  { kind: 'forbidden', status: [401, 402, 403] },
  { kind: 'timeout', status: [504] },
  { kind: 'failed', status: [408] },
  { kind: 'failed', status: '5xx' },
  request('request_too_large', { status: [413] }),
  request('unsupported_parameter', { codes: ['unsupported_parameter', 'unsupported_value'] }),
  request('invalid_value', { codes: ['invalid_value', 'string_above_max_length'] }),
  request('invalid_request', { status: '4xx', own: true }),
];

const UNSUPPORTED_NAMES = ['unsupported_parameter', 'unsupported_value', 'unknown_parameter'];
/** `content_filter` is Azure's. */
const POLICY_NAMES: readonly string[] = [
  'content_policy_violation',
  'moderation_blocked',
  'content_filter',
  'invalid_prompt',
  'bio_policy',
  'cyber_policy',
  'misalignment_policy_violation',
];

/** Names found in `code`, or in `type` where the code is not specific. */
const RESPONSES_NAMES: readonly (Pick<ProviderErrorRow, 'kind' | 'code'> & { readonly names: readonly string[] })[] = [
  { kind: 'request', code: 'context_length_exceeded', names: ['context_length_exceeded'] },
  { kind: 'request', code: 'invalid_value', names: ['string_above_max_length', 'invalid_value'] },
  { kind: 'request', code: 'unsupported_parameter', names: UNSUPPORTED_NAMES },
  { kind: 'request', code: 'previous_response_not_found', names: ['previous_response_not_found'] },
  { kind: 'request', code: 'content_policy_violation', names: POLICY_NAMES },
  { kind: 'opaque_rejected', names: ['invalid_encrypted_content'] },
  { kind: 'model', names: ['model_not_found', 'unsupported_country_region_territory', 'DeploymentNotFound'] },
  { kind: 'rate_limited', names: ['rate_limit_exceeded', 'rate_limit_error'] },
  { kind: 'quota_exhausted', names: ['insufficient_quota', 'credit_balance_exhausted', 'usage_not_included'] },
  { kind: 'credential', names: ['invalid_api_key'] },
  { kind: 'overloaded', names: ['server_is_overloaded', 'slow_down', 'service_unavailable_error'] },
];

const RESPONSES: readonly ProviderErrorRow[] = [
  CREDENTIAL,
  ...RESPONSES_NAMES.map(({ names, ...row }) => ({ ...row, codes: names })),
  request('context_length_exceeded', { message: /exceeds the context window|maximum context length/i }),
  // Says nothing about a value in the request: the model cannot return such values.
  request('unsupported_parameter', { message: /encrypted content is not supported/i }),
  {
    kind: 'opaque_rejected',
    message: /encrypted content|without its required following item|items are not persisted/i,
  },
  { kind: 'model', message: /the model .{0,200}(does not exist|not found)/i },
  // A resource of Azure without the API or its version.
  { kind: 'model', status: [404], message: /^resource not found$/i },
  ...RESPONSES_NAMES.map(({ names, ...row }) => ({ ...row, types: names })),
  // If the account may not use the model, its credential is still valid.
  { kind: 'model', status: [401, 403], codes: /\bmodel\b|country/i, message: /\bmodel\b|country/i },
  { kind: 'forbidden', status: [401, 403] },
  { kind: 'quota_exhausted', status: [402], own: true },
  { kind: 'forbidden', status: [402] },
  { kind: 'failed', status: [408] },
  request('request_too_large', { status: [413] }),
  { kind: 'rate_limited', status: [429] },
  { kind: 'overloaded', status: [503, 529] },
  { kind: 'timeout', status: [504] },
  { kind: 'request', status: '4xx', own: true },
  { kind: 'request', status: [0], types: ['invalid_request_error'] },
];

const MESSAGES: readonly ProviderErrorRow[] = [
  // A proxy in front of the provider responded, so neither request nor model is at fault.
  { kind: 'failed', status: [400, 404, 422], own: false },
  CREDENTIAL,
  request('context_length_exceeded', {
    status: [400],
    // The second one: in the words of Bedrock.
    message: /prompt is too long|input is too long for requested model|input length and `?max_tokens`? exceed/i,
  }),
  { kind: 'opaque_rejected', status: [400], message: /signature.*thinking|thinking.*signature|redacted_thinking/is },
  request('content_policy_violation', { status: [400], message: /content filtering policy/i }),
  // The operator's account is out of credit; the request is valid.
  { kind: 'quota_exhausted', status: [400], message: /credit balance is too low|usage limits/i },
  request('request_too_large', { status: [413] }),
  request('invalid_request', { status: [400, 422] }),
  request('invalid_request', { status: [404], message: /\bfile\b/i }),
  { kind: 'model', status: [404] },
  { kind: 'model', status: [403], message: /\bmodel\b/i },
  { kind: 'quota_exhausted', status: [402], own: true },
  // The provider sends `retry-after` with rate limits only; a 429 of its own without it is a spend cap.
  { kind: 'quota_exhausted', status: [429], own: true, timeless: true },
  { kind: 'rate_limited', status: [429] },
  { kind: 'forbidden', status: [401, 402, 403] },
  { kind: 'overloaded', status: [503, 529] },
  { kind: 'timeout', status: [504] },
];

const GENERATE: readonly ProviderErrorRow[] = [
  CREDENTIAL,
  request('request_too_large', { status: [413] }),
  // Billing and country of the account. The country depends on the model, so only the first concerns the whole account.
  { kind: 'quota_exhausted', status: [400], codes: ['FAILED_PRECONDITION'], where: /\bbilling\b/i },
  { kind: 'model', status: [400], codes: ['FAILED_PRECONDITION'] },
  request('context_length_exceeded', { status: [400], message: /input token count.*exceeds the maximum/is }),
  { kind: 'opaque_rejected', status: [400], message: /thought[ _]?signature/i },
  { kind: 'quota_exhausted', status: [429], codes: /PerDay/ },
  { kind: 'rate_limited', status: [429] },
  // The provider does not say whether the file is missing or belongs to another account.
  request('invalid_request', { status: [403, 404], message: /\bfile\b/i }),
  { kind: 'model', status: [403], message: /\bmodels?\b/i },
  { kind: 'model', status: [404], own: true },
  { kind: 'quota_exhausted', status: [402], own: true },
  { kind: 'forbidden', status: [401, 402, 403] },
  { kind: 'overloaded', status: [503] },
  { kind: 'timeout', status: [504] },
  { kind: 'failed', status: [408, 499] },
  request('invalid_request', { status: '4xx', own: true }),
];

const PROVIDER_ERRORS: Readonly<Record<Dialect, readonly ProviderErrorRow[]>> = {
  chat: CHAT,
  responses: RESPONSES,
  messages: MESSAGES,
  generate: GENERATE,
};

const FAMILIES: Readonly<Record<Dialect, ProviderFamily>> = {
  chat: 'openai',
  responses: 'openai',
  messages: 'messages',
  generate: 'generate',
};

export const providerErrorRow = (dialect: Dialect, report: ProviderReport): ProviderErrorRow =>
  PROVIDER_ERRORS[dialect].find((row) =>
    row === CREDENTIAL ? isCredentialError(FAMILIES[dialect], credentialReport(report)) : matches(row, report),
  ) ?? FAILED;

/** With these codes a failed response is a refusal of the content, which is a reply rather than an error. */
export const isPolicyCode = (code: string): boolean => POLICY_NAMES.includes(code);

const credentialReport = ({ status, codes, types = [], message }: ProviderReport) => ({
  status,
  codes: [...codes, ...types],
  message,
});

function matches(row: ProviderErrorRow, report: ProviderReport): boolean {
  if (!hasStatus(row, report.status)) return false;
  if (row.own !== undefined && row.own !== report.isOwn) return false;
  if (row.timeless && report.namesTime) return false;
  if (row.where && !row.where.test(report.message)) return false;
  if (!row.codes && !row.types && !row.message) return true;
  return (
    hasName(row.codes, report.codes) ||
    hasName(row.types, report.types ?? []) ||
    row.message?.test(report.message) === true
  );
}

function hasStatus({ status }: ProviderErrorRow, reported: number): boolean {
  if (status === undefined) return true;
  if (status === '4xx') return reported >= 400 && reported < 500;
  return status === '5xx' ? reported >= 500 : status.includes(reported);
}

const hasName = (wanted: ProviderErrorRow['codes'], names: readonly string[]): boolean =>
  wanted !== undefined && names.some((name) => (wanted instanceof RegExp ? wanted.test(name) : wanted.includes(name)));

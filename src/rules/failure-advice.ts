/**
 * What an operator does about a failed call: the last words of its log line. Failures that only a caller can correct
 * have no row.
 */
import type { ErrorCode } from './errors.ts';
import type { FaultKind } from './faults.ts';

/** By the fault of the last attempt. */
export const FAULT_ADVICE: Partial<Readonly<Record<FaultKind, string>>> = {
  model: 'correct upstream of the model, or models of the account; or add an account that has it',
  forbidden: 'send the same request to the provider yourself: its terms, region or firewall refuse it',
  rate_limited: 'lower max_concurrency of the account, add an account, or ask the provider for a higher limit',
  quota_exhausted: 'add credit at the provider, or add an account',
  credential: 'apply a valid api_key, then dragoman doctor --accounts',
  overloaded: 'nothing, unless it persists: add an account of another provider',
  unreachable: 'check base_url and proxy of the account, the network and DNS',
  failed: "nothing, unless it persists: look at the provider's status page",
  timeout: "nothing, unless it persists: look at the provider's status page",
  truncated: 'nothing, unless it persists: look for a proxy on the way to the provider that cuts long responses',
};

/** By the code that the caller got, where no account was tried. */
export const CODE_ADVICE: Partial<Readonly<Record<ErrorCode, string>>> = {
  no_upstream_account: 'add an account to the group, or features to one that it has',
  model_not_priced: 'set prices of the model, or free: true',
  insufficient_balance: 'credit the user',
  server_is_overloaded:
    'run dragoman doctor --live: all accounts are out or full, or the server or its database cannot keep up',
  internal_error: 'a bug: report the request.internal_error line with the same request',
  shutting_down: 'nothing: the server was stopped',
};

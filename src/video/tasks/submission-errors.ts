/** Errors of a create request whose task no provider has. */

import type { Account } from '../../catalog/index.ts';
import { type ApiError, fail } from '../../core/index.ts';
import type { NoAccount } from '../../providers/pool/index.ts';
import { faultRow } from '../../rules/index.ts';
import { misconfigured } from '../assets/errors.ts';
import type { CreateOutcome } from '../upstream/client.ts';
import type { CreateRejection } from '../upstream/errors.ts';
import type { Submission } from './order.ts';

/** The provider rejected the request, but not its content. */
export function rejectionError(
  { references }: Submission,
  rejection: Exclude<CreateRejection, { kind: 'content' }>,
  { error, retryAfter }: Extract<CreateOutcome, { kind: 'rejected' }>,
): ApiError {
  if (rejection.kind === 'request') {
    return fail(rejection.code, error.message || 'The provider rejected the parameters of the request.');
  }
  if (rejection.kind === 'rate_limited') return atCapacity(retryAfter ?? faultRow('rate_limited').cooldownMs / 1_000);
  if (references.accountId !== undefined) return misconfigured();
  return fail('server_is_overloaded', 'No upstream account can take the task now. Try again later.', {
    retryAfter: 30,
  });
}

/** The provider lost an asset that was active here. The same request then gets 409 before anything is sent (V 7). */
export const assetGone = (id: string): ApiError =>
  fail('asset_invalid', `The asset ${id} no longer exists at the provider. Create a new one.`, { status: 410 });

/** No account can be asked now. */
export function noAccountError(
  { references }: Submission,
  accounts: readonly Account[],
  { reason, retryMs }: NoAccount,
): ApiError {
  if (accounts.length === 0) return references.accountId === undefined ? fail('no_upstream_account') : misconfigured();
  const retryAfter = Math.max(1, Math.ceil(retryMs / 1_000));
  if (reason === 'rate_limited') return atCapacity(retryAfter);
  // Another account has not the assets.
  if (references.accountId !== undefined && reason !== 'full')
    return fail('asset_binding_unavailable', 'The account that holds the assets is not available now.', { retryAfter });
  return fail('server_is_overloaded', 'Every upstream account is at capacity or cooling down. Try again shortly.', {
    retryAfter,
  });
}

/** The submission could not be recorded, so nothing was sent. */
export const notSubmitted = (): ApiError =>
  fail('server_is_overloaded', 'The task could not be submitted. Nothing was created; send it again.', {
    retryAfter: 2,
  });

const atCapacity = (retryAfter: number): ApiError =>
  fail('rate_limit_exceeded', 'The provider is at capacity. Nothing was created; try again later.', { retryAfter });

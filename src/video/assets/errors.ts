/** Errors of asset operations that come from the provider or the configuration (V 7). */
import { type ApiError, fail } from '../../core/index.ts';
import type { QueryOutcome } from '../upstream/client.ts';

/** Seconds until a retry when the provider names none. */
const RETRY_SECONDS = 5;
const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 402, 403]);

/** 502: the provider responded with an error or nonsense. 503: it could not be asked, or takes no more requests now. */
export const unavailable = (status: 502 | 503, retryAfter = RETRY_SECONDS): ApiError =>
  fail('asset_upstream_unavailable', 'The asset service is unavailable for the moment; try again later.', {
    status,
    retryAfter,
  });

/** The provider may have created the object, so the request must not be repeated by a client on its own. */
export const unconfirmed = (): ApiError =>
  fail(
    'asset_upstream_unavailable',
    'The asset service did not confirm the creation. It is looked up in the background; list the groups before you try again.',
    { status: 503, retryAfter: RETRY_SECONDS, headers: { 'x-should-retry': 'false' } },
  );

export const misconfigured = (): ApiError => fail('asset_route_group_misconfigured');

export function queryError({ status, retryAfter }: Extract<QueryOutcome<unknown>, { kind: 'failed' }>): ApiError {
  if (status === undefined || status === 429) return unavailable(503, retryAfter);
  return ACCOUNT_STATUSES.has(status) ? misconfigured() : unavailable(502);
}

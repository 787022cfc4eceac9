/** A classified upstream failure: the error for the client, and what the pool does with the account. */
import { type ApiError, fail } from '../../core/index.ts';
import { type ErrorCode, type FaultKind, faultRow } from '../../rules/index.ts';
import { fold } from '../hub/fold.ts';
import type { HubError, HubEvent, HubReply } from '../hub/types.ts';
import { compact } from '../wire/read.ts';

export interface Fault {
  readonly kind: FaultKind;
  readonly error: HubError;
  /** Cooldown for the account, if the upstream named one (`retry-after` or its body). */
  readonly cooldownMs?: number;
  /** The provider's own code of the error, for operators. */
  readonly providerCode?: string;
}

/** Words such as `invalid_api_key`. Longer or other text could hold something of the request or of the account. */
const PROVIDER_CODE = /^[A-Za-z][A-Za-z0-9_.]{0,63}$/;

/** Adds the first of the names that is a plain code. */
export function withProviderCode(fault: Fault, ...names: readonly (string | undefined)[]): Fault {
  const providerCode = names.find((name) => name !== undefined && PROVIDER_CODE.test(name));
  return providerCode === undefined ? fault : { ...fault, providerCode };
}

/** The message is the gateway's own, because the provider's text may identify the account. */
export const accountFault = (
  kind: FaultKind,
  message: string,
  waitMs: number | undefined,
  code: ErrorCode = faultRow(kind).code,
): Fault => ({
  kind,
  error: compact({ code, message, retryAfterMs: waitMs }),
  ...(waitMs !== undefined && { cooldownMs: waitMs }),
});

/** Turns a hub error into the `ApiError` that decoders throw. */
export const failureOf = (error: HubError): ApiError =>
  fail(
    error.code,
    error.message,
    compact({
      param: error.param,
      status: error.status,
      retryAfter: error.retryAfterMs === undefined ? undefined : error.retryAfterMs / 1000,
    }),
  );

/** The error for a response body that has no reply in it. */
export const unreadable = (): ApiError =>
  fail('upstream_error', 'The provider sent a response that could not be read.');

/** The reply that the events add up to. Throws their error. */
export function foldReply(events: Iterable<HubEvent>): HubReply {
  const folded = fold(events);
  if ('error' in folded) throw failureOf(folded.error);
  return folded.reply;
}

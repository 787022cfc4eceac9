/** The response that a request continues or asks about, and where it is held. */
import type { ApiError } from '../../core/index.ts';
import type { StoredHead } from './response-cache.ts';
import { previousNotFound } from './store.ts';

export interface HeldResponse {
  /** Undefined when no provider holds it. */
  readonly accountId: string | undefined;
  /** Our own store holds it, so that a conversion can put it in. */
  readonly isHere: boolean;
  readonly notFound: ApiError;
}

/** Unknown responses and those of other users are both not found. */
export const heldPrevious = (id: string, found: StoredHead | undefined): HeldResponse => ({
  accountId: found?.accountId,
  isHere: found?.isHere === true,
  notFound: previousNotFound(id),
});

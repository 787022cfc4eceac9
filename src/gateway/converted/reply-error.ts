/**
 * An error inside a provider's reply, as a fault of its account and as an error for the client:
 * our secrets removed, the client's field names.
 */
import type { Account } from '../../catalog/index.ts';
import { type CompleteReply, type Fault, type HubError, type HubItem, withClientField } from '../../dialects/index.ts';
import { faultRow, REPLY_LIMITS } from '../../rules/index.ts';
import { faultKindOf, withoutSecrets } from '../client-error.ts';
import type { CallContext } from './context.ts';

/** Inside a reply there is no HTTP status: the code alone classifies the fault. */
export function faultFromReply(error: HubError, { pair, request, model }: CallContext, account: Account): Fault {
  const { code, retryAfterMs } = error;
  return {
    kind: faultKindOf(code),
    error: withClientField(pair, request, withoutSecrets(error, { account, model })),
    ...(retryAfterMs !== undefined && { cooldownMs: retryAfterMs }),
  };
}

/** The fault of a complete reply that the client's dialect has no response for; undefined for any other reply. */
export function faultOfReply(reply: CompleteReply, { pair, model }: CallContext, account: Account): Fault | undefined {
  const fault = pair.client.faultIn?.(reply);
  return fault && { ...fault, error: withoutSecrets(fault.error, { account, model }) };
}

export function sizeOfItem(item: HubItem): number {
  if (item.kind === 'message') return 1 + item.parts.length;
  return item.kind === 'reasoning' ? 1 + item.summary.length : 1;
}

export const sizeOfItems = (items: readonly HubItem[]): number =>
  items.reduce((sum, item) => sum + sizeOfItem(item), 0);

/** The message is our own, so that the client reads it. */
export const oversized = (message: string): Fault => ({
  kind: 'oversized',
  error: { code: faultRow('oversized').code, message },
});

export const TOO_MUCH_TEXT = oversized(
  `The provider's response has more than ${REPLY_LIMITS.textBytes / 2 ** 20} MiB of text, the limit of a conversion.`,
);

export const TOO_MANY_ITEMS = oversized(
  `The provider's response has more than ${REPLY_LIMITS.items} items and parts, the limit of a conversion.`,
);

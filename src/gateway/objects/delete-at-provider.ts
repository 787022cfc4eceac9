/** Deletion of what a provider keeps for a caller, where it keeps it. */
import type { Catalog } from '../../catalog/index.ts';
import { fail, type Log } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { fetchJson, type UpstreamClient } from '../../providers/upstream/index.ts';
import { type HeldKind, heldRequest } from '../upstream-request.ts';

interface HeldServices {
  readonly catalog: () => Catalog;
  readonly upstream: UpstreamClient;
}

export interface Held {
  readonly kind: HeldKind;
  readonly id: string;
  readonly account_id: string;
}

/** `left`: in an account that is no longer configured. */
export async function deleteHeld({ catalog, upstream }: HeldServices, { kind, id, account_id }: Held) {
  const account = catalog().account(account_id);
  if (!account) return 'left';
  const sent = heldRequest('DELETE', catalog().group(account.groupId)?.style, account, { kind, id });
  const status = (await fetchJson(upstream, sent))?.status;
  return status === 200 || status === 404 ? 'gone' : 'failed';
}

/**
 * Before the row of the object is deleted. Throws when the provider may still have it.
 * Without effect on what no provider keeps.
 */
export async function deleteAtProvider(
  services: HeldServices & { readonly db: Db; readonly log: Log },
  { userId, id }: { readonly userId: string; readonly id: string },
): Promise<void> {
  const own = services.db.selectFrom('provider_objects').select(['kind', 'id', 'account_id']);
  const held = (await own.where('user_id', '=', userId).where('id', '=', id).executeTakeFirst()) as Held | undefined;
  const outcome = held && (await deleteHeld(services, held));
  if (outcome === 'failed')
    throw fail('upstream_error', 'The provider did not delete the object; nothing has changed, try again later.');
  if (outcome === 'left') services.log.warn('object.left', { id, account: held?.account_id });
}

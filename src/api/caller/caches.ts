/** The list of cached contents, from our own records: that of the provider has those of all who share the account. */
import { type Caller, callersOf, type Gateway } from '../../gateway/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { pageSize } from './files.ts';

/** As the provider described each the last time, of the accounts that the key reaches. */
export async function listCaches(
  { gateway }: { readonly gateway: Gateway },
  call: Call,
  { key }: Caller,
): Promise<void> {
  const query = new URLSearchParams(call.query);
  const limit = pageSize(query, 'pageSize');
  const after = query.get('pageToken') || undefined;
  const catalog = gateway.catalog();
  const accounts = callersOf(catalog, key).flatMap(({ group }) => catalog.accounts(group.id).map(({ id }) => id));
  const rows = await gateway.objects.list('cache', key.userId, accounts, { limit, after });
  const page = rows.slice(0, limit);
  sendJson(call, 200, {
    ...(page.length > 0 && { cachedContents: page.map(({ shown }) => shown) }),
    ...(rows.length > limit && { nextPageToken: page.at(-1)?.id }),
  });
}

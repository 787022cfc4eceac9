/**
 * Lists of what providers keep for the user, from our own records: that of a provider has what all who share the
 * account keep.
 */
import { type Caller, callersOf, type Gateway } from '../../gateway/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { CONTAINERS } from '../../rules/index.ts';
import { pageSize, sendOwnPage, type WithGateway } from './files.ts';

/** As the provider described each the last time, of the accounts that the key reaches. */
export async function listCaches({ gateway }: WithGateway, call: Call, { key }: Caller): Promise<void> {
  const query = new URLSearchParams(call.query);
  const limit = pageSize(query, 'pageSize');
  const after = query.get('pageToken') || undefined;
  const rows = await gateway.objects.list('cache', key.userId, reachedBy(gateway, key), { limit, after });
  const page = rows.slice(0, limit);
  sendJson(call, 200, {
    ...(page.length > 0 && { cachedContents: page.map(({ shown }) => shown) }),
    ...(rows.length > limit && { nextPageToken: page.at(-1)?.id }),
  });
}

/** As far as replies tell: the provider alone knows the name of one. */
export async function listContainers({ gateway }: WithGateway, call: Call, { key }: Caller): Promise<void> {
  const accounts = reachedBy(gateway, key);
  const { idleMinutes: minutes } = CONTAINERS;
  await sendOwnPage(
    call,
    (page) => gateway.objects.list('container', key.userId, accounts, page),
    ({ id, created_at, expires_at }) => ({
      id,
      object: 'container',
      name: '',
      status: 'running',
      created_at: Math.floor(created_at.getTime() / 1_000),
      last_active_at: Math.floor(expires_at.getTime() / 1_000) - minutes * 60,
      expires_after: { anchor: 'last_active_at', minutes },
    }),
  );
}

const reachedBy = ({ catalog }: Gateway, key: Caller['key']): string[] =>
  callersOf(catalog(), key).flatMap(({ group }) =>
    catalog()
      .accounts(group.id)
      .map(({ id }) => id),
  );

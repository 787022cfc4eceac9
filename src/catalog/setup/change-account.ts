/** Changes of one stored account. The caller holds the lock of the configuration and writes the audit line in the same transaction. */
import type { Sealer } from '../../core/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import { type CloudSettings, cloudAuth, type VideoAdapter } from '../../rules/index.ts';
import type { AccountChange } from '../../schemas/index.ts';
import { accountErrors } from './references.ts';
import { saveAccount } from './save-account.ts';
import { SetupError } from './setup-document.ts';

/** Has no effect on an unknown account. Throws a `SetupError` for what its group does not allow. */
export async function changeAccount(tx: Tx, id: string, change: AccountChange, sealer: Sealer): Promise<void> {
  const stored = await tx
    .selectFrom('accounts as a')
    .innerJoin('groups as g', 'g.id', 'a.group_id')
    .select(['a.group_id', 'a.adapter', 'a.base_url', 'a.cloud', 'g.style'])
    .where('a.id', '=', id)
    .executeTakeFirst();
  if (!stored) return;
  const adapter = stored.adapter as VideoAdapter;
  const cloud = change.cloud ?? ((stored.cloud ?? undefined) as CloudSettings | undefined);
  const account = { ...change, adapter, base_url: change.base_url ?? stored.base_url, cloud, hasCredential: true };
  const lines = accountErrors(account, stored.style);
  const hasSecret = cloud === undefined || cloudAuth(cloud)?.secret !== undefined;
  if (lines.length === 0 && hasSecret && movesCredential(change, stored.base_url)) lines.push(CREDENTIAL_NEEDED);
  if (lines.length > 0) throw new SetupError(lines);
  await saveAccount(tx, { account: { ...change, id, group: stored.group_id, adapter }, sealer });
}

const CREDENTIAL_NEEDED =
  'api_key: required with another host, other settings of a cloud or an unencrypted proxy, so that no one sends the stored credential elsewhere';

/** True when the stored credential would go to another host, or through a proxy that can read it. No operator can read it otherwise. */
function movesCredential({ api_key, base_url, proxy, cloud }: AccountChange, stored: string): boolean {
  if (api_key !== undefined) return false;
  if (cloud !== undefined) return true;
  const { origin, protocol } = new URL(base_url ?? stored);
  return origin !== new URL(stored).origin || (proxy !== undefined && proxy !== 'none' && protocol === 'http:');
}

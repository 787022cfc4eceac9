/** Saves an upstream account: one of a configuration file, or changes of a stored one. Its secrets are stored sealed. */
import { isDeepStrictEqual } from 'node:util';
import { proxyLabel, type Sealer, type SealLocation, WrongMasterKey } from '../../core/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import { accountKind, FEATURES, type Style } from '../../rules/index.ts';
import { type AccountChange, columnsOf } from '../../schemas/index.ts';
import { credentialLocation, proxyLocation } from '../index.ts';
import { saveRow, withoutUndefined } from './save-row.ts';

/** What a stored account keeps is undefined; a new account has an address and a credential. */
export type AccountInput = AccountChange & {
  readonly id: string;
  readonly group: string;
  readonly adapter?: string | undefined;
};

export interface AccountSaving {
  readonly account: AccountInput;
  /** Undefined keeps the place of a stored account. */
  readonly position?: number;
  readonly sealer: Sealer;
}

export async function saveAccount(
  tx: Tx,
  { account, position, sealer }: AccountSaving,
): Promise<'created' | 'changed' | undefined> {
  const { style } = await tx
    .selectFrom('groups')
    .select('style')
    .where('id', '=', account.group)
    .executeTakeFirstOrThrow();
  const stored = await tx
    .selectFrom('accounts')
    .select(['base_url', 'credential_sealed', 'cloud', 'assets_secret_sealed', 'proxy', 'proxy_sealed'])
    .where('id', '=', account.id)
    .executeTakeFirst();
  // Sealing a secret twice gives two texts. Comparing the texts would report a change on every run, so compare the secrets.
  const sealedOnce = (sealed: string | null | undefined, location: SealLocation, secret: string): string => {
    try {
      if (sealed && sealer.open(sealed, location) === secret) return sealed;
    } catch (error) {
      // A stored secret that no longer opens is replaced.
      if (!(error instanceof WrongMasterKey)) throw error;
    }
    return sealer.seal(secret, location);
  };
  const { id, api_key, proxy, preset, assets, ...plain } = account;
  const { secret_key: assetsSecret, ...library } = assets ?? {};
  // An account that signs in as the machine has no credential of its own.
  const secret = api_key ?? (stored ? undefined : NO_CREDENTIAL);
  const reach = {
    ...withoutUndefined({
      base_url: account.base_url,
      credential_sealed: secret && sealedOnce(stored?.credential_sealed, credentialLocation(id), secret),
    }),
    ...proxyColumns(proxy, (url) => sealedOnce(stored?.proxy_sealed, proxyLocation(id), url)),
  };
  const reached = { ...stored, ...reach, ...withoutUndefined({ cloud: account.cloud }) };
  if (stored && !isDeepStrictEqual(reached, stored)) await forgetHealth(tx, id);
  return saveRow(tx, {
    table: 'accounts',
    identity: { id },
    columns: {
      ...columnsOf(plain),
      ...reach,
      preset: preset === 'auto' ? null : preset,
      assets: assets && JSON.stringify(library),
      assets_secret_sealed:
        assetsSecret && sealedOnce(stored?.assets_secret_sealed, `accounts.assets_secret:${id}`, assetsSecret),
      position,
    },
    defaults: { weight: 1, max_concurrency: 64, features: [...featuresOf(style, account)] },
  });
}

const NO_CREDENTIAL = 'none';

const featuresOf = (style: string, { cloud }: AccountInput): readonly string[] =>
  (cloud && accountKind(cloud.kind).features[style as Style]) ?? FEATURES[style as keyof typeof FEATURES];

/** Faults of another credential, address or proxy say nothing about the account as it is now. An operator's park stays. */
async function forgetHealth(tx: Tx, accountId: string): Promise<void> {
  await tx.deleteFrom('account_cooldowns').where('account_id', '=', accountId).execute();
  await tx.deleteFrom('account_tests').where('account_id', '=', accountId).execute();
  await tx.deleteFrom('account_parks').where('account_id', '=', accountId).where('cause', '=', 'credential').execute();
}

/** `proxy` is shown to operators; the URL may hold credentials. */
function proxyColumns(proxy: string | undefined, seal: (url: string) => string) {
  if (proxy === undefined) return {};
  if (proxy === 'environment') return { proxy: null, proxy_sealed: null };
  if (proxy === 'none') return { proxy, proxy_sealed: null };
  return { proxy: proxyLabel(proxy), proxy_sealed: seal(proxy) };
}

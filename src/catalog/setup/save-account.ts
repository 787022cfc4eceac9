/**
 * Saves an upstream account: one of a configuration file, or changes of a stored one. Its secrets are stored sealed.
 */
import { isDeepStrictEqual } from 'node:util';
import { defined, proxyLabel, type Sealer, type SealLocation, WrongMasterKey } from '../../core/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import * as rules from '../../rules/index.ts';
import { type AccountChange, columnsOf, shownGroups, storedGroups } from '../../schemas/index.ts';
import { credentialLocation, proxyLocation } from '../index.ts';
import { accountErrors, possibleFeatures } from './references.ts';
import { saveRow } from './save-row.ts';
import { SetupError } from './setup-document.ts';

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
  const named = account.groups ?? [account.group];
  const groups = await tx.selectFrom('groups').select('style').distinct().where('id', 'in', named).execute();
  const styles = groups.map(({ style }) => style);
  const stored = await tx
    .selectFrom('accounts')
    .select(['base_url', 'credential_sealed', 'cloud', 'assets_secret_sealed', 'proxy', 'proxy_sealed', 'features'])
    .where('id', '=', account.id)
    .executeTakeFirst();
  // Sealing a secret twice gives two texts. Comparing the texts would report a change on every run, so compare the
  // secrets.
  const sealedOnce = (sealed: string | null | undefined, location: SealLocation, secret: string): string => {
    try {
      if (sealed && sealer.open(sealed, location) === secret) return sealed;
    } catch (error) {
      // A stored secret that no longer opens is replaced.
      if (!(error instanceof WrongMasterKey)) throw error;
    }
    return sealer.seal(secret, location);
  };
  const { id, api_key, proxy, preset, assets, groups: _, ...plain } = account;
  const { secret_key: assetsSecret, ...library } = assets ?? {};
  // An account that signs in as the machine has no credential of its own.
  const secret = api_key ?? (stored ? undefined : NO_CREDENTIAL);
  const reach = {
    ...defined({
      base_url: account.base_url,
      credential_sealed: secret && sealedOnce(stored?.credential_sealed, credentialLocation(id), secret),
    }),
    ...proxyColumns(proxy, (url) => sealedOnce(stored?.proxy_sealed, proxyLocation(id), url)),
  };
  const reached = { ...stored, ...reach, ...defined({ cloud: account.cloud }) };
  if (stored && !isDeepStrictEqual(reached, stored)) await forgetHealth(tx, id);
  return saveRow(tx, {
    table: 'accounts',
    identity: { id },
    columns: {
      ...columnsOf(plain),
      ...reach,
      groups: storedGroups(account),
      features: account.features ?? (stored && withStyles(stored.features, styles, account)),
      preset: preset === 'auto' ? null : preset,
      assets: assets && JSON.stringify(library),
      assets_secret_sealed:
        assetsSecret && sealedOnce(stored?.assets_secret_sealed, `accounts.assets_secret:${id}`, assetsSecret),
      position,
    },
    defaults: { weight: 1, features: styles.flatMap((style) => featuresOf(style, account)) },
  });
}

const NO_CREDENTIAL = 'none';

/** A group of another style makes the account offer what that style has. Undefined where nothing changes. */
function withStyles(features: readonly string[], styles: readonly string[], account: AccountInput) {
  const missing = styles.filter((style) => !possibleFeatures(account, style).some((one) => features.includes(one)));
  return missing.length === 0 ? undefined : [...features, ...missing.flatMap((style) => featuresOf(style, account))];
}

const featuresOf = (style: string, { cloud }: AccountInput): readonly string[] =>
  (cloud && rules.accountKind(cloud.kind).features[style as rules.Style]) ??
  rules.FEATURES[style as keyof typeof rules.FEATURES];

/**
 * Faults of another credential, address or proxy say nothing about the account as it is now. An operator's park stays.
 */
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

/** Has no effect on an unknown account. Throws a `SetupError` for what its group does not allow. */
export async function changeAccount(tx: Tx, id: string, change: AccountChange, sealer: Sealer): Promise<void> {
  const stored = await tx
    .selectFrom('accounts')
    .select(['group_id', 'groups', 'adapter', 'base_url', 'cloud'])
    .where('id', '=', id)
    .executeTakeFirst();
  if (!stored) return;
  const groups = change.groups ?? [...shownGroups(stored)];
  const group = groups.includes(stored.group_id) ? stored.group_id : (groups[0] ?? stored.group_id);
  const rows = await tx.selectFrom('groups').select(['id', 'style']).where('id', 'in', groups).execute();
  const styles = new Map(rows.map((row) => [row.id, row.style]));
  const unknown = groups.findIndex((one) => !styles.has(one));
  if (unknown >= 0) throw new SetupError([`groups[${unknown}]: found "${groups[unknown]}", expected a group`]);
  const adapter = stored.adapter as rules.VideoAdapter;
  const cloud = change.cloud ?? ((stored.cloud ?? undefined) as rules.CloudSettings | undefined);
  const account = {
    ...change,
    group,
    groups,
    adapter,
    base_url: change.base_url ?? stored.base_url,
    cloud,
    hasCredential: true,
  };
  const lines = accountErrors(account, (one) => styles.get(one));
  const hasSecret = cloud === undefined || rules.cloudAuth(cloud)?.secret !== undefined;
  if (lines.length === 0 && hasSecret && movesCredential(change, stored.base_url)) lines.push(CREDENTIAL_NEEDED);
  if (lines.length > 0) throw new SetupError(lines);
  await saveAccount(tx, { account: { ...change, id, group, groups, adapter }, sealer });
}

const CREDENTIAL_NEEDED =
  'api_key: required with another host, other settings of a cloud or an unencrypted proxy, so that no one sends the stored credential elsewhere';

/**
 * True when the stored credential would go to another host, or through a proxy that can read it. No operator can read
 * it otherwise.
 */
function movesCredential({ api_key, base_url, proxy, cloud }: AccountChange, stored: string): boolean {
  if (api_key !== undefined) return false;
  if (cloud !== undefined) return true;
  const { origin, protocol } = new URL(base_url ?? stored);
  return origin !== new URL(stored).origin || (proxy !== undefined && proxy !== 'none' && protocol === 'http:');
}

/** Reads the catalog from the database. Decrypted credentials stay in memory only. */
import { sql } from 'kysely';
import { errorFields, type Log, type Nanos, parseNanos, type Sealer } from '../core/index.ts';
import { type Db, type Row, snapshot } from '../platform/db/index.ts';
import type { AccountLimits } from '../providers/pool/index.ts';
import * as rules from '../rules/index.ts';
import { shownGroups, UNLIMITED_CONCURRENCY } from '../schemas/index.ts';
import { type Account, type AssetSettings, Catalog, type Group, type ModelLine, type PriceRow } from './catalog.ts';
import { learnedIn } from './line-lessons.ts';

type AccountRow = Row<'accounts'>;

export const credentialLocation = (accountId: string) => `accounts.credential:${accountId}` as const;

export const proxyLocation = (accountId: string) => `accounts.proxy:${accountId}` as const;

/** `adapt`: each account as this process may use it. */
export async function loadCatalog(
  db: Db,
  sealer: Sealer,
  log: Log,
  adapt: (account: Account) => Account = (account) => account,
): Promise<Catalog> {
  // One transaction, so that the catalog never contains half of a change.
  return snapshot(db, async (tx) => {
    const groups = await readGroups(tx);
    return new Catalog(groups, (await readAccounts(tx, groups, sealer, log)).map(adapt), await readModelLines(tx));
  });
}

async function readGroups(db: Db): Promise<Group[]> {
  const rows = await db.selectFrom('groups').selectAll().orderBy('position').orderBy('id').execute();
  return rows.map((row) => ({
    id: row.id,
    style: row.style as rules.Style | 'video',
    variant: row.variant as rules.VideoVariant | null,
    name: row.name,
    multiplierPpm: row.multiplier_ppm,
    unknownMembers: row.unknown_members as rules.UnknownMembers,
  }));
}

/** Each account once for every group of it. */
async function readAccounts(db: Db, groups: readonly Group[], sealer: Sealer, log: Log): Promise<Account[]> {
  const rows = await db.selectFrom('accounts').selectAll().orderBy('position').orderBy('id').execute();
  const styles = new Map(groups.map(({ id, style }) => [id, style]));
  return rows.flatMap((row) => {
    try {
      const credential = sealer.open(row.credential_sealed, credentialLocation(row.id));
      const cloud = (row.cloud as rules.CloudSettings | null) ?? undefined;
      const inGroups = shownGroups(row);
      return inGroups.map(
        (groupId): Account => ({
          id: row.id,
          groupId,
          groups: inGroups,
          adapter: row.adapter as rules.VideoAdapter,
          baseUrl: row.base_url.replace(/\/+$/, ''),
          credential,
          cloud,
          proxy:
            row.proxy_sealed === null ? (row.proxy ?? undefined) : sealer.open(row.proxy_sealed, proxyLocation(row.id)),
          weight: row.weight,
          priority: row.priority,
          maxConcurrency: row.max_concurrency === UNLIMITED_CONCURRENCY ? undefined : row.max_concurrency,
          limits: readAccountLimits(row),
          pollsPerSecond: row.polls_per_second ?? undefined,
          features: featuresIn(row, groupId, styles.get(groupId)),
          preset: rules.chatPresetOf(row.base_url, (row.preset as rules.ChatPreset | null) ?? undefined),
          capabilities: row.capabilities as rules.CapabilityOverrides,
          models: new Map(Object.entries(row.models as Record<string, string>)),
          resultHosts: row.result_hosts.map((host) => host.toLowerCase()),
          assets: readAssets(row, sealer),
        }),
      );
    } catch (error) {
      // A damaged credential disables its own account only.
      log.error('account.credential_unreadable', { account: row.id, ...errorFields(error) });
      return [];
    }
  });
}

function featuresIn({ groups, features, group_features }: AccountRow, groupId: string, style?: Group['style']) {
  const own = (group_features as Record<string, string[]>)[groupId];
  if (own || groups === null || !style) return new Set(own ?? features);
  const possible: readonly string[] = [...rules.FEATURES[style], ...rules.OPT_IN_FEATURES[style]];
  return new Set(features.filter((feature) => possible.includes(feature)));
}

/** Undefined without any, which is the usual case. */
function readAccountLimits({ rpm, tpm, cost_day: day, cost_month: month }: AccountRow): AccountLimits | undefined {
  if (rpm === null && tpm === null && day === null && month === null) return undefined;
  const nanosOf = (text: string | null): Nanos | undefined => (text === null ? undefined : parseNanos(text));
  return { rpm: rpm ?? undefined, tpm: tpm ?? undefined, costDay: nanosOf(day), costMonth: nanosOf(month) };
}

function readAssets(
  { id, assets, assets_secret_sealed: sealed }: AccountRow,
  sealer: Sealer,
): AssetSettings | undefined {
  if (assets === null || sealed === null) return undefined;
  const stored = assets as { base_url: string; access_key: string; region: string; project: string };
  return {
    baseUrl: stored.base_url.replace(/\/+$/, ''),
    accessKey: stored.access_key,
    secretKey: sealer.open(sealed, `accounts.assets_secret:${id}`),
    region: stored.region,
    project: stored.project,
  };
}

const ofGroup = (column: string, group: string | undefined) =>
  group === undefined ? sql`true` : sql`${sql.ref(column)} = ${group}`;

export async function readModelLines(db: Db, group?: string): Promise<Map<string, ModelLine[]>> {
  const { rows } = await sql<Row<'models'>>`
    select * from models where ${ofGroup('group_id', group)} order by position, id`.execute(db);
  const prices = await readPrices(db, group);
  const byGroup = Map.groupBy(rows, (row) => row.group_id);
  return new Map(
    [...byGroup].map(([group, lines]) => [
      group,
      lines.map((row) => ({
        id: row.id,
        pattern: row.pattern,
        upstream: row.upstream,
        overrides: row.capabilities as rules.CapabilityOverrides,
        learned: learnedIn(row.learned),
        context: row.context,
        maxOutput: row.max_output,
        fallback: row.fallback,
        isFree: row.free,
        prices: prices.get(row.id) ?? [],
      })),
    ]),
  );
}

/** Leaves out prices of removed models, which exist only because charges refer to them. */
async function readPrices(db: Db, group?: string): Promise<Map<bigint | null, PriceRow[]>> {
  const { rows } = await sql<Row<'prices'>>`
    select * from prices where model_id is not null and ${ofGroup('model_group', group)}
    order by valid_from desc, id desc`.execute(db);
  const byModel = Map.groupBy(rows, (row) => row.model_id);
  return new Map(
    [...byModel].map(([model, prices]) => [
      model,
      prices.map((row) => ({ id: row.id, from: row.valid_from.getTime(), rates: row.rates })),
    ]),
  );
}

/**
 * Import of public prices for models of the catalog: a plan, applied unchanged in one transaction. Old price rows stay,
 * because charges refer to them.
 */
import type { Provider } from '@pydantic/genai-prices';
import { sql } from 'kysely';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import { isGlob, matchesGlob, parseNanos } from '../../core/index.ts';
import type { Db, Row, Tx } from '../../platform/db/index.ts';
import type { Style } from '../../rules/index.ts';
import { VIDEO_RATE_NAMES } from '../../schemas/index.ts';
import { lockSetup } from './apply.ts';
import * as listed from './listed-rates.ts';
import { type LitellmList, litellmPrice } from './litellm-list.ts';
import { listedPrice } from './price-list.ts';
import { priceFrom, savePrice } from './save-price.ts';

export interface ImportOptions {
  /** A group of the catalog; all provider groups when absent. */
  readonly group?: string | undefined;
  readonly model?: string | undefined;
  /** A provider id of the list, instead of the one derived from accounts and style. */
  readonly provider?: string | undefined;
  readonly multiplierPpm: bigint;
  /** A list of the operator, instead of the one of the package. */
  readonly list?: LitellmList | undefined;
  readonly now: number;
}

export interface RateChange {
  readonly rate: string;
  readonly before: string | null;
  readonly after: string | null;
  /** The rate drops to zero, disappears, or changes by more than ten times: probably a mistake. */
  readonly isSuspicious: boolean;
}

export interface PriceChange {
  readonly modelId: bigint;
  readonly group: string;
  readonly model: string;
  /** `provider/model` of the list. */
  readonly source: string;
  readonly from?: string;
  readonly rates: listed.ListedRates;
  readonly cost: listed.ListedRates;
  readonly changes: readonly RateChange[];
}

/** Limits of a model that the catalog has none of; those of an operator stay. */
export interface LimitChange {
  readonly modelId: bigint;
  readonly group: string;
  readonly model: string;
  readonly context: number | null;
  readonly max_output: number | null;
}

export interface ImportPlan {
  readonly changes: readonly PriceChange[];
  /** Without them a call reserves the largest output that a model may have. Only lists of operators have them. */
  readonly limits: readonly LimitChange[];
  readonly unchanged: number;
  readonly remarks: readonly string[];
  readonly skipped: readonly string[];
}

export class ImportError extends Error {}

export async function planImport(db: Db, options: ImportOptions): Promise<ImportPlan> {
  const list = await priceList();
  const lines = await readLines(db, options);
  if (!options.list && options.provider !== undefined && !list.some(({ id }) => id === options.provider))
    throw new ImportError(
      `The price list has no provider "${options.provider}". It has: ${list.map(({ id }) => id).join(', ')}.`,
    );
  const changes: PriceChange[] = [];
  const limits: LimitChange[] = [];
  const remarks: string[] = [];
  const skipped: string[] = [];
  let unchanged = 0;
  for (const line of lines) {
    const name = `${line.pattern} of ${line.group_id}`;
    const found = await findPrice(db, list, line, options);
    if ('skip' in found) {
      skipped.push(`${name}: ${found.skip}`);
      continue;
    }
    remarks.push(...found.remarks.map((remark) => `${name}: ${remark}`));
    limits.push(...limitChanges(line, found.limits));
    for (const window of found.windows) {
      const source = found.source ?? line.upstream ?? line.pattern;
      const change = await changeOf(db, line, { ...window, source, ppm: options.multiplierPpm });
      if (change) changes.push(change);
      else unchanged += 1;
    }
  }
  return { changes, limits, unchanged, remarks, skipped };
}

/** Fails when the configuration has changed since `shown` was planned. */
export async function applyImport(db: Db, shown: ImportPlan, options: ImportOptions, by: Actor): Promise<void> {
  await db.transaction().execute(async (tx: Tx) => {
    await lockSetup(tx);
    const plan = await planImport(tx, options);
    if (fingerprint(plan) !== fingerprint(shown))
      throw new ImportError('The configuration changed meanwhile; nothing was applied. Run the import again.');
    for (const { modelId: id, group, model, rates, cost, from } of plan.changes)
      await savePrice(tx, { id, group, model }, { rates, cost, validFrom: from }, by);
    const after = plan.changes.map(({ group, model, source, rates, cost }) => ({ group, model, source, rates, cost }));
    for (const { modelId, context, max_output } of plan.limits)
      await tx.updateTable('models').set({ context, max_output }).where('id', '=', modelId).execute();
    const limits = plan.limits.map(({ modelId: _, ...limit }) => limit);
    if (after.length + limits.length > 0)
      await writeAudit(tx, by, {
        action: 'prices.imported',
        subject: 'prices',
        after: { prices: after, ...(limits.length > 0 && { limits }) },
      });
  });
}

const fingerprint = (plan: ImportPlan): string =>
  JSON.stringify(plan, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

/** The list is part of the package; nothing is fetched. It is large, so it is loaded only here. */
async function priceList(): Promise<readonly Provider[]> {
  const { waitForUpdate } = await import('@pydantic/genai-prices');
  return (await waitForUpdate()) ?? [];
}

type CatalogLine = Row<'models'> & Pick<Row<'groups'>, 'style'>;

async function readLines(db: Db, { group, model }: ImportOptions): Promise<CatalogLine[]> {
  const { rows: lines } = await sql<CatalogLine>`
    select m.*, g.style from models m join groups g on g.id = m.group_id
    where g.style <> 'video' order by g.position, g.id, m.position, m.id`.execute(db);
  const groups = new Set(lines.map((line) => line.group_id));
  if (group !== undefined && !groups.has(group))
    throw new ImportError(
      `There is no provider group "${group}" with models. There ${groups.size === 0 ? 'is none yet; apply a configuration first' : `are: ${[...groups].join(', ')}`}.`,
    );
  const own = lines.filter((line) => group === undefined || line.group_id === group);
  const named = own.filter((line) => model === undefined || line.pattern === model);
  if (model !== undefined && named.length === 0)
    throw new ImportError(
      `The catalog has no model "${model}"${group === undefined ? '' : ` in ${group}`}; "dragoman prices list" shows what it has.`,
    );
  return named;
}

type Listed = listed.ListedPrice & { readonly source?: string; readonly limits?: listed.ListedLimits };

async function findPrice(
  db: Db,
  list: readonly Provider[],
  line: CatalogLine,
  options: ImportOptions,
): Promise<Listed> {
  const name = line.upstream ?? line.pattern;
  if (line.free) return { skip: 'the configuration says that it is free' };
  if (options.list) return litellmPrice(options.list, name, options.provider);
  const provider = await providerOf(db, list, line, options);
  return 'skip' in provider ? provider : listedModel(provider, name, options.now);
}

function limitChanges(
  { id, group_id, pattern, ...line }: CatalogLine,
  limits: listed.ListedLimits | undefined,
): LimitChange[] {
  const context = line.context ?? limits?.context ?? null;
  const max_output = line.max_output ?? limits?.maxOutput ?? null;
  if (context === line.context && max_output === line.max_output) return [];
  return [{ modelId: id, group: group_id, model: pattern, context, max_output }];
}

/** The price that is in force of a model of a provider; undefined where the list has none. */
export async function publicRates(
  provider: string,
  model: string,
  now: number,
): Promise<listed.ListedRates | undefined> {
  const found = (await priceList()).find(({ id }) => id === provider);
  const price = found && (await listedModel(found, model, now));
  return price && 'windows' in price ? price.windows[0]?.rates : undefined;
}

async function listedModel(provider: Provider, name: string, now: number): Promise<Listed> {
  const { calcPrice } = await import('@pydantic/genai-prices');
  const models = isGlob(name)
    ? provider.models.filter(({ id }) => matchesGlob(name, id))
    : // Applies the rules of the list for aliases and dated names.
      [calcPrice({}, name, { provider, timestamp: new Date(now) })?.model].filter((model) => model !== undefined);
  const [first, ...others] = models;
  if (!first) return { skip: `the price list of ${provider.id} has no such model` };
  const price = listedPrice(first, now);
  if (others.some((other) => JSON.stringify(listedPrice(other, now)) !== JSON.stringify(price)))
    return {
      skip: `it matches ${models.length} models of ${provider.id} with different prices (${models
        .slice(0, 3)
        .map(({ id }) => id)
        .join(', ')}${models.length > 3 ? ', ...' : ''}); list them one by one`,
    };
  return { ...price, source: `${provider.id}/${first.id}` };
}

/** The provider of a style when no account URL matches a provider of the list. */
const DEFAULT_PROVIDERS: Readonly<Record<Style, string>> = {
  responses: 'openai',
  messages: 'anthropic',
  'generate-content': 'google',
};

async function providerOf(
  db: Db,
  list: readonly Provider[],
  line: CatalogLine,
  options: ImportOptions,
): Promise<Provider | { skip: string }> {
  const byId = (id: string | undefined) => list.find((provider) => provider.id === id);
  const { rows: accounts } = await sql<{ base_url: string }>`
    select base_url from accounts a join account_groups g on g.account_id = a.id
    where g.group_id = ${line.group_id}`.execute(db);
  const known = new Set(
    accounts.flatMap(({ base_url }) => {
      const provider = list.find(({ api_pattern }) => new RegExp(`^(?:${api_pattern})`).test(base_url));
      return provider ? [provider.id] : [];
    }),
  );
  if (options.provider === undefined && known.size > 1)
    return { skip: `accounts of ${line.group_id} belong to ${[...known].join(' and ')}; choose with --provider` };
  const [own] = known;
  const provider = byId(options.provider ?? own ?? DEFAULT_PROVIDERS[line.style as Style]);
  return provider ?? { skip: `the price list has no provider for ${line.group_id}; choose with --provider` };
}

/** Where the list does not have them, those of an operator stay. */
const OWN_RATES = ['per_image', 'tiers', ...VIDEO_RATE_NAMES];

async function changeOf(
  db: Db,
  line: CatalogLine,
  { from, rates: cost, source, ppm }: listed.ListedWindow & { readonly source: string; readonly ppm: bigint },
): Promise<PriceChange | undefined> {
  const imported = listed.multiplyRates(cost, ppm);
  const stored = await priceFrom(db, line.id, from).executeTakeFirst();
  const before = (stored?.rates ?? {}) as Record<string, unknown>;
  const kept = OWN_RATES.filter((name) => name in before && !(name in imported));
  const rates = { ...imported, ...Object.fromEntries(kept.map((name) => [name, before[name]])) } as listed.ListedRates;
  const changes = rateChanges(before, rates);
  if (changes.length === 0 && stored?.cost && rateChanges(stored.cost, cost).length === 0) return undefined;
  return {
    modelId: line.id,
    group: line.group_id,
    model: line.pattern,
    source,
    ...(from !== undefined && { from }),
    rates,
    cost,
    changes,
  };
}

function rateChanges(before: unknown, after: unknown): RateChange[] {
  const [was, is] = [listed.singleRates(before), listed.singleRates(after)];
  const names = new Set([...was.keys(), ...is.keys()]);
  return [...names].sort().flatMap((rate): RateChange[] => {
    const [old, now] = [was.get(rate), is.get(rate)];
    if (old !== undefined && now !== undefined && parseNanos(old) === parseNanos(now)) return [];
    return [{ rate, before: old ?? null, after: now ?? null, isSuspicious: isSuspicious(old, now) }];
  });
}

function isSuspicious(before: string | undefined, after: string | undefined): boolean {
  const [was, is] = [parseNanos(before ?? '') ?? 0n, parseNanos(after ?? '') ?? 0n];
  return was > 0n && (is === 0n || is > was * 10n || is * 10n < was);
}

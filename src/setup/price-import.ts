/**
 * Prices of the public list for the models of the catalog: first a plan that says all that would change and all that cannot be
 * had, then, if it still is the same, everything of it in one transaction. Old rows stay; charges name them.
 */
import type { Provider } from '@pydantic/genai-prices';
import { sql, type Transaction } from 'kysely';
import { formatNanos, isGlob, matchesGlob, type Nanos, parseNanos } from '../core/index.ts';
import type { Db, Rows } from '../db/index.ts';
import { writeAudit } from '../identity/index.ts';
import type { Style } from '../rules/index.ts';
import { SETUP_LOCK } from './apply.ts';
import { type ListedRates, type ListedWindow, listedPrice, multiplied, type TierChoice } from './price-list.ts';
import { savePrice } from './save-price.ts';

export interface ImportOptions {
  /** Of the catalog; all provider groups when absent. */
  readonly group?: string | undefined;
  /** As the catalog spells it. */
  readonly model?: string | undefined;
  /** An id of the list, instead of what accounts and style suggest. */
  readonly provider?: string | undefined;
  /** Our prices are the provider's times this, in parts per million. */
  readonly multiplierPpm: bigint;
  readonly tiers?: TierChoice | undefined;
  readonly now: number;
}

export interface RateChange {
  readonly rate: string;
  readonly before: string | null;
  readonly after: string | null;
  /** To nothing, or by more than ten times: more often a mistake than a price. */
  readonly isSuspicious: boolean;
}

export interface PriceChange {
  readonly modelId: bigint;
  readonly group: string;
  readonly model: string;
  /** The model of the list it was taken from. */
  readonly source: string;
  /** Absent: now. */
  readonly from?: string;
  readonly rates: ListedRates;
  /** What the provider takes. */
  readonly cost: ListedRates;
  /** Empty when only the provider's part was not known, or another. */
  readonly changes: readonly RateChange[];
}

export interface ImportPlan {
  readonly changes: readonly PriceChange[];
  readonly unchanged: number;
  readonly remarks: readonly string[];
  /** What could not be had, and why. */
  readonly skipped: readonly string[];
}

/** A wish that cannot be met as it is; a sentence for the operator. */
export class ImportError extends Error {}

export async function planImport(db: Db, options: ImportOptions): Promise<ImportPlan> {
  const list = await priceList();
  const lines = await readLines(db, options);
  if (options.provider !== undefined && !list.some(({ id }) => id === options.provider))
    throw new ImportError(
      `The price list has no provider "${options.provider}". It has: ${list.map(({ id }) => id).join(', ')}.`,
    );
  const changes: PriceChange[] = [];
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
    for (const window of found.windows) {
      const change = await changeOf(db, line, found.source, window);
      if (change) changes.push(change);
      else unchanged += 1;
    }
  }
  return { changes, unchanged, remarks, skipped };
}

/** Everything or nothing; refuses when the plan is not what it was when it was shown. */
export async function applyImport(db: Db, shown: ImportPlan, options: ImportOptions): Promise<void> {
  await db.transaction().execute(async (tx: Transaction<Rows>) => {
    await sql`select pg_advisory_xact_lock(${SETUP_LOCK})`.execute(tx);
    const plan = await planImport(tx, options);
    if (textOf(plan) !== textOf(shown))
      throw new ImportError('The configuration was changed meanwhile; nothing was applied. Look at it again.');
    for (const { modelId, rates, cost, from } of plan.changes)
      await savePrice(tx, modelId, { rates, cost, validFrom: from });
    const after = plan.changes.map(({ group, model, source, rates, cost }) => ({ group, model, source, rates, cost }));
    if (after.length > 0)
      await writeAudit(
        tx,
        { actor: 'cli' },
        { action: 'prices.imported', subject: 'prices', after: { prices: after } },
      );
  });
}

const textOf = (plan: ImportPlan): string =>
  JSON.stringify(plan, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

/** Comes with the package: nothing is fetched. Large, so it is read only here. */
async function priceList(): Promise<readonly Provider[]> {
  const { waitForUpdate } = await import('@pydantic/genai-prices');
  return (await waitForUpdate()) ?? [];
}

interface Line {
  readonly id: bigint;
  readonly group_id: string;
  readonly pattern: string;
  readonly upstream: string | null;
  readonly context: number | null;
  readonly style: string;
}

async function readLines(db: Db, { group, model }: ImportOptions): Promise<readonly Line[]> {
  const lines = await db
    .selectFrom('models as m')
    .innerJoin('groups as g', 'g.id', 'm.group_id')
    .select(['m.id', 'm.group_id', 'm.pattern', 'm.upstream', 'm.context', 'g.style'])
    .where('g.style', '<>', 'video')
    .orderBy('g.position')
    .orderBy('g.id')
    .orderBy('m.position')
    .orderBy('m.id')
    .execute();
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

type Found =
  | { readonly source: string; readonly windows: readonly PricedWindow[]; readonly remarks: readonly string[] }
  | { readonly skip: string };
interface PricedWindow extends ListedWindow {
  readonly cost: ListedRates;
}

async function findPrice(db: Db, list: readonly Provider[], line: Line, options: ImportOptions): Promise<Found> {
  const provider = await providerOf(db, list, line, options);
  if ('skip' in provider) return provider;
  const { calcPrice } = await import('@pydantic/genai-prices');
  const name = line.upstream ?? line.pattern;
  const models = isGlob(name)
    ? provider.models.filter(({ id }) => matchesGlob(name, id))
    : // The list's own rules for aliases and dated names.
      [calcPrice({}, name, { provider, timestamp: new Date(options.now) })?.model].filter(
        (model) => model !== undefined,
      );
  const [first, ...others] = models;
  if (!first) return { skip: `the price list of ${provider.id} has no such model` };
  const read = (model: typeof first) =>
    listedPrice(model, { now: options.now, context: line.context ?? undefined, tiers: options.tiers });
  const seed = read(first);
  if (others.some((other) => JSON.stringify(read(other)) !== JSON.stringify(seed)))
    return {
      skip: `it stands for ${models.length} models of ${provider.id} with different prices (${models
        .slice(0, 3)
        .map(({ id }) => id)
        .join(', ')}${models.length > 3 ? ', ...' : ''}); name them one by one`,
    };
  if ('skip' in seed) return seed;
  const windows: PricedWindow[] = [];
  for (const { from, rates: cost } of seed.windows) {
    const rates = multiplied(cost, options.multiplierPpm);
    if (isSkip(rates)) return rates;
    windows.push({ ...(from !== undefined && { from }), rates, cost });
  }
  return { source: `${provider.id}/${first.id}`, windows, remarks: seed.remarks };
}

const isSkip = (value: ListedRates | { skip: string }): value is { skip: string } => 'skip' in value;

/** Whose models a style usually means, when the addresses of its accounts say nothing else. */
const USUAL: Readonly<Record<Style, string>> = {
  responses: 'openai',
  messages: 'anthropic',
  'generate-content': 'google',
};

async function providerOf(
  db: Db,
  list: readonly Provider[],
  line: Line,
  options: ImportOptions,
): Promise<Provider | { skip: string }> {
  const byId = (id: string | undefined) => list.find((provider) => provider.id === id);
  const accounts = await db.selectFrom('accounts').select('base_url').where('group_id', '=', line.group_id).execute();
  const known = new Set(
    accounts.flatMap(({ base_url }) => {
      const provider = list.find(({ api_pattern }) => new RegExp(`^(?:${api_pattern})`).test(base_url));
      return provider ? [provider.id] : [];
    }),
  );
  if (options.provider === undefined && known.size > 1)
    return { skip: `accounts of ${line.group_id} belong to ${[...known].join(' and ')}; choose with --provider` };
  const [own] = known;
  const provider = byId(options.provider ?? own ?? USUAL[line.style as Style]);
  return provider ?? { skip: `the price list has no provider for ${line.group_id}; choose with --provider` };
}

/** Rates that the list never has; what an operator has set there stays. */
const OURS = ['per_image', 'video', 'video_with_video_input'];

async function changeOf(
  db: Db,
  line: Line,
  source: string,
  { from, rates: listed, cost }: PricedWindow,
): Promise<PriceChange | undefined> {
  const stored = await db
    .selectFrom('prices')
    .select(['rates', 'cost'])
    .where('model_id', '=', line.id)
    .where('valid_from', '<=', sql<Date>`greatest(${from ?? null}::timestamptz, now())`)
    .orderBy('valid_from', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  const before = (stored?.rates ?? {}) as Record<string, unknown>;
  const kept = Object.fromEntries(OURS.flatMap((name) => (name in before ? [[name, before[name]]] : [])));
  const rates = { ...listed, ...kept } as ListedRates;
  const names = new Set([...Object.keys(before), ...Object.keys(listed)]);
  const changes = [...names].sort().flatMap((rate): RateChange[] => {
    if (OURS.includes(rate)) return [];
    const [was, is] = [amountOf(before[rate]), amountOf(listed[rate])];
    if (was === is) return [];
    return [{ rate, before: shown(was), after: shown(is), isSuspicious: isSuspicious(was, is) }];
  });
  const sameCost = isSameCost((stored?.cost ?? undefined) as ListedRates | undefined, cost);
  if (changes.length === 0 && sameCost) return undefined;
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

const amountOf = (value: unknown): Nanos | undefined => (typeof value === 'string' ? parseNanos(value) : undefined);
const shown = (nanos: Nanos | undefined): string | null => (nanos === undefined ? null : formatNanos(nanos));

const isSameCost = (before: ListedRates | undefined, after: ListedRates): boolean =>
  before !== undefined &&
  Object.keys(before).length === Object.keys(after).length &&
  Object.entries(after).every(([rate, text]) => amountOf(before[rate]) === parseNanos(text));

const isSuspicious = (was: Nanos | undefined, is: Nanos | undefined): boolean =>
  was !== undefined && was > 0n && (is === undefined || is === 0n || is > was * 10n || is * 10n < was);

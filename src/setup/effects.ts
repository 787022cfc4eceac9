/**
 * The effect of a configuration file on the model names that callers use: the line that each name resolves to, and its price, before
 * and after. A line that moves can change the price of names that the file does not name.
 */
import { sql } from 'kysely';
import { Catalog, priceAt, readModelLines } from '../catalog/index.ts';
import { isGlob } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import { SetupError, type SetupFile } from './schema.ts';

/** A pattern of the catalog, and the rates that are charged for it now; `free`, or null when it has no price. */
export interface ResolvedPrice {
  readonly line: string;
  readonly prices: unknown;
}

export interface NameEffect {
  readonly group: string;
  readonly model: string;
  readonly before: ResolvedPrice;
  /** Null when the group has no such model any more. */
  readonly after: ResolvedPrice | null;
  /** The file names the model, or the line that it resolves to before and after. */
  readonly named: boolean;
}

/** Model names by group, and what they resolve to. */
export interface KnownNames {
  readonly catalog: Catalog;
  readonly names: ReadonlyMap<string, ReadonlySet<string>>;
  readonly now: number;
}

/** Names that were used longer ago are of no interest. */
const USED_DAYS = 30;
/** Bounds the work: callers choose names where the catalog has patterns. */
const MAX_USED_NAMES = 10_000;

/** A file that changes prices of model names it does not name; nothing was applied. */
export class RepricingError extends SetupError {
  constructor(effects: readonly NameEffect[]) {
    super(effects.map(describeEffect));
  }
}

export async function readNames(db: Db): Promise<KnownNames> {
  const lines = await readModelLines(db);
  const names = new Map([...lines].map(([group, own]) => [group, new Set(own.map(({ pattern }) => pattern))]));
  const { rows } = await sql<{ now: Date }>`select now()`.execute(db);
  const used = await sql<{ group_id: string; model: string }>`
    select distinct group_id, model from usage_daily where day > current_date - ${USED_DAYS}::int
    order by 1, 2 limit ${MAX_USED_NAMES}`.execute(db);
  for (const { group_id, model } of used.rows) names.get(group_id)?.add(model);
  return { catalog: new Catalog([], [], lines), names, now: rows[0]?.now.getTime() ?? 0 };
}

export function effectsOf(before: KnownNames, after: KnownNames, file: SetupFile): NameEffect[] {
  const named = new Set(file.models.flatMap(({ id, groups }) => groups.map((group) => `${group}\n${id}`)));
  return [...before.names].flatMap(([group, names]) =>
    [...new Set([...names, ...(after.names.get(group) ?? [])])].flatMap((model) => {
      // Patterns are no names.
      if (isGlob(model)) return [];
      const [was, is] = [resolvedPrice(before, group, model), resolvedPrice(after, group, model)];
      if (!was || JSON.stringify(was) === JSON.stringify(is)) return [];
      const isNamed = (pattern: string): boolean => named.has(`${group}\n${pattern}`);
      return [
        {
          group,
          model,
          before: was,
          after: is ?? null,
          named: isNamed(model) || (was.line === is?.line && isNamed(was.line)),
        },
      ];
    }),
  );
}

/** True for an effect that the reader of the file cannot see in it. */
export const isUnnamedRepricing = ({ named, before, after }: NameEffect): boolean =>
  !named && after !== null && JSON.stringify(before.prices) !== JSON.stringify(after.prices);

export function describeEffect({ group, model, before, after, named }: NameEffect): string {
  const line = after === null || after.line === before.line ? before.line : `${before.line} -> ${after.line}`;
  const price =
    after === null
      ? 'no longer available'
      : JSON.stringify(before.prices) === JSON.stringify(after.prices)
        ? 'same price'
        : `${ratesText(before.prices)} -> ${ratesText(after.prices)}`;
  return `${model} of ${group} (line ${line}): ${price}${named ? '' : '; not named in the file'}`;
}

/** Rates as `input=1 output=2`. */
const ratesText = (rates: unknown): string =>
  rates === null || rates === 'free'
    ? (rates ?? 'no price')
    : Object.entries(rates as object)
        .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
        .join(' ');

function resolvedPrice({ catalog, now }: KnownNames, group: string, model: string): ResolvedPrice | undefined {
  const line = catalog.resolve(group, model)?.line;
  return line && { line: line.pattern, prices: priceAt(line, now)?.rates ?? (line.isFree ? 'free' : null) };
}

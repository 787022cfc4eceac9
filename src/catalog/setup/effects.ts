/**
 * The effect of a configuration file on the names that callers use. A line that moves can change the price of names
 * that the file does not name.
 */
import { sql } from 'kysely';
import { entryOf, isGlob, utcDay } from '../../core/index.ts';
import { readBreakdown } from '../../ledger/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { NameEffect, ResolvedPrice, SetupFile } from '../../schemas/index.ts';
import { Catalog, priceAt, type readModelLines } from '../index.ts';
import { SetupError } from './setup-document.ts';

export type ModelLines = Awaited<ReturnType<typeof readModelLines>>;

/** Names that were used longer ago are of no interest. */
const USED_MS = 30 * 86_400_000;
/** Bounds the work: callers choose names where the catalog has patterns. */
const MAX_USED_NAMES = 10_000;

/** A file that changes prices of model names it does not name; nothing was applied. */
export class RepricingError extends SetupError {
  constructor(effects: readonly NameEffect[]) {
    super(effects.map(describeEffect));
  }
}

export async function findEffects(
  db: Db,
  { before, after }: { readonly before: ModelLines; readonly after: ModelLines },
  file: SetupFile,
): Promise<NameEffect[]> {
  const { rows } = await sql<{ now: Date }>`select now()`.execute(db);
  const now = rows[0]?.now.getTime() ?? 0;
  const named = new Set(file.models.flatMap(({ id, groups }) => groups.map((group) => `${group}\n${id}`)));
  const [was, is] = [new Catalog([], [], before), new Catalog([], [], after)];
  const names = [...(await readNames(db, [before, after], now))].flatMap(([group, own]) =>
    [...own].map((model) => ({ group, model })),
  );
  return flatMapInPieces(names, ({ group, model }) => {
    // Patterns are not names.
    if (isGlob(model)) return [];
    const [old, next] = [resolvedPrice(was, group, model, now), resolvedPrice(is, group, model, now)];
    if (!old || JSON.stringify(old) === JSON.stringify(next)) return [];
    const isNamed = (pattern: string): boolean => named.has(`${group}\n${pattern}`);
    const isNamedEffect = isNamed(model) || (old.line === next?.line && isNamed(old.line));
    return [{ group, model, before: old, after: next ?? null, named: isNamedEffect }];
  });
}

async function readNames(db: Db, catalogs: readonly ModelLines[], now: number): Promise<Map<string, Set<string>>> {
  const names = new Map<string, Set<string>>();
  for (const [group, lines] of catalogs.flatMap((catalog) => [...catalog])) {
    const known = entryOf(names, group, () => new Set());
    for (const { pattern } of lines) known.add(pattern);
  }
  const used = await readBreakdown(db, {
    start: utcDay(now - USED_MS),
    end: utcDay(now),
    by: ['group', 'model'],
    only: {},
    limit: MAX_USED_NAMES,
  });
  for (const { group = '', model = '' } of used) names.get(group)?.add(model);
  return names;
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

const ratesText = (rates: unknown): string =>
  rates === null || rates === 'free'
    ? (rates ?? 'no price')
    : Object.entries(rates as object)
        .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
        .join(' ');

function resolvedPrice(catalog: Catalog, group: string, model: string, now: number): ResolvedPrice | undefined {
  const line = catalog.resolve(group, model)?.line;
  const rates = line && (priceAt(line, now)?.rates as Record<string, unknown> | undefined);
  return line && { line: line.pattern, prices: rates ?? (line.isFree ? 'free' : null) };
}

/** Elements of one turn of the event loop: each may be compared with thousands of patterns. */
const PIECE = 100;

/** `flatMap` over many elements of a configuration, with other work of the process in between. */
export async function flatMapInPieces<T, R>(list: Iterable<T>, work: (one: T) => readonly R[]): Promise<R[]> {
  const results: R[] = [];
  let count = 0;
  for (const one of list) {
    results.push(...work(one));
    count += 1;
    if (count % PIECE === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return results;
}

/** Likely mistakes in a configuration file that is valid: addresses that lead nowhere, models without effect, calls that cost nothing. */
import { sql } from 'kysely';
import { isGlob, matchesGlob, parseNanos } from '../../core/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import { mistakenBaseUrl, type Style } from '../../rules/index.ts';
import type { SetupFile } from '../../schemas/index.ts';
import { readModelLines } from '../index.ts';
import { fallbackWarnings } from './fallback.ts';
import { flatMapInPieces } from './pieces.ts';
import type { Known } from './references.ts';
import { located } from './setup-document.ts';

/** Reads the models as they are after the file was applied. */
export async function findWarnings(tx: Tx, file: SetupFile, groups: Known['groups']): Promise<string[]> {
  const lines = await readModelLines(tx);
  const { rows } = await sql<{ now: Date }>`select now()`.execute(tx);
  const now = rows[0]?.now.getTime() ?? 0;
  return located(file, [
    ...addresses(file, groups),
    ...(await hiddenModels(file, (group) => (lines.get(group) ?? []).map(({ pattern }) => pattern))),
    ...zeroPrices(file),
    ...fallbackWarnings(file, { lines, now }, groups),
  ]);
}

const addresses = ({ accounts }: SetupFile, groups: Known['groups']): string[] =>
  accounts.flatMap(({ group, base_url, adapter, cloud }, n) => {
    const style = groups.get(group)?.style;
    const form = cloud?.kind ?? (style as Style | 'video' | undefined);
    const mistake = form && adapter !== 'dragoman' && mistakenBaseUrl(form, base_url);
    return mistake
      ? [`accounts[${n}].base_url: calls go to ${mistake.calls}; "${mistake.meant}" was probably meant`]
      : [];
  });

/** A name resolves to the first line of its group that matches. */
async function hiddenModels(
  { models }: SetupFile,
  patternsOf: (group: string) => readonly string[],
): Promise<string[]> {
  const hiding = new Map<string, string>();
  for (const group of new Set(models.flatMap(({ groups }) => groups))) {
    const before: string[] = [];
    await flatMapInPieces(patternsOf(group), (pattern) => {
      // What matches a pattern as text matches every name of the pattern, because the text has its asterisks.
      const by = before.find((earlier) => matchesGlob(earlier, pattern));
      if (by !== undefined) hiding.set(`${group}\n${pattern}`, by);
      if (isGlob(pattern)) before.push(pattern);
      return [];
    });
  }
  return models.flatMap(({ id, groups }, n) =>
    groups.flatMap((group) => {
      const by = hiding.get(`${group}\n${id}`);
      return by === undefined
        ? []
        : [`models[${n}].id: "${id}" has no effect in group ${group}, because "${by}" comes before it; move it up`];
    }),
  );
}

const zeroPrices = ({ models }: SetupFile): string[] =>
  models.flatMap(({ prices = {} }, n) => {
    const amounts = amountsIn(prices);
    if (amounts.length > 0 && amounts.every(isZero))
      return [`models[${n}].prices: every amount is 0, so calls cost nothing; write free: true if this is intended`];
    return prices.input !== undefined && isZero(prices.input)
      ? [`models[${n}].prices.input: 0, so that prompts cost nothing`]
      : [];
  });

const amountsIn = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(amountsIn)
      : [];

const isZero = (amount: string): boolean => parseNanos(amount) === 0n;

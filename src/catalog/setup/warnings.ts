/**
 * Likely mistakes in a configuration file that is valid: addresses that lead nowhere, models without effect, calls that
 * cost nothing.
 */
import { sql } from 'kysely';
import { isGlob, matchesGlob, parseNanos, type Sealer, type SealLocation, WrongMasterKey } from '../../core/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import { mistakenBaseUrl, type Style } from '../../rules/index.ts';
import type { SetupFile } from '../../schemas/index.ts';
import { credentialLocation, providerIdentity } from '../index.ts';
import { dearLine } from './dear-lines.ts';
import { flatMapInPieces, type ModelLines } from './effects.ts';
import { fallbackWarnings } from './fallback.ts';
import type { Known } from './references.ts';
import { located } from './setup-document.ts';

export async function findWarnings(
  tx: Tx,
  file: SetupFile,
  { groups, lines }: { readonly groups: Known['groups']; readonly lines: ModelLines },
  sealer: Sealer,
): Promise<string[]> {
  const { rows } = await sql<{ now: Date }>`select now()`.execute(tx);
  const now = rows[0]?.now.getTime() ?? 0;
  return located(file, [
    ...addresses(file, groups),
    ...(await sharedCredentials(tx, file, sealer)),
    ...(await hiddenModels(file, (group) => (lines.get(group) ?? []).map(({ pattern }) => pattern))),
    ...zeroPrices(file),
    ...dearLines(file, { lines, now }, groups),
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

/**
 * Two accounts of one credential do not know of each other's faults and calls, and one create may be taken for the
 * other's.
 */
async function sharedCredentials(tx: Tx, { accounts }: SetupFile, sealer: Sealer): Promise<string[]> {
  if (accounts.every(({ api_key }) => api_key === undefined)) return [];
  const rows = await tx.selectFrom('accounts').select(['id', 'base_url', 'credential_sealed']).orderBy('id').execute();
  const identityOf = (baseUrl: string, credential: string | undefined): string | undefined =>
    credential === undefined ? undefined : providerIdentity({ baseUrl: baseUrl.replace(/\/+$/, ''), credential });
  const stored = Map.groupBy(rows, ({ id, base_url, credential_sealed }) =>
    identityOf(base_url, openIfPossible(sealer, credential_sealed, credentialLocation(id))),
  );
  return accounts.flatMap(({ id, base_url, api_key }, n) => {
    const identity = identityOf(base_url, api_key);
    const same = identity === undefined ? [] : (stored.get(identity) ?? []);
    const others = same.flatMap((row) => (row.id === id ? [] : [row.id]));
    return others.length === 0
      ? []
      : [
          `accounts[${n}].api_key: ${others.join(', ')} has the same address and credential; write one account with several groups`,
        ];
  });
}

/** A damaged secret is reported where its account is loaded. */
function openIfPossible(sealer: Sealer, sealed: string, location: SealLocation): string | undefined {
  try {
    return sealer.open(sealed, location);
  } catch (error) {
    if (error instanceof WrongMasterKey) return undefined;
    throw error;
  }
}

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

function dearLines(
  { models }: SetupFile,
  { lines, now }: { readonly lines: ModelLines; readonly now: number },
  groups: Known['groups'],
): string[] {
  const known = new Map(
    [...lines].flatMap(([group, own]) => own.map((line) => [`${group}\n${line.pattern}`, line] as const)),
  );
  return models.flatMap(({ id, groups: names }, n) =>
    names.flatMap((group) => {
      const style = groups.get(group)?.style;
      const line = known.get(`${group}\n${id}`);
      const text = line && style && style !== 'video' ? dearLine(line, style as Style, now) : undefined;
      return text === undefined ? [] : [`models[${n}].prices: ${text}`];
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

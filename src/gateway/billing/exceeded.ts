/** What a reply reports beyond what its model was known to do by itself, and beyond what the request allowed. */

import type { MeteredUsage, Rates, RequestFacts } from '../../ledger/index.ts';
import type { Abilities } from '../../rules/index.ts';
import { PICTURE_TOKENS, tierFactor } from '../../rules/index.ts';

export interface Exceeded {
  readonly abilities: Partial<Abilities>;
  readonly tier?: string | undefined;
}

export interface ReservedUsage {
  readonly counts: RequestFacts;
  readonly rates: Rates;
  /** The names of tiers that the reservation covers beside the standard one. */
  readonly tiers: readonly string[];
  /** The charge is higher than the reservation. */
  readonly isPassed: boolean;
}

/** Undefined for nothing. Estimates and replies of an impossible usage teach nothing. */
export function exceededBy(usage: MeteredUsage, reserved: ReservedUsage): Exceeded | undefined {
  if (usage.estimated || usage.invalid !== undefined) return undefined;
  const abilities = exceededAbilities(usage, reserved);
  const tier = exceededTier(usage, reserved);
  return Object.keys(abilities).length === 0 && tier === undefined ? undefined : { abilities, tier };
}

function exceededAbilities(usage: MeteredUsage, { counts, isPassed }: ReservedUsage): Partial<Abilities> {
  const { input, output, outputImage = 0, outputAudio = 0, outputVideo = 0 } = usage;
  const searches = (usage.searches ?? 0) + (usage.fileSearches ?? 0) + (usage.fetches ?? 0);
  const drawn = outputImage - (counts.maxDrawn ?? Number.POSITIVE_INFINITY);
  const isSearching = searches > (counts.maxSearches ?? 0);
  return {
    ...(drawn > 0 && { pictures: Math.ceil(outputImage / PICTURE_TOKENS) }),
    ...(isSearching && { searches }),
    ...(outputAudio > 0 && counts.writesAudio === false && { sound: true }),
    ...(outputVideo > 0 && counts.writesVideo === false && { video: true }),
    // A few tokens more are no ability of the model, unless they cost more than was reserved.
    ...(isPassed && input > counts.maxInput && !isSearching && { pages: true }),
    ...(isPassed && output > counts.maxOutput + (counts.maxDrawn ?? 0) && drawn <= 0 && { ownLimit: true }),
  };
}

/** A tier that is dearer than the standard one, and was not reserved. */
function exceededTier({ tier }: MeteredUsage, { rates, tiers, isPassed }: ReservedUsage): string | undefined {
  if (tier === undefined || tiers.includes(tier)) return undefined;
  const isPriced = rates.tiers?.has(tier) === true;
  const isDear = isPriced ? isPassed : tierFactor(tier) > 1n;
  return isDear ? tier : undefined;
}

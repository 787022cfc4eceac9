/**
 * Service tiers that a request can choose and that a price can name. They cost the operator more or less than the
 * standard tier.
 */
import type { UpstreamDialect } from './groups.ts';

/** `batch` is of requests of a batch; no single request can choose it. */
export const PRICE_TIERS = ['priority', 'flex', 'fast', 'batch'] as const;
export type PriceTier = (typeof PRICE_TIERS)[number];

interface TierField {
  /**
   * Values of the field, in lower case. `standard` needs no price: `auto` leaves the choice to the operator's account.
   */
  readonly values: ReadonlyMap<string, PriceTier | 'standard'>;
  /** The provider serves the tier or fails, so that its report cannot name another one. */
  readonly isBinding: boolean;
}

/** `scale` is capacity that the operator has bought already. */
const SERVICE_TIER: TierField = {
  values: new Map<string, PriceTier | 'standard'>([
    ['auto', 'standard'],
    ['default', 'standard'],
    ['standard', 'standard'],
    ['standard_only', 'standard'],
    ['unspecified', 'standard'],
    ['scale', 'standard'],
    ['on_demand', 'standard'],
    ['flex', 'flex'],
    ['priority', 'priority'],
    ['fast', 'priority'],
    ['ultrafast', 'priority'],
    ['performance', 'priority'],
  ]),
  isBinding: false,
};

const TIER_FIELDS = {
  service_tier: SERVICE_TIER,
  serviceTier: SERVICE_TIER,
  speed: {
    values: new Map<string, PriceTier | 'standard'>([
      ['standard', 'standard'],
      ['fast', 'fast'],
    ]),
    isBinding: true,
  },
} as const satisfies Record<string, TierField>;

export const TIER_FIELD_NAMES = Object.keys(TIER_FIELDS) as (keyof typeof TIER_FIELDS)[];

/** Dialects whose requests can demand a tier. A messages request only allows or forbids the one of the account. */
export const TIER_DIALECTS: ReadonlySet<UpstreamDialect> = new Set(['chat', 'responses', 'generate', 'converse']);

/** A tier other than the standard one, as a request asks for it. */
export interface ChosenTier {
  readonly field: string;
  /** Undefined for a value that no price can name. */
  readonly tier: PriceTier | undefined;
  readonly isBinding: boolean;
}

/** `read` returns the value of a top-level member. More than one choice is possible. */
export function chosenTiers(read: (name: string) => unknown): ChosenTier[] {
  return TIER_FIELD_NAMES.flatMap((field) => {
    const value = read(field);
    if (value === undefined || value === null) return [];
    const { values, isBinding }: TierField = TIER_FIELDS[field];
    const name = typeof value === 'string' ? value.toLowerCase() : '';
    const tier = values.get(name);
    return tier === 'standard' ? [] : [{ field, tier, isBinding }];
  });
}

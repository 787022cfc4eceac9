/**
 * Service tiers that a request can choose and that a price can name. They cost the operator more or less than the
 * standard tier.
 */
import type { UpstreamDialect } from './groups.ts';

/** `batch` is of requests of a batch; no single request can choose it. */
export const PRICE_TIERS = ['priority', 'flex', 'fast', 'batch'] as const;
export type PriceTier = (typeof PRICE_TIERS)[number];

/** `open`: the provider chooses, such as by a setting of the operator's account. */
type TierValue = PriceTier | 'standard' | 'open';

interface TierField {
  /** Values of the field, in lower case. Only the tiers of prices need a price. */
  readonly values: ReadonlyMap<string, TierValue>;
  /** The provider serves the tier or fails, so that its report cannot name another one. */
  readonly isBinding: boolean;
}

/** `scale` is capacity that the operator has bought already. */
const SERVICE_TIER: TierField = {
  values: new Map<string, TierValue>([
    ['auto', 'open'],
    ['unspecified', 'open'],
    ['scale', 'open'],
    ['default', 'standard'],
    ['standard', 'standard'],
    ['standard_only', 'standard'],
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
    values: new Map<string, TierValue>([
      ['standard', 'open'],
      ['fast', 'fast'],
    ]),
    isBinding: true,
  },
} as const satisfies Record<string, TierField>;

export const TIER_FIELD_NAMES = Object.keys(TIER_FIELDS) as (keyof typeof TIER_FIELDS)[];

/** Headers that clouds read beside the body: Vertex AI, and Bedrock. */
const TIER_HEADERS: Readonly<Record<string, TierField>> = {
  'x-vertex-ai-llm-shared-request-type': SERVICE_TIER,
  // `dedicated` is capacity that the operator has bought already.
  'x-vertex-ai-llm-request-type': {
    values: new Map<string, TierValue>([
      ['shared', 'open'],
      ['dedicated', 'open'],
    ]),
    isBinding: false,
  },
  'x-amzn-bedrock-service-tier': SERVICE_TIER,
  'x-amzn-bedrock-performanceconfig-latency': {
    values: new Map<string, TierValue>([
      ['standard', 'open'],
      ['optimized', 'priority'],
    ]),
    isBinding: false,
  },
};
const TIER_HEADER_NAMES = Object.keys(TIER_HEADERS);

/** Tiers that a provider may serve where the request leaves the choice open, or asks for one that it cannot have. */
export const PROVIDER_TIERS: readonly PriceTier[] = ['priority', 'flex'];

/** Charged for a reported tier without a price, in times of the standard price, where no dearer tier has one. */
const TIER_FACTORS = new Map<string, bigint>([
  ...['standard', 'standard_only', 'default', 'auto', 'on_demand', 'scale', 'flex', 'batch', 'provisioned'].map(
    (name) => [name, 1n] as const,
  ),
  // OpenAI and Google ask twice the standard price or less.
  ['priority', 2n],
  // Anthropic asks six times.
  ['fast', 6n],
]);
const UNKNOWN_TIER_FACTOR = 2n;
export const tierFactor = (tier: string): bigint => TIER_FACTORS.get(tier) ?? UNKNOWN_TIER_FACTOR;

/** Dialects whose requests can demand a tier. A messages request only allows or forbids the one of the account. */
export const TIER_DIALECTS: ReadonlySet<UpstreamDialect> = new Set(['chat', 'responses', 'generate', 'converse']);

/** A tier, as a request asks for it. */
export interface ChosenTier {
  readonly field: string;
  /** Undefined for a value that no price can name. */
  readonly tier: PriceTier | 'standard' | undefined;
  readonly isBinding: boolean;
}

/** `read` returns the value of a top-level member. More than one choice is possible. */
export const chosenTiers = (read: (name: string) => unknown): ChosenTier[] =>
  TIER_FIELD_NAMES.flatMap((field) => choiceIn(field, TIER_FIELDS[field], read(field)));

/** As `chosenTiers`, by the headers of the request. */
export const tiersOfHeaders = (headers: Readonly<Record<string, string | string[] | undefined>>): ChosenTier[] =>
  TIER_HEADER_NAMES.flatMap((name) => choiceIn(name, TIER_HEADERS[name] ?? SERVICE_TIER, headers[name]));

function choiceIn(field: string, { values, isBinding }: TierField, value: unknown): ChosenTier[] {
  if (value === undefined || value === null) return [];
  const tier = values.get(typeof value === 'string' ? value.trim().toLowerCase() : '');
  return tier === 'open' ? [] : [{ field, tier, isBinding }];
}

/** Tiers that are served at a price of their own. */
export const dearTiers = (tiers: readonly ChosenTier[]): ChosenTier[] =>
  tiers.filter(({ tier }) => tier !== 'standard');

/** Service tiers in the words of the two OpenAI dialects: as asked for, and as told in an answer. */
import type { HubMeta } from '../hub/types.ts';

type Tier = NonNullable<HubMeta['serviceTier']>;

/** What a client may ask for. Bought capacity is used by itself where there is some, so `scale` asks for nothing else. */
export const CLIENT_TIERS = {
  auto: 'auto',
  default: 'standard',
  flex: 'flex',
  scale: 'auto',
  priority: 'priority',
  fast: 'priority',
  ultrafast: 'priority',
} as const satisfies Record<string, Tier>;
export const TIER_WORDS = Object.keys(CLIENT_TIERS) as (keyof typeof CLIENT_TIERS)[];

/** What an upstream is asked for. */
export const UPSTREAM_TIERS = {
  auto: undefined,
  standard: 'default',
  priority: 'priority',
  flex: 'flex',
} as const satisfies Record<Tier, string | undefined>;

/** What an upstream says it used, in the hub's words. */
export function tierUsed(word: string | undefined): string | undefined {
  if (word === undefined || word === 'auto') return undefined;
  return USED.get(word) ?? word;
}
const USED: ReadonlyMap<string, string> = new Map([
  ['default', 'standard'],
  ['fast', 'priority'],
  ['ultrafast', 'priority'],
]);

/** What a client is told was used. */
export const tierForClient = (tier: string | undefined): string | undefined => TOLD.get(tier ?? '');
const TOLD: ReadonlyMap<string, string> = new Map([
  ['standard', 'default'],
  ['priority', 'priority'],
  ['fast', 'priority'],
  ['flex', 'flex'],
  ['batch', 'flex'],
  ['scale', 'scale'],
]);

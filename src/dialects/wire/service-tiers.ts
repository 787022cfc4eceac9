/** Service tiers of the two OpenAI dialects: requested by clients, sent upstream, and reported as used. */
import type { HubMeta } from '../hub/types.ts';
import { tableOf } from './read.ts';

type Tier = NonNullable<HubMeta['serviceTier']>;

/** Values a client may send. `scale` maps to `auto`, because providers use purchased capacity by default. */
export const CLIENT_TIERS = {
  auto: 'auto',
  default: 'standard',
  flex: 'flex',
  scale: 'auto',
  priority: 'priority',
  fast: 'priority',
  ultrafast: 'priority',
  // Groq's.
  on_demand: 'standard',
  performance: 'priority',
} as const satisfies Record<string, Tier>;
export const CLIENT_TIER_NAMES = Object.keys(CLIENT_TIERS) as (keyof typeof CLIENT_TIERS)[];

/** Values sent upstream. */
export const UPSTREAM_TIERS = {
  auto: undefined,
  standard: 'default',
  priority: 'priority',
  flex: 'flex',
} as const satisfies Record<Tier, string | undefined>;

/** Returns the hub's name of the tier that an upstream reports as used. */
export function tierUsed(name: string | undefined): string | undefined {
  if (name === undefined || name === 'auto') return undefined;
  return USED_TIERS.get(name) ?? name;
}
const USED_TIERS = tableOf({
  default: 'standard',
  on_demand: 'standard',
  fast: 'priority',
  ultrafast: 'priority',
  performance: 'priority',
});

/** Returns the used tier as the client's dialect names it. */
export const tierForClient = (tier: string | undefined): string | undefined => TIERS_FOR_CLIENT.get(tier ?? '');
const TIERS_FOR_CLIENT = tableOf({
  standard: 'default',
  priority: 'priority',
  fast: 'priority',
  flex: 'flex',
  batch: 'flex',
  scale: 'scale',
});

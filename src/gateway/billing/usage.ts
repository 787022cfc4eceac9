/** Usage of one upstream call: summed over rounds, estimated where the provider reported none, and shown in the log. */
import { type HubUsage, NO_USAGE } from '../../dialects/index.ts';

/** What a call may have used. Computed only where the provider does not report it. */
export interface UsageEstimate {
  input(): number;
  output(): number;
}

/**
 * What a call is charged by: the report, and a marked estimate of what it lacks,
 * such as zeros for a reply that can be seen. `isFinished`: no output means none.
 */
export function chargedUsage(reported: HubUsage | undefined, estimate: UsageEstimate, isFinished: boolean): HubUsage {
  const isReport = reported && (!reported.estimated || reported.invalid !== undefined);
  if (isReport && !(hasNoTokens(reported) && estimate.output() > 0)) return reported;
  const known = reported ?? NO_USAGE;
  const input = known.input > 0 ? known.input : estimate.input();
  const output = Math.max(known.output, estimate.output());
  const { estimated: _, ...counted } = known;
  // Providers omit the count of an output that is empty.
  if (isFinished && known.input > 0 && output === 0) return counted;
  return { ...counted, input, output, estimated: true };
}

/** A report of something else than zeros was refused, and is not charged by an estimate here. */
const hasNoTokens = ({ input, output, cacheRead, cacheWrite, invalid }: HubUsage): boolean =>
  invalid === undefined && input + output + cacheRead + cacheWrite === 0;

export function sumUsage(before: HubUsage | undefined, usage: HubUsage): HubUsage {
  if (!before) return usage;
  const sum: Record<string, unknown> = { ...before, ...usage };
  for (const [name, value] of Object.entries(usage)) {
    const earlier = before[name as keyof HubUsage];
    if (typeof value === 'number' && typeof earlier === 'number') sum[name] = value + earlier;
  }
  if (before.models || usage.models) sum.models = [...(before.models ?? []), ...(usage.models ?? [])];
  const longestPrompt = Math.max(longestOf(before), longestOf(usage));
  return { ...(sum as unknown as HubUsage), longestPrompt };
}

const longestOf = ({ longestPrompt, input }: HubUsage): number => longestPrompt ?? input;

export const withServiceTier = (usage: unknown, tier: unknown): unknown =>
  typeof usage === 'object' && usage !== null && typeof tier === 'string' ? { ...usage, service_tier: tier } : usage;

export const usageLogFields = (usage: HubUsage): Record<string, number | boolean> => ({
  tokensIn: usage.input,
  tokensCached: usage.cacheRead,
  tokensOut: usage.output,
  ...(usage.estimated && { estimated: true }),
});

/** The name of a model as a reply has it; a longer text is none. */
export const modelName = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= MAX_MODEL_NAME ? value : undefined;
const MAX_MODEL_NAME = 200;

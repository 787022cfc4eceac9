/** Usage of one upstream call: summed over rounds, estimated where the provider reported none, and shown in the log. */
import type { HubUsage } from '../../dialects/index.ts';

/** About four characters or bytes make a token, in English text and code. */
const CHARS_PER_TOKEN = 4;

/**
 * The one estimate that a charge may use, for the native and the converted path alike: only when the provider reported no
 * usage. It is marked `estimated` in the log, in the usage record and in reports.
 */
export const estimateUsage = (inputBytes: number, outputChars: number): HubUsage => ({
  input: Math.ceil(inputBytes / CHARS_PER_TOKEN),
  cacheRead: 0,
  cacheWrite: 0,
  output: Math.ceil(outputChars / CHARS_PER_TOKEN),
  estimated: true,
});

/** True when a finished reply carries no usage report. Reported but invalid counts stay as they are. */
export const isUsageMissing = ({ estimated, output, invalid }: HubUsage): boolean =>
  estimated === true && output === 0 && invalid === undefined;

/** Adds the counts of a later round to those of the rounds before it. */
export function sumUsage(before: HubUsage | undefined, usage: HubUsage): HubUsage {
  if (!before) return usage;
  const sum: Record<string, unknown> = { ...before, ...usage };
  for (const [name, value] of Object.entries(usage)) {
    const earlier = before[name as keyof HubUsage];
    if (typeof value === 'number' && typeof earlier === 'number') sum[name] = value + earlier;
  }
  const longestPrompt = Math.max(longestOf(before), longestOf(usage));
  return { ...(sum as unknown as HubUsage), longestPrompt };
}

const longestOf = ({ longestPrompt, input }: HubUsage): number => longestPrompt ?? input;

/** The usage object of a provider with the tier that it reports. */
export const withServiceTier = (usage: unknown, tier: unknown): unknown =>
  typeof usage === 'object' && usage !== null && typeof tier === 'string' ? { ...usage, service_tier: tier } : usage;

export const usageLogFields = (usage: HubUsage): Record<string, number | boolean> => ({
  tokensIn: usage.input,
  tokensCached: usage.cacheRead,
  tokensOut: usage.output,
  ...(usage.estimated && { estimated: true }),
});

/**
 * Estimated token count, for providers that cannot count: the mean of three tokenizers, which
 * differ widely on rare scripts. Reasons: docs/adr/0011-token-estimate.md
 */
import { TOKEN_COSTS } from './token-costs.ts';
import { countFeatures } from './token-feature-counts.ts';
import { TOKEN_FEATURES } from './token-features.ts';

const COSTS = Float64Array.from(TOKEN_FEATURES, (feature) => TOKEN_COSTS[feature]);
/** Shared by all calls, because allocating an array costs more than scanning a short text. */
const counts = new Float64Array(TOKEN_FEATURES.length);

/** Returns at least 1 for a text that is not empty. Time is linear in the length for any text. */
export function estimateTokens(text: string): number {
  if (text === '') return 0;
  countFeatures(text, counts);
  let tokens = 0;
  for (let feature = 0; feature < COSTS.length; feature += 1) {
    tokens += (counts[feature] ?? 0) * (COSTS[feature] ?? 0);
  }
  return Math.max(1, Math.round(tokens));
}

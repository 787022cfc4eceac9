/**
 * Sample texts with their token counts by several tokenizers. The costs of src/core/token-costs.ts are fitted to them.
 */
import { readFileSync } from 'node:fs';

export interface TokenSample {
  readonly group: string;
  readonly kind: string;
  /** Costs are fitted to the calibration half. The check half takes no part in the fit. */
  readonly half: 'calibration' | 'check';
  /** Token count by name of the tokenizer. */
  readonly tokens: Readonly<Record<string, number>>;
  readonly text: string;
}

interface TokenCorpus {
  readonly tokenizers: readonly { name: string; package: string; version: string }[];
  readonly samples: readonly TokenSample[];
}

export const { tokenizers, samples }: TokenCorpus = JSON.parse(
  readFileSync(new URL('../fixtures/tokens.corpus.json', import.meta.url), 'utf8'),
);

/** Returns the mean token count over the tokenizers. */
export function referenceTokens({ tokens }: TokenSample): number {
  return tokenizers.reduce((sum, { name }) => sum + (tokens[name] ?? Number.NaN), 0) / tokenizers.length;
}

/** Returns the error of the estimates of all chosen samples together, relative to their reference. */
export function relativeError(chosen: readonly TokenSample[], estimate: (text: string) => number): number {
  const estimated = chosen.reduce((sum, { text }) => sum + estimate(text), 0);
  return estimated / chosen.reduce((sum, sample) => sum + referenceTokens(sample), 0) - 1;
}

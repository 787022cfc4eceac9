/** Betas of the messages dialect for Bedrock: those of `BEDROCK_BETAS`, without those that the model has refused. */
import type { Account } from '../../catalog/index.ts';
import { BEDROCK_BETAS } from '../../rules/index.ts';
import type { Lessons } from '../rejected-options/lessons.ts';

export const BETA_HEADER = 'anthropic-beta';

/** Of a request on an account at Bedrock. Undefined elsewhere, where the provider ignores what it does not know. */
export function betasOf(header: string | undefined, { cloud }: Account): readonly string[] | undefined {
  if (header === undefined || cloud?.kind !== 'bedrock') return undefined;
  return header
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => BEDROCK_BETAS.has(name));
}

export const acceptableBetas = (betas: readonly string[], { removed }: Lessons): readonly string[] =>
  betas.filter((beta) => !removed.includes(`${BETA_HEADER}.${beta}`));

/** In the form of a body, for the refusal of one of them. */
export const betaMembers = (betas: readonly string[]): Record<string, object> =>
  betas.length === 0 ? {} : { [BETA_HEADER]: Object.fromEntries(betas.map((beta) => [beta, true])) };

export const withBetas = (headers: readonly string[], betas: readonly string[]): string[] => [
  ...headers.filter((_, n) => headers[n - (n % 2)] !== BETA_HEADER),
  ...(betas.length === 0 ? [] : [BETA_HEADER, betas.join(',')]),
];

/** What a converted image request made and used. */
import { type HubItem, type HubUsage, picturesIn, sizeOfPicture } from '../../dialects/index.ts';
import { TOKENS_PER_CONVERTED_IMAGE } from '../../rules/index.ts';
import type { ImageCount } from '../billing/call-facts.ts';

export interface ConvertedImages {
  readonly size: string;
}

/** The provider knows no qualities, so a requested one does not change the price. */
const kindOf = (size: string): string => `${size}/auto`;

export const requestedImages = ({ size }: ConvertedImages): ImageCount => ({ kind: kindOf(size), count: 1 });

/**
 * The pictures of the reply in the size that they have.
 * Without any, the client left while the provider made the one asked for.
 */
export function madeImages(requested: ConvertedImages, items: readonly HubItem[]): ImageCount {
  const [first, ...others] = picturesIn(items);
  if (!first) return requestedImages(requested);
  return { kind: kindOf(sizeOfPicture(first) ?? requested.size), count: 1 + others.length };
}

/** Everything that an image model writes beside its reasoning is an image, unless it reports otherwise. */
export const withImageTokens = (usage: HubUsage): HubUsage =>
  usage.outputImage === undefined
    ? { ...usage, outputImage: Math.max(0, usage.output - (usage.reasoning ?? 0)) }
    : usage;

export const estimateImages = (requested: ConvertedImages, items: readonly HubItem[]): number =>
  madeImages(requested, items).count * TOKENS_PER_CONVERTED_IMAGE.usual;

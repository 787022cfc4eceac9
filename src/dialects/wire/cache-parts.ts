/** Cached parts of the input. They never exceed it together, whatever a server reports (`overlappingCache` in rules/tolerances.ts). */
import { compact, maybeCount, maybeObject } from './read.ts';

export interface CacheParts {
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** Media among the cached input, in the form of the two OpenAI dialects. */
export function cachedMedia(details: unknown): { cacheReadAudio?: number; cacheReadImage?: number } {
  const { audio_tokens: audio, image_tokens: image } = maybeObject(details);
  return compact({ cacheReadAudio: maybeCount(audio), cacheReadImage: maybeCount(image) });
}

export function cacheParts(input: number, read = 0, write = 0): CacheParts {
  const cacheRead = Math.min(read, input);
  return { cacheRead, cacheWrite: Math.min(write, input - cacheRead) };
}

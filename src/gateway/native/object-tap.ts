/** The tap of a reply that is an object which the provider keeps. */
import { concatBuffers } from '../../core/index.ts';
import { CACHED_CONTENTS } from '../../rules/index.ts';
import { readCachedContent } from '../objects/cached-content.ts';
import { NOTHING, type Tap, type TapResult } from './usage-tap.ts';

export class ObjectTap implements Tap {
  readonly isFinishing = false;
  readonly outputTokens = 0;
  readonly #chunks: Buffer[] = [];
  #size = 0;

  push(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size <= CACHED_CONTENTS.shownBytes) this.#chunks.push(chunk);
  }

  /** What cannot be read cannot be owned, so that it is no reply. */
  end(): TapResult {
    const object = readCachedContent(concatBuffers(this.#chunks));
    return { ...NOTHING, isComplete: object !== undefined, object };
  }
}

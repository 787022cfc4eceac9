/**
 * Opaque values that their provider has rejected. A conversation sends them again with every turn, and each would cost a failed
 * attempt first; known ones are removed before sending. Digests only, in the memory of this replica: a miss costs one attempt.
 */
import { hash } from 'node:crypto';
import { type HubRequest, type Opaque, opaquesIn, withoutRejected } from '../../dialects/index.ts';

const MAX_ENTRIES = 20_000;

export class RejectedOpaques {
  /** In order of use, the most recent last. */
  readonly #digests = new Set<string>();

  /** Records the opaque values of a request that succeeded only without them. */
  add(request: HubRequest): void {
    for (const opaque of opaquesIn(request)) this.#put(digestOf(opaque));
    for (const oldest of this.#digests) {
      if (this.#digests.size <= MAX_ENTRIES) return;
      this.#digests.delete(oldest);
    }
  }

  /** Returns the same object when it holds no rejected value. Free while none are known. */
  strip(request: HubRequest): HubRequest {
    if (this.#digests.size === 0) return request;
    const known = new Set(opaquesIn(request).filter((opaque) => this.#digests.has(digestOf(opaque))));
    for (const opaque of known) this.#put(digestOf(opaque));
    return known.size === 0 ? request : withoutRejected(request, (opaque) => known.has(opaque));
  }

  #put(digest: string): void {
    this.#digests.delete(digest);
    this.#digests.add(digest);
  }
}

/** By account, because one account may reject what another accepts. */
const digestOf = ({ account, data }: Opaque): string => hash('sha256', `${account ?? ''}\n${data}`, 'base64');

/**
 * Opaque values that their provider has rejected. A conversation brings them back with every turn, and each time they would cost a
 * failed call first; known ones are left out at once. Digests only, in memory of this replica: a miss costs that one call again.
 */
import { hash } from 'node:crypto';
import { type HubRequest, type Opaque, opaquesIn, withoutRejected } from '../../dialects/index.ts';

const MAX_ENTRIES = 20_000;

export class RejectedOpaques {
  /** The one that was met last stands last. */
  readonly #digests = new Set<string>();

  /** The request was answered only after all its values had been taken out. */
  add(request: HubRequest): void {
    for (const opaque of opaquesIn(request)) this.#put(digestOf(opaque));
    for (const oldest of this.#digests) {
      if (this.#digests.size <= MAX_ENTRIES) return;
      this.#digests.delete(oldest);
    }
  }

  /** The same object when it holds none of them, which is nearly always so and costs nothing while none are known. */
  strip(request: HubRequest): HubRequest {
    if (this.#digests.size === 0) return request;
    const met = new Set(opaquesIn(request).filter((opaque) => this.#digests.has(digestOf(opaque))));
    for (const opaque of met) this.#put(digestOf(opaque));
    return met.size === 0 ? request : withoutRejected(request, (opaque) => met.has(opaque));
  }

  #put(digest: string): void {
    this.#digests.delete(digest);
    this.#digests.add(digest);
  }
}

/** An account may reject what another one takes. */
const digestOf = ({ account, data }: Opaque): string => hash('sha256', `${account ?? ''}\n${data}`, 'base64');

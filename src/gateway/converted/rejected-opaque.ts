/** Opaque values that their provider has rejected, removed before sending: each would cost a failed attempt. For minutes: it may have been a mistake. */
import { hash } from 'node:crypto';
import type { Clock } from '../../core/index.ts';
import { type HubRequest, type Opaque, opaquesIn, withoutRejected } from '../../dialects/index.ts';

const MAX_ENTRIES = 20_000;
const KEPT_MS = 10 * 60_000;

export class RejectedOpaques {
  readonly #clock: Pick<Clock, 'elapsed'>;
  /** Until when each is left out. In order of use, the most recent last. */
  readonly #digests = new Map<string, number>();

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
  }

  add(request: HubRequest): void {
    const until = this.#clock.elapsed() + KEPT_MS;
    for (const opaque of opaquesIn(request)) this.#put(digestOf(opaque), until);
    for (const oldest of this.#digests.keys()) {
      if (this.#digests.size <= MAX_ENTRIES) return;
      this.#digests.delete(oldest);
    }
  }

  /** Returns the same object when it holds no rejected value. Free while none are known. */
  strip(request: HubRequest): HubRequest {
    if (this.#digests.size === 0) return request;
    const known = new Set(opaquesIn(request).filter((opaque) => this.#isKnown(digestOf(opaque))));
    return known.size === 0 ? request : withoutRejected(request, (opaque) => known.has(opaque));
  }

  #isKnown(digest: string): boolean {
    const until = this.#digests.get(digest);
    if (until === undefined) return false;
    if (until > this.#clock.elapsed()) this.#put(digest, until);
    else this.#digests.delete(digest);
    return this.#digests.has(digest);
  }

  #put(digest: string, until: number): void {
    this.#digests.delete(digest);
    this.#digests.set(digest, until);
  }
}

/** By account, because one account may reject what another accepts. */
const digestOf = ({ account, data }: Opaque): string => hash('sha256', `${account ?? ''}\n${data}`, 'base64');

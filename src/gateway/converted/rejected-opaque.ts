/**
 * Opaque values that their provider has rejected, removed before sending:
 * each would cost a failed attempt. For minutes: it may have been a mistake.
 */
import { hash } from 'node:crypto';
import { type Clock, RecentMap } from '../../core/index.ts';
import { type HubRequest, type Opaque, opaquesIn, withoutRejected } from '../../dialects/index.ts';

const MAX_ENTRIES = 20_000;
const KEPT_MS = 10 * 60_000;

export class RejectedOpaques {
  readonly #digests: RecentMap<string, true>;

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#digests = new RecentMap({ entries: MAX_ENTRIES, lifetime: { clock, ms: KEPT_MS } });
  }

  add(request: HubRequest): void {
    for (const opaque of opaquesIn(request)) this.#digests.set(digestOf(opaque), true);
  }

  /** Returns the same object when it holds no rejected value. Free while none are known. */
  strip(request: HubRequest): HubRequest {
    if (this.#digests.isEmpty) return request;
    const known = new Set(opaquesIn(request).filter((opaque) => this.#digests.use(digestOf(opaque))));
    return known.size === 0 ? request : withoutRejected(request, (opaque) => known.has(opaque));
  }
}

/** By account, because one account may reject what another accepts. */
const digestOf = ({ account, data }: Opaque): string => hash('sha256', `${account ?? ''}\n${data}`, 'base64');

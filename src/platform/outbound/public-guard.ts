/**
 * Guard against SSRF for URLs from clients and providers.
 * Parses the URL once, resolves its name once, and requires every address to be public unicast.
 * Callers connect only to the returned addresses, so that DNS rebinding has no effect.
 */
import { Resolver } from 'node:dns/promises';
import { type Clock, isPublicAddress, publicUrl } from '../../core/index.ts';

/** Returns the A and AAAA addresses of a host. May stop when `signal` aborts. */
export type ResolveHost = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface PublicGuardOptions {
  readonly clock: Clock;
  readonly resolve?: ResolveHost;
  readonly resolveMs?: number;
}

export interface AddressRules {
  /** Origins that need not be public. The form of the URL is checked for them too. */
  readonly allow: readonly string[];
  /** Which hosts of other origins may be reached; all public ones by default. Asked before the name is resolved. */
  readonly mayReach?: (host: string) => boolean;
  /** Longest URL in bytes, where the usual limit for URLs from clients is too small. */
  readonly maxBytes?: number;
}

export interface CheckedAddress {
  readonly url: URL;
  /** The only addresses to connect to; undefined for an allowed origin, which may have any. */
  readonly addresses: readonly string[] | undefined;
}

/** Its message reveals nothing about the internal network. */
export interface AddressRejection {
  readonly reason: 'address' | 'host' | 'resolve' | 'time';
  readonly message: string;
}

const RESOLVE_MS = 3_000;

export class PublicGuard {
  readonly #options: Required<PublicGuardOptions>;

  constructor({ clock, resolve = createResolver(), resolveMs = RESOLVE_MS }: PublicGuardOptions) {
    this.#options = { clock, resolve, resolveMs };
  }

  /** Never rejects. Aborts `stop` when the name server takes too long; returns early when the caller aborts it. */
  async check(
    address: string,
    { allow, mayReach, maxBytes }: AddressRules,
    stop = new AbortController(),
  ): Promise<CheckedAddress | AddressRejection> {
    const url = publicUrl(address, allow, maxBytes);
    if (!(url instanceof URL)) return { reason: 'address', message: url.message };
    if (allow.includes(url.origin)) return { url, addresses: undefined };
    if (mayReach?.(url.hostname) === false) return OTHER_HOST;
    const addresses = await this.#resolvePublic(url.hostname, stop);
    return 'reason' in addresses ? addresses : { url, addresses };
  }

  /**
   * Rejects the name when one of its addresses is not public. The client gets the same message as for an unknown name.
   */
  async #resolvePublic(host: string, stop: AbortController): Promise<readonly string[] | AddressRejection> {
    const { clock, resolve, resolveMs } = this.#options;
    const cancel = clock.after(resolveMs, () => stop.abort());
    try {
      // A copy, so that the checked addresses are the ones used.
      const addresses = [...(await orAbort(resolve(host, stop.signal), stop.signal))];
      if (addresses.length === 0) return { reason: 'resolve', message: NOT_PUBLIC };
      return addresses.every(isPublicAddress) ? addresses : { reason: 'address', message: NOT_PUBLIC };
    } catch {
      return stop.signal.aborted ? TOO_LONG : { reason: 'resolve', message: NOT_PUBLIC };
    } finally {
      cancel();
    }
  }
}

const NOT_PUBLIC = 'The host of the address has no public address.';
const OTHER_HOST: AddressRejection = { reason: 'host', message: 'The host of the address may not be reached.' };
const TOO_LONG: AddressRejection = { reason: 'time', message: 'The address took too long to respond.' };

/** By c-ares, not getaddrinfo: no hosts file, and no libuv threads to block. A family that fails is omitted. */
export const createResolver =
  (servers?: readonly string[]): ResolveHost =>
  async (host, signal) => {
    const resolver = new Resolver({ timeout: 900, tries: 2 });
    if (servers) resolver.setServers(servers);
    signal.addEventListener('abort', () => resolver.cancel(), { once: true });
    const families = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
  };

async function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** The address of a client, directly or behind trusted proxies. */
import { hopAddress, isAddressIn, type Log } from '../../core/index.ts';
import type { IncomingRequest } from '../http/index.ts';

/**
 * Warns once when a proxy forwards requests and is not trusted:
 * all its clients then share one address, in limits and in the log.
 */
export function proxyReporter(log: Log, trustedProxies: readonly string[]): (request: IncomingRequest) => void {
  let isReported = trustedProxies.length > 0;
  return ({ headers, address }) => {
    if (isReported || headers['x-forwarded-for'] === undefined) return;
    isReported = true;
    log.warn('proxy.untrusted', {
      address,
      advice: 'X-Forwarded-For is ignored; if this address is your proxy, add it to TRUST_PROXY',
    });
  };
}

/** The address of the socket or, behind trusted proxies, the last untrusted hop of X-Forwarded-For. */
export function clientAddress(request: IncomingRequest, trusted: readonly string[]): string {
  const direct = request.address;
  if (trusted.length === 0 || !isAddressIn(direct, trusted)) return direct;
  const hops = (request.headers['x-forwarded-for'] ?? '').split(',').map(hopAddress);
  return hops.findLast((hop) => hop !== '' && !isAddressIn(hop, trusted)) ?? direct;
}

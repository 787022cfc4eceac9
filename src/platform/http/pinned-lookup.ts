/** Connections to addresses that were checked before: the name is not resolved again. */
import { isIP, type LookupFunction } from 'node:net';
import { isSameAddress } from '../../core/index.ts';
import type { Target } from './open-socket.ts';

/** The same target, reached only at one of `addresses`; at any address when undefined. */
export const pinned = (target: Target, addresses: readonly string[] | undefined): Target =>
  addresses ? { ...target, lookup: fixedLookup(addresses) } : target;

/**
 * Checks the address that was reached: Node calls no lookup hook for a
 * host that is an IP address. Callers reject those too.
 */
export const isPinned = (addresses: readonly string[] | undefined, reached: string): boolean =>
  !addresses || addresses.some((address) => isSameAddress(address, reached));

/** A lookup function for net.connect that returns only the checked addresses. */
function fixedLookup(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all, family }, callback) => {
    const fitting = family === 4 || family === 6 ? entries.filter((entry) => entry.family === family) : entries;
    const first = fitting[0];
    if (!first) callback(Object.assign(new Error('no address of this family'), { code: 'ENOTFOUND' }), '');
    else if (all) callback(null, fitting);
    else callback(null, first.address, first.family);
  };
}

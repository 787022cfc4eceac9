/** Connections to addresses that were checked before: the name is not resolved again. Never reuses a TLS session. */
import { isIP, type LookupFunction } from 'node:net';
import { isSameAddress } from '../core/index.ts';
import { ClientConnection, type ConnectionOwner, type ConnectionUser } from './connection.ts';
import type { OpenSocket, Target } from './open-socket.ts';

/** How to connect: only to one of `addresses`, or to any address when undefined. */
export interface ConnectionRoute {
  readonly addresses: readonly string[] | undefined;
  readonly connectMs: number;
  readonly openSocket: OpenSocket;
  readonly owner?: ConnectionOwner;
}

/**
 * Opens a connection for a single response. Node does not call the lookup hook for a host that is an IP address. `publicUrl` rejects
 * those, and `accepts` would catch one.
 */
export function connectTo(
  target: Target,
  { addresses, connectMs, openSocket, owner }: ConnectionRoute,
  user: ConnectionUser,
): ClientConnection {
  const socket = openSocket({ ...target, ...(addresses && { lookup: fixedLookup(addresses) }) });
  const accepts = (reached: string): boolean =>
    !addresses || addresses.some((address) => isSameAddress(address, reached));
  return new ClientConnection({ socket, isTls: target.isTls, connectMs, accepts, ...(owner && { owner }) }, user);
}

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

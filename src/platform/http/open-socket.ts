/** Opens TCP and TLS sockets. Does not check whether the target is allowed; callers do. */
import { isIP, connect as openPlain, type Socket } from 'node:net';
import { type ConnectionOptions, connect as openTls } from 'node:tls';

export interface Target extends Pick<ConnectionOptions, 'ca' | 'checkServerIdentity' | 'lookup' | 'socket'> {
  /** Host name or IP address, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** TLS session of an earlier connection to the same host; saves most of the handshake. */
  readonly session?: Buffer | undefined;
}

export type OpenSocket = (target: Target) => Socket;

export function targetOf(url: URL): Target {
  const isTls = url.protocol === 'https:';
  const defaultPort = isTls ? 443 : 80;
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? defaultPort : Number(url.port),
    isTls,
  };
}

/** Versions before 1.2 are broken (RFC 8996). */
export const MIN_TLS_VERSION = 'TLSv1.2';

export const openTcpOrTls: OpenSocket = ({ isTls, ...target }) => {
  if (!isTls) return openPlain(target);
  return openTls({
    ...target,
    // SNI allows host names only (RFC 6066), although a certificate may be for an IP address.
    ...(isIP(target.host) === 0 && { servername: target.host }),
    ALPNProtocols: ['http/1.1'],
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED can disable the default.
    rejectUnauthorized: true,
    minVersion: MIN_TLS_VERSION,
  });
};

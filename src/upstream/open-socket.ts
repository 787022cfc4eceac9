/** Opens the socket of a connection, plain or under TLS. What may be dialled is for others to say. */
import { isIP, connect as openPlain, type Socket } from 'node:net';
import { type ConnectionOptions, connect as openTls } from 'node:tls';

export interface Target extends Pick<ConnectionOptions, 'ca' | 'checkServerIdentity' | 'lookup'> {
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** Of an earlier connection to the same place: saves most of the handshake. */
  readonly session?: Buffer | undefined;
}

export type OpenSocket = (target: Target) => Socket;

export function targetOf(url: URL): Target {
  const isTls = url.protocol === 'https:';
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    isTls,
  };
}

export const openTcpOrTls: OpenSocket = ({ isTls, ...target }) => {
  if (!isTls) return openPlain(target);
  return openTls({
    ...target,
    // A certificate may be for an address, but a server cannot be asked for one by it (RFC 6066).
    ...(isIP(target.host) === 0 && { servername: target.host }),
    ALPNProtocols: ['http/1.1'],
    // Said outright, because the environment can turn the default off.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  });
};

/** The HTTP implementations, and the choice between them. */
import type { Clock } from '../core/index.ts';
import { CLIENT_BOUNDS } from './bounds.ts';
import type { HttpClient } from './client.ts';
import { ExchangeClient } from './exchange.ts';
import { Listener, type ListenerOptions } from './listener.ts';
import { nodeConnections } from './node/server-connection.ts';
import { type OpenSocket, openTcpOrTls } from './open-socket.ts';
import type { HttpServer, OpenConnection } from './server.ts';
import { ConnectionPool } from './wire/connection-pool.ts';
import { WireServerConnection } from './wire/server-connection.ts';

/** `own`: the implementation in wire/. `node`: `node:http` and undici. */
export type HttpStack = 'own' | 'node';

export interface ServerOptions extends Omit<ListenerOptions, 'openConnection'> {
  readonly stack?: HttpStack | undefined;
}

const ownConnection: OpenConnection = (socket, host, onClosed) => new WireServerConnection(socket, host, onClosed);

export const createHttpServer = ({ stack, ...options }: ServerOptions): HttpServer =>
  new Listener({ ...options, openConnection: stack === 'node' ? nodeConnections(options.host) : ownConnection });

export interface ClientOptions {
  readonly clock: Clock;
  readonly openSocket?: OpenSocket | undefined;
  readonly connectionsPerOrigin?: number | undefined;
}

export function createHttpClient({ clock, openSocket, connectionsPerOrigin }: ClientOptions): HttpClient {
  const transport = new ConnectionPool({
    clock,
    openSocket: openSocket ?? openTcpOrTls,
    connectionsPerOrigin: connectionsPerOrigin ?? CLIENT_BOUNDS.connectionsPerOrigin.limit,
  });
  return new ExchangeClient(clock, transport);
}

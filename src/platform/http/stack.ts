/** The HTTP implementations, and the choice between them. */
import type { Clock } from '../../core/index.ts';
import { CLIENT_BOUNDS } from './bounds.ts';
import type { HttpClient } from './client.ts';
import { ConnectionPool, type OpenPooledConnection } from './connection-pool.ts';
import { ExchangeClient } from './exchange.ts';
import { Listener, type ListenerOptions } from './listener.ts';
import { nodeConnections } from './node/server-connection.ts';
import { UndiciConnection } from './node/undici-connection.ts';
import { type OpenSocket, openTcpOrTls } from './open-socket.ts';
import type { HttpServer, OpenConnection } from './server.ts';
import { ClientConnection } from './wire/client-connection.ts';
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
  readonly stack?: HttpStack | undefined;
  readonly openSocket?: OpenSocket | undefined;
  readonly connectionsPerOrigin?: number | undefined;
}

const OPEN_CONNECTION: Readonly<Record<HttpStack, OpenPooledConnection>> = {
  own: (options, first, user) => new ClientConnection(options, first, user),
  node: (options, first, user) => new UndiciConnection(options, first, user),
};

export function createHttpClient({
  clock,
  stack = 'own',
  openSocket,
  connectionsPerOrigin,
}: ClientOptions): HttpClient {
  const options = {
    clock,
    openSocket: openSocket ?? openTcpOrTls,
    connectionsPerOrigin: connectionsPerOrigin ?? CLIENT_BOUNDS.connectionsPerOrigin.limit,
  };
  const direct = new ConnectionPool({ ...options, openConnection: OPEN_CONNECTION[stack] });
  // Only undici speaks through proxies.
  const proxied = stack === 'node' ? direct : new ConnectionPool({ ...options, openConnection: OPEN_CONNECTION.node });
  return new ExchangeClient(clock, {
    send: (request, user) => (request.proxy === undefined ? direct : proxied).send(request, user),
    close() {
      direct.close();
      proxied.close();
    },
  });
}

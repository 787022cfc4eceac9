/** The server and the client, put together. */
import type { Clock } from '../../core/index.ts';
import { CLIENT_BOUNDS } from './bounds.ts';
import type { HttpClient } from './client.ts';
import { ConnectionPool } from './connection-pool.ts';
import { ExchangeClient } from './exchange.ts';
import { Listener, type ListenerOptions } from './listener.ts';
import { type OpenSocket, openTcpOrTls } from './open-socket.ts';
import type { HttpServer } from './server.ts';

export const createHttpServer = (options: ListenerOptions): HttpServer => new Listener(options);

export interface ClientOptions {
  readonly clock: Clock;
  readonly openSocket?: OpenSocket | undefined;
  readonly connectionsPerOrigin?: number | undefined;
}

export function createHttpClient({ clock, openSocket, connectionsPerOrigin }: ClientOptions): HttpClient {
  const pool = new ConnectionPool({
    clock,
    openSocket: openSocket ?? openTcpOrTls,
    connectionsPerOrigin: connectionsPerOrigin ?? CLIENT_BOUNDS.connectionsPerOrigin.limit,
  });
  return new ExchangeClient(clock, pool);
}

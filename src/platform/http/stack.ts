/** The client, put together. */
import type { Clock } from '../../core/index.ts';
import { CLIENT_BOUNDS } from './bounds.ts';
import type { HttpClient } from './client.ts';
import { ConnectionPool } from './connection-pool.ts';
import { ExchangeClient } from './exchange.ts';
import { type OpenSocket, openTcpOrTls } from './open-socket.ts';

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

/** The client, put together. */
import type { HttpClient } from './client.ts';
import { ConnectionPool, type ConnectionPoolOptions } from './connection-pool.ts';
import { ExchangeClient } from './exchange.ts';

export const createHttpClient = (options: ConnectionPoolOptions): HttpClient =>
  new ExchangeClient(options.clock, new ConnectionPool(options));

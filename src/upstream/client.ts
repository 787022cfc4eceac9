/** The HTTP client for providers. */
import type { Clock } from '../core/index.ts';
import {
  createHttpClient,
  type Exchange,
  type HttpClient,
  type HttpRequest,
  type HttpStack,
  type OpenSocket,
  type ResponseListener,
  type TransportError,
} from '../http/index.ts';

export type UpstreamRequest = HttpRequest;
export type UpstreamListener = ResponseListener;
export type UpstreamExchange = Exchange;
export type { TransportError };

export interface UpstreamOptions {
  readonly openSocket?: OpenSocket;
  readonly stack?: HttpStack | undefined;
  readonly connectionsPerOrigin?: number | undefined;
}

export class UpstreamClient {
  readonly #http: HttpClient;

  constructor(clock: Clock, options: UpstreamOptions = {}) {
    this.#http = createHttpClient({ clock, ...options });
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamExchange {
    return this.#http.send(request, listener);
  }

  close(): Promise<void> {
    return this.#http.close();
  }
}

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
import { ProxyRules, type ProxySettings } from './proxy-rules.ts';

/** Its `proxy` is that of the account: a URL, `none`, or undefined for the environment. Requests with `addresses` use none. */
export type UpstreamRequest = HttpRequest;
export type UpstreamListener = ResponseListener;
export type UpstreamExchange = Exchange;
export type { TransportError };

export interface UpstreamOptions {
  readonly openSocket?: OpenSocket;
  readonly stack?: HttpStack | undefined;
  readonly connectionsPerOrigin?: number | undefined;
  readonly proxies?: ProxySettings | undefined;
}

export class UpstreamClient {
  readonly #http: HttpClient;
  readonly #proxies: ProxyRules;

  constructor(clock: Clock, { proxies, ...options }: UpstreamOptions = {}) {
    this.#http = createHttpClient({ clock, ...options });
    this.#proxies = new ProxyRules(proxies);
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamExchange {
    const proxy = request.addresses ? undefined : this.proxyFor(request.origin, request.proxy);
    return this.#http.send(proxy === request.proxy ? request : { ...request, proxy }, listener);
  }

  /** The proxy of requests to `origin`. `own` is that of the account: a URL, `none`, or undefined for the environment. */
  proxyFor(origin: string, own: string | undefined): string | undefined {
    return this.#proxies.proxyFor(origin, own);
  }

  close(): Promise<void> {
    return this.#http.close();
  }
}

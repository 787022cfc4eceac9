/** The HTTP client for providers. */
import type { Clock } from '../../core/index.ts';
import {
  createHttpClient,
  type Exchange,
  type HttpClient,
  type HttpRequest,
  type OpenSocket,
  type ResponseListener,
  type TransportError,
} from '../../platform/http/index.ts';
import { ProxyRules, type ProxySettings } from '../../platform/outbound/index.ts';
import type { CloudUse } from './account.ts';
import { CloudClient } from './clouds/cloud-client.ts';
import { type Machine, NO_MACHINE } from './clouds/machine.ts';

/** Its `proxy` is that of the account: a URL, `none`, or undefined for the environment. Requests with `addresses` use none. */
export interface UpstreamRequest extends HttpRequest {
  /** Of an account at a cloud: the path and the headers are still those of the provider's own API. */
  readonly cloud?: CloudUse | undefined;
}
export type UpstreamListener = ResponseListener;
export type UpstreamExchange = Exchange;
export type { TransportError };

export interface UpstreamOptions {
  readonly openSocket?: OpenSocket;
  readonly connectionsPerOrigin?: number | undefined;
  readonly proxies?: ProxySettings | undefined;
  readonly machine?: Machine | undefined;
}

export class UpstreamClient {
  readonly #http: HttpClient;
  readonly #proxies: ProxyRules;
  readonly #clouds: CloudClient;

  constructor(clock: Clock, { proxies, machine = NO_MACHINE, ...options }: UpstreamOptions = {}) {
    this.#http = createHttpClient({ clock, ...options });
    this.#proxies = new ProxyRules(proxies);
    const http = { send: (request: HttpRequest, listener: ResponseListener) => this.#send(request, listener) };
    this.#clouds = new CloudClient({ clock, http, machine });
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamExchange {
    if (request.cloud === undefined) return this.#send(request, listener);
    return this.#clouds.send(request, request.cloud, listener);
  }

  #send(request: HttpRequest, listener: ResponseListener): Exchange {
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

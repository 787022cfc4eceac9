/** The HTTP client for providers. */
import { type Clock, valueOfJson } from '../../core/index.ts';
import * as http from '../../platform/http/index.ts';
import { ProxyRules, type ProxySettings } from '../../platform/outbound/index.ts';
import type { CloudUse } from './account-url.ts';
import { type Machine, NO_MACHINE } from './clouds/cloud.ts';
import { CloudClient } from './clouds/cloud-client.ts';

/**
 * Its `proxy` is that of the account: a URL, `none`, or undefined for the environment.
 * Requests with `addresses` use none.
 */
export interface UpstreamRequest extends http.HttpRequest {
  /** Of an account at a cloud: the path and the headers are still those of the provider's own API. */
  readonly cloud?: CloudUse | undefined;
}
export type UpstreamListener = http.ResponseListener;
export type UpstreamExchange = http.Exchange;
export type { TransportError } from '../../platform/http/index.ts';

export interface UpstreamOptions {
  readonly openSocket?: http.OpenSocket;
  readonly connectionsPerOrigin?: number | undefined;
  readonly proxies?: ProxySettings | undefined;
  readonly machine?: Machine | undefined;
}

export class UpstreamClient {
  readonly #http: http.HttpClient;
  readonly #proxies: ProxyRules;
  readonly #clouds: CloudClient;

  constructor(clock: Clock, { proxies, machine = NO_MACHINE, ...options }: UpstreamOptions = {}) {
    this.#http = http.createHttpClient({ clock, ...options });
    this.#proxies = new ProxyRules(proxies);
    this.#clouds = new CloudClient({ clock, machine, http: { send: (...sent) => this.#send(...sent) } });
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamExchange {
    if (request.cloud === undefined) return this.#send(request, listener);
    return this.#clouds.send(request, request.cloud, listener);
  }

  #send(request: http.HttpRequest, listener: http.ResponseListener): http.Exchange {
    const proxy = request.addresses ? undefined : this.proxyFor(request.origin, request.proxy);
    return this.#http.send(proxy === request.proxy ? request : { ...request, proxy }, listener);
  }

  /**
   * The proxy of requests to `origin`. `own` is that of the account: a URL, `none`, or undefined for the environment.
   */
  proxyFor(origin: string, own: string | undefined): string | undefined {
    return this.#proxies.proxyFor(origin, own);
  }

  close(): Promise<void> {
    return this.#http.close();
  }
}

const MAX_BYTES = 8 * 2 ** 20;

/** Undefined when the request fails or the body is not JSON. */
export async function fetchJson(
  upstream: UpstreamClient,
  request: UpstreamRequest,
  maxBytes = MAX_BYTES,
): Promise<{ readonly status: number; readonly body: unknown } | undefined> {
  const response = await http.wholeResponse(upstream, request, maxBytes);
  if ('code' in response) return undefined;
  const body = valueOfJson(response.body.toString('utf8'));
  return body === undefined ? undefined : { status: response.status, body };
}

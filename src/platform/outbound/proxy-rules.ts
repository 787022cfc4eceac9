/**
 * Which requests to providers use the proxies of the environment:
 * `HTTPS_PROXY`, `HTTP_PROXY` and the exceptions in `NO_PROXY`.
 */
import { isIP } from 'node:net';
import { isAddressIn, parseRange } from '../../core/index.ts';

export interface ProxySettings {
  /** For origins with `http:` and `https:`. */
  readonly http?: string | undefined;
  readonly https?: string | undefined;
  /** Exceptions, separated by commas or spaces. */
  readonly exceptions?: string | undefined;
}

/** Never reached through a proxy of the environment. */
const LOOPBACK = ['127.0.0.0/8', '::1/128'];
const DEFAULT_PORT: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

export class ProxyRules {
  readonly #settings: ProxySettings;
  readonly #exceptions: readonly string[];
  /** By origin. Origins come from the configuration, so that there are few. */
  readonly #known = new Map<string, string | undefined>();

  constructor(settings: ProxySettings = {}) {
    this.#settings = settings;
    this.#exceptions = (settings.exceptions ?? '')
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean);
  }

  /** `own` is the proxy of the account: a URL, `none`, or undefined for the environment. */
  proxyFor(origin: string, own: string | undefined): string | undefined {
    if (own !== undefined) return own === 'none' ? undefined : own;
    if (this.#settings.http === undefined && this.#settings.https === undefined) return undefined;
    if (!this.#known.has(origin)) this.#known.set(origin, this.#byEnvironment(new URL(origin)));
    return this.#known.get(origin);
  }

  #byEnvironment({ protocol, hostname, port }: URL): string | undefined {
    const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
    if (isLoopback(host)) return undefined;
    const isException = this.#exceptions.some((entry) => matches(entry, host, port || (DEFAULT_PORT[protocol] ?? '')));
    if (isException) return undefined;
    return protocol === 'https:' ? this.#settings.https : this.#settings.http;
  }
}

const isLoopback = (host: string): boolean =>
  isIP(host) ? isAddressIn(host, LOOPBACK) : host === 'localhost' || host.endsWith('.localhost');

/**
 * An entry is `*`, an address, a network, a host with its subdomains,
 * or a suffix with a dot; hosts and addresses perhaps with a port.
 */
function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const [, bracketed, name = bracketed, only] = /^(?:\[(.+)\]|([^:]+|.*:.*:.*?))(?::(\d+))?$/.exec(entry) ?? [];
  if (name === undefined || (only !== undefined && only !== port)) return false;
  if (isIP(host)) return parseRange(name) !== undefined && isAddressIn(host, [name]);
  const suffix = name.replace(/^\*(?=\.)/, '');
  return suffix.startsWith('.') ? host.endsWith(suffix) : host === suffix || host.endsWith(`.${suffix}`);
}

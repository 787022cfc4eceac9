/**
 * The servers of a DATABASE_URL with several hosts, of which one accepts writes: a primary and standbys that may take
 * its place. The driver knows one host only. All connections of a process to the same URL share what it knows.
 */
import type { ClientConfig } from 'pg';
import { entryOf } from '../../core/index.ts';
import { CONNECT_TRIES, SeverableClient, type SeverableClientOptions, TCP_OPTIONS, wasCutOff } from './client.ts';

const hosts = new Map<string, Hosts>();

export const hostsOf = (url: string): Hosts => entryOf(hosts, url, () => new Hosts(splitHosts(url)));

/** One URL for each host, without the parameter that the driver does not know. */
export function splitHosts(url: string): readonly string[] {
  const [, before = '', list = '', after = ''] = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(url) ?? [];
  const rest = after.replace(/([?&])target_session_attrs=[^&]*(&?)/, (_, first, next) => (next ? first : ''));
  return list.split(',').map((host) => before + host + rest);
}

/** How long one server may take, with several: another one may be ready. */
const PROBE_MS = 3_000;

export class Hosts {
  readonly #urls: readonly string[];
  #current: string | undefined;
  #finding: Promise<string> | undefined;

  constructor(urls: readonly string[]) {
    this.#urls = urls;
    if (!this.areSeveral) this.#current = urls[0];
  }

  get areSeveral(): boolean {
    return this.#urls.length > 1;
  }

  /** The URL of the server that accepts writes. */
  async primary(): Promise<string> {
    if (this.#current !== undefined) return this.#current;
    this.#finding ??= this.#find().finally(() => {
      this.#finding = undefined;
    });
    return this.#finding;
  }

  /** The server of this URL is gone or has become a standby: the next connection asks all of them. */
  leave(url: string): void {
    if (this.areSeveral && this.#current === url) this.#current = undefined;
  }

  /** Asks all servers at once, because one that is cut off from the network responds late or never. */
  async #find(): Promise<string> {
    this.#current = await Promise.any(this.#urls.map(probe)).catch((error: AggregateError) => {
      const reasons = error.errors.map((reason: Error, n) => `${nameOf(this.#urls[n] ?? '')}: ${reason.message}`);
      throw new Error(`no host accepts writes (${reasons.join('; ')})`);
    });
    return this.#current;
  }
}

/** Opens a connection of its own to the server that accepts writes. */
export async function connectToPrimary(url: string, options: ClientConfig): Promise<SeverableClient> {
  const known = hostsOf(url);
  const primary = await known.primary();
  return open({ connectionString: primary, mustWrite: known.areSeveral, ...options }).catch((error: unknown) => {
    known.leave(primary);
    throw error;
  });
}

async function probe(url: string): Promise<string> {
  const options = { connectionString: url, connectionTimeoutMillis: PROBE_MS, mustWrite: true };
  const client = await open(options).catch((error: Error & { code?: string }) => {
    throw new Error(error.message || error.code);
  });
  client.end().catch(() => {});
  return url;
}

async function open(options: SeverableClientOptions): Promise<SeverableClient> {
  for (let left = CONNECT_TRIES; ; left -= 1) {
    const client = new SeverableClient({ ...TCP_OPTIONS, ...options });
    try {
      await client.connect();
      return client;
    } catch (error) {
      client.sever();
      if (left === 1 || !wasCutOff(error)) throw error;
    }
  }
}

/** Without the password. */
const nameOf = (url: string): string => /^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(url)?.[1] ?? '';

/**
 * The models that a key may use: names in the catalog, and for globs the matching names that providers list.
 * A listing that fails is left out.
 */
import type { Key } from '../../access/keys/index.ts';
import { type Account, type Catalog, isUsable, type ModelLine } from '../../catalog/index.ts';
import { type Clock, isGlob, matchesGlob } from '../../core/index.ts';
import { fetchJson, type UpstreamClient } from '../../providers/upstream/index.ts';
import { DEFAULT_MESSAGES_VERSION, type Style, TIMEOUTS } from '../../rules/index.ts';
import { type Caller, callersOf } from '../caller.ts';
import { upstreamRequest } from '../upstream-request.ts';
import { mayUse } from './resolve.ts';

export interface ListedModel {
  readonly id: string;
  readonly group: Caller['group'];
  readonly line: ModelLine;
}

const CACHE_MS = 600_000;
/** After a failed listing: not retried with every request, and not missing for ten minutes. */
const FAILED_CACHE_MS = 30_000;

const LISTING: Readonly<
  Record<Style, { path: string; headers: readonly string[]; namesOf: (body: Listing) => string[] }>
> = {
  responses: { path: '/v1/models', headers: [], namesOf: (body) => idsOf(body.data) },
  messages: {
    path: '/v1/models?limit=1000',
    headers: ['anthropic-version', DEFAULT_MESSAGES_VERSION],
    namesOf: (body) => idsOf(body.data),
  },
  'generate-content': {
    path: '/v1beta/models?pageSize=1000',
    headers: [],
    namesOf: (body) =>
      (body.models ?? []).flatMap(({ name }) => (typeof name === 'string' ? [name.replace(/^models\//, '')] : [])),
  },
};

interface Listing {
  readonly data?: readonly { readonly id?: unknown }[];
  readonly models?: readonly { readonly name?: unknown }[];
}

const idsOf = (data: Listing['data']): string[] =>
  (data ?? []).flatMap(({ id }) => (typeof id === 'string' ? [id] : []));

export class ModelListing {
  readonly #upstream: UpstreamClient;
  readonly #clock: Clock;
  readonly #cache = new Map<string, { until: number; names: Promise<string[]> }>();

  constructor(upstream: UpstreamClient, clock: Clock) {
    this.#upstream = upstream;
    this.#clock = clock;
  }

  /** Of all groups of the key, each once, as calls find it. */
  async list(catalog: Catalog, key: Key): Promise<ListedModel[]> {
    const lists = await Promise.all(callersOf(catalog, key).map((caller) => this.#listIn(catalog, caller)));
    if (lists.length === 1) return lists.flat();
    return [...Map.groupBy(lists.flat(), ({ id }) => id).values()].flatMap((same) => same.slice(0, 1));
  }

  async #listIn(catalog: Catalog, caller: Caller): Promise<ListedModel[]> {
    const { group } = caller;
    const lines = catalog.lines(group.id);
    const found = new Map<string, ListedModel>();
    const add = (id: string, line: ModelLine) => found.has(id) || found.set(id, { id, group, line });
    for (const line of lines) if (!isGlob(line.pattern)) add(line.pattern, line);
    const globs = lines.filter((line) => isGlob(line.pattern) && line.upstream === null);
    const offered = globs.length === 0 ? [] : await this.#offered(group.style, catalog.accounts(group.id));
    for (const line of globs) for (const id of offered) if (matchesGlob(line.pattern, id)) add(id, line);
    const now = this.#clock.now();
    return [...found.values()].filter(({ id, line }) => mayUse(caller, id) && isUsable(line, now));
  }

  /** By the same rule as calls: a glob accepts every name that it matches. */
  find(catalog: Catalog, key: Key, name: string): ListedModel | undefined {
    const [found] = callersOf(catalog, key).flatMap(({ group }) => {
      const line = catalog.resolve(group.id, name)?.line;
      return line ? [{ id: name, group, line }] : [];
    });
    return found && mayUse({ key }, name) && isUsable(found.line, this.#clock.now()) ? found : undefined;
  }

  async #offered(style: Style, accounts: readonly Account[]): Promise<string[]> {
    const lists = await Promise.all(accounts.map((account) => this.#listing(style, account)));
    return [...new Set(lists.flat())];
  }

  #listing(style: Style, account: Account): Promise<string[]> {
    const known = this.#cache.get(account.id);
    if (known && known.until > this.#clock.now()) return known.names;
    const names = offeredModels(this.#upstream, style, account).catch(() => []);
    const entry = { until: this.#clock.now() + CACHE_MS, names };
    this.#cache.set(account.id, entry);
    void names.then(({ length }) => {
      if (length === 0) entry.until = this.#clock.now() + FAILED_CACHE_MS;
    });
    return names;
  }
}

/**
 * The names that the provider of an account lists.
 * Clouds list models that an account may deploy, not those that it can serve.
 */
export async function offeredModels(upstream: UpstreamClient, style: Style, account: Account): Promise<string[]> {
  if (account.cloud) return [];
  const { path, headers, namesOf } = LISTING[style];
  const request = { method: 'GET' as const, path, headers, body: null, timeouts: TIMEOUTS.count };
  const result = await fetchJson(upstream, upstreamRequest(style, account, request));
  return result?.status === 200 && typeof result.body === 'object' && result.body !== null ? namesOf(result.body) : [];
}

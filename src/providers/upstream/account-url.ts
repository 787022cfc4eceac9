/** Accounts as the upstream client knows them: their endpoint URLs and credential headers, per provider style. */
import { entryOf } from '../../core/index.ts';
import type { CloudSettings, Style } from '../../rules/index.ts';

export interface Location {
  readonly origin: string;
  readonly path: string;
  /** Of an account at a cloud, whose requests change on their way. */
  readonly cloud?: CloudUse;
}

/** Credentials go into headers, never into URLs, because URLs end up in logs. */
const CREDENTIAL_HEADER: Readonly<Record<Style, (credential: string) => readonly [string, string]>> = {
  responses: (credential) => ['authorization', `Bearer ${credential}`],
  messages: (credential) => ['x-api-key', credential],
  'generate-content': (credential) => ['x-goog-api-key', credential],
};

/** Nothing for an account at a cloud: its client signs in when it sends the request. */
export const credentialHeaders = (style: Style, { credential, cloud }: ReachedAccount): readonly string[] =>
  cloud === undefined ? CREDENTIAL_HEADER[style](credential) : [];

/**
 * Base URLs follow the SDK of each family. `path` is the gateway's canonical path;
 * the query of the base URL is part of every request.
 */
export function locateUpstream(style: Style, account: ReachedAccount, path: string, model = ''): Location {
  const { origin, prefix, query } = parseBase(account.baseUrl);
  if (account.cloud !== undefined) return { origin, path, cloud: { account, cloud: account.cloud, style, model } };
  const located = prefix + (style === 'responses' ? path.replace(/^\/v1(?=\/)/, '') : path);
  return { origin, path: query === '' ? located : withQuery(located, query) };
}

interface Base {
  readonly origin: string;
  readonly prefix: string;
  readonly query: string;
}
const bases = new Map<string, Base>();

/** Cached: there are few accounts, and parsing a URL costs more than a lookup. */
export const parseBase = (baseUrl: string): Base =>
  entryOf(bases, baseUrl, () => {
    const { origin, pathname, search } = new URL(baseUrl);
    return { origin, prefix: pathname.replace(/\/+$/, ''), query: search.slice(1) };
  });

/** What the operator sets replaces parameters of the same name that the caller sent. */
function withQuery(located: string, query: string): string {
  const [path = '', given = ''] = located.split('?', 2);
  const set = new URLSearchParams(query);
  const kept = given.split('&').filter((pair) => pair !== '' && !set.has(nameOf(pair)));
  return `${path}?${[query, ...kept].join('&')}`;
}

const nameOf = (pair: string): string => [...new URLSearchParams(pair).keys()][0] ?? '';

export interface ReachedAccount {
  readonly id: string;
  readonly baseUrl: string;
  readonly credential: string;
  /** Undefined for the provider's own API. One object as long as the catalog lives. */
  readonly cloud?: CloudSettings | undefined;
  /** URL of the proxy that its requests use; `none`; undefined for the proxies of the environment. */
  readonly proxy?: string | undefined;
}

/** One request of an account at a cloud, in the form of the provider's own API. */
export interface CloudUse {
  readonly account: ReachedAccount;
  readonly cloud: CloudSettings;
  readonly style: Style;
  readonly model: string;
}

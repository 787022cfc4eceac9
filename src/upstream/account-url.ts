/** Endpoint URLs and credential headers of upstream accounts, per provider style. */
import type { Style } from '../rules/index.ts';

/** Credentials go into headers, never into URLs, because URLs end up in logs. */
export const CREDENTIAL_HEADER: Readonly<Record<Style, (credential: string) => readonly [string, string]>> = {
  responses: (credential) => ['authorization', `Bearer ${credential}`],
  messages: (credential) => ['x-api-key', credential],
  'generate-content': (credential) => ['x-goog-api-key', credential],
};

/**
 * Base URLs follow the SDK of each family: with /v1 for responses, without a version for the others. `path` is the gateway's
 * canonical path, e.g. `/v1/responses`.
 */
export function locateUpstream(style: Style, baseUrl: string, path: string): { origin: string; path: string } {
  const { origin, prefix } = parseBase(baseUrl);
  return { origin, path: prefix + (style === 'responses' ? path.replace(/^\/v1(?=\/)/, '') : path) };
}

interface Base {
  readonly origin: string;
  readonly prefix: string;
}
const bases = new Map<string, Base>();

/** Cached: there are few accounts, and parsing a URL costs more than a lookup. */
function parseBase(baseUrl: string): Base {
  const known = bases.get(baseUrl);
  if (known) return known;
  const url = new URL(baseUrl);
  const base = { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
  bases.set(baseUrl, base);
  return base;
}

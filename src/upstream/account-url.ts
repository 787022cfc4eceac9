/** Where an account's endpoints are and how its credential is shown, per style of group. */
import type { Style } from '../rules/index.ts';

/** The credential goes into a header, never into an address: addresses end up in logs. */
export const CREDENTIAL_HEADER: Readonly<Record<Style, (credential: string) => readonly [string, string]>> = {
  responses: (credential) => ['authorization', `Bearer ${credential}`],
  messages: (credential) => ['x-api-key', credential],
  'generate-content': (credential) => ['x-goog-api-key', credential],
};

/**
 * Base addresses follow each family's SDK: with /v1 for responses, without a version for the others. `path` is our own
 * canonical path, `/v1/responses`.
 */
export function locateUpstream(style: Style, baseUrl: string, path: string): { origin: string; path: string } {
  const { origin, prefix } = baseOf(baseUrl);
  return { origin, path: prefix + (style === 'responses' ? path.replace(/^\/v1(?=\/)/, '') : path) };
}

interface Base {
  readonly origin: string;
  readonly prefix: string;
}
const bases = new Map<string, Base>();

/** Accounts are few and calls many; reading an address costs more than finding it. */
function baseOf(baseUrl: string): Base {
  const known = bases.get(baseUrl);
  if (known) return known;
  const url = new URL(baseUrl);
  const base = { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
  bases.set(baseUrl, base);
  return base;
}

/** The query of pre-signed URLs. */

/** A time such as `20260131T235959Z`. */
export const compactTime = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');

export function signedQuery(date: string, lifetimeMs: number, signature: string): URLSearchParams {
  return new URLSearchParams({
    'X-Tos-Algorithm': 'TOS4-HMAC-SHA256',
    'X-Tos-Credential': `simulated/${date.slice(0, 8)}/cn-beijing/tos/request`,
    'X-Tos-Date': date,
    'X-Tos-Expires': String(Math.floor(lifetimeMs / 1000)),
    'X-Tos-Signature': signature,
    'X-Tos-SignedHeaders': 'host',
  });
}

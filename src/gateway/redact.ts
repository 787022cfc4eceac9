/** Takes our own secrets and addresses out of what an upstream says, and nothing else: clients match on its wording. */
import type { Account } from '../catalog/index.ts';

const HIDDEN = '[redacted]';
/** What keys of providers look like; an error that quotes one may quote another than ours. */
const KEY_LIKE = /\b(?:(?:sk|dg|xai|gsk)-|AIza)[A-Za-z0-9_-]{16,}/g;
/** Local servers take anything for a key; hiding every "x" would hide nothing but the message. */
const SHORTEST_SECRET = 6;

export function redact(text: string, { credential, baseUrl }: Pick<Account, 'credential' | 'baseUrl'>): string {
  const { host, hostname, origin } = new URL(baseUrl);
  let clean = credential.length < SHORTEST_SECRET ? text : text.replaceAll(credential, HIDDEN);
  // A name of one word, such as "api", is no address by itself.
  for (const name of [baseUrl, origin, host, hostname]) if (/[.:]/.test(name)) clean = clean.replaceAll(name, HIDDEN);
  return clean.replaceAll(KEY_LIKE, HIDDEN);
}

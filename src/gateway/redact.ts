/** Takes our own secrets and addresses out of what an upstream says, and nothing else: clients match on its wording. */
import type { Account } from '../catalog/index.ts';

const HIDDEN = '[redacted]';
/** What keys of providers look like; an error that quotes one may quote another than ours. */
const KEY_LIKE = /\b(?:sk|sk-ant|sk-proj|AIza|dg|xai|gsk)-?[A-Za-z0-9_-]{16,}/g;

export function redact(text: string, account: Account): string {
  const { host, hostname, origin } = new URL(account.baseUrl);
  let clean = text.replaceAll(account.credential, HIDDEN);
  for (const name of [account.baseUrl, origin, host, hostname]) clean = clean.replaceAll(name, HIDDEN);
  return clean.replaceAll(KEY_LIKE, HIDDEN);
}

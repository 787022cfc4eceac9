/** Removal of our own secrets, URLs and organisation ids from provider messages. Changes nothing else, because clients match on the wording. */
import type { Account } from '../catalog/index.ts';

const REDACTED = '[redacted]';
/** Provider keys by their prefix; an error may quote a key that is not the account's own. */
const PROVIDER_KEY = /\b(?:(?:sk|dg|xai|gsk)-|AIza)[A-Za-z0-9_-]{16,}/g;
/** Ids of the operator's organisation and project at a provider. */
const PROVIDER_ORGANISATION = /\b(?:org-|proj_)[A-Za-z0-9]{16,}|(?<=\bprojects\/)\d{6,}/g;
/** Local servers accept any key; redacting every "x" would only garble the message. */
const MIN_SECRET_CHARS = 6;

export function redact(text: string, { credential, baseUrl }: Pick<Account, 'credential' | 'baseUrl'>): string {
  const { host, hostname, origin } = new URL(baseUrl);
  let clean = credential.length < MIN_SECRET_CHARS ? text : text.replaceAll(credential, REDACTED);
  // A single word such as "api" is not recognisable as a host, so it stays.
  for (const name of [baseUrl, origin, host, hostname]) if (/[.:]/.test(name)) clean = clean.replaceAll(name, REDACTED);
  return clean.replaceAll(PROVIDER_KEY, REDACTED).replaceAll(PROVIDER_ORGANISATION, REDACTED);
}

/** What signs opaque values and binds them to an account, derived from the pepper. */
import { hmac } from '../../core/index.ts';

export const opaqueSecrets = (pepper: Buffer) => ({
  accountTag: accountTags(pepper),
  opaqueKey: hmac(pepper, 'opaque values'),
});

/**
 * Tags that bind opaque values to an account. Keyed with the pepper, so that clients can neither forge nor read them.
 */
function accountTags(pepper: Buffer): (accountId: string) => string {
  const tags = new Map<string, string>();
  return (accountId) => {
    const known = tags.get(accountId);
    if (known !== undefined) return known;
    const tag = hmac(pepper, `account:${accountId}`).toString('base64url').slice(0, 8);
    tags.set(accountId, tag);
    return tag;
  };
}

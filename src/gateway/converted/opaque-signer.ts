/**
 * Signatures of opaque values, bound to user and group:
 * a value of another user, or with a changed account or id, counts as stale.
 */
import { timingSafeEqual } from 'node:crypto';
import { hmac } from '../../core/index.ts';
import { type HubRequest, type Opaque, opaquesIn, type SignOpaque, withoutForged } from '../../dialects/index.ts';
import type { Style } from '../../rules/index.ts';

/** 128 bits in base64url. */
const MAC_CHARS = 22;

/** The issuer of values that a client of the dialect may send without an envelope, in the slot of its own provider. */
const SLOT_ISSUER: Readonly<Record<string, Style>> = {
  messages: 'messages',
  responses: 'responses',
  chat: 'generate-content',
  generate: 'generate-content',
};

export interface SignedFor {
  readonly key: { readonly userId: string };
  readonly group: { readonly id: string };
}

export const signerFor =
  (key: Uint8Array, { key: { userId }, group }: SignedFor): SignOpaque =>
  ({ issuer, kind, account = null, id = null, data }) => {
    // The id of a thought is that of the client's own call, which an encoder fills in.
    const bound = [userId, group.id, issuer, kind, account, kind === 'thought' ? null : id, data];
    return hmac(key, JSON.stringify(bound)).toString('base64url').slice(0, MAC_CHARS);
  };

/** Values without a signature pass only where the client could send them bare. */
export function dropForged(request: HubRequest, sign: SignOpaque): HubRequest {
  const own = SLOT_ISSUER[request.dialect];
  const isForged = (opaque: Opaque): boolean =>
    opaque.mac === undefined ? opaque.issuer !== own : !isSame(opaque.mac, sign(opaque));
  return opaquesIn(request).some(isForged) ? withoutForged(request, isForged) : request;
}

const isSame = (given: string, right: string): boolean =>
  Buffer.byteLength(given) === right.length && timingSafeEqual(Buffer.from(given), Buffer.from(right));

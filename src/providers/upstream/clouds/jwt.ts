/** JSON web tokens that an account signs about itself. */
import { constants, createPrivateKey, sign } from 'node:crypto';

export interface JwtHead {
  readonly alg: 'PS256' | 'RS256';
  readonly [name: string]: string;
}

/** Signs with RSA: PKCS 1 for RS256, PSS for PS256. */
export function signJwt(head: JwtHead, claims: object, pem: string): string {
  const text = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const key = createPrivateKey(pem);
  const padding =
    head.alg === 'PS256'
      ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
      : { padding: constants.RSA_PKCS1_PADDING };
  return `${text}.${sign('sha256', Buffer.from(text), { key, ...padding }).toString('base64url')}`;
}

/** Generates a self-signed certificate for one host name, so that the repository contains no private key. */
import { generateKeyPairSync, sign } from 'node:crypto';

const DAY_MS = 86_400_000;
const KEYS = {
  ec: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  rsa: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
};
/** OIDs of ecdsa-with-SHA256 and sha256WithRSAEncryption. */
const SIGNED_WITH_OID = { ec: '2a8648ce3d040302', rsa: '2a864886f70d01010b' };

/** `days`: how long it is valid from now; negative when it has expired. */
export function certificateFor(
  host: string,
  days = 1,
  type: 'ec' | 'rsa' = 'ec',
): { readonly key: string; readonly cert: string } {
  const signedWith = sequence(oid(SIGNED_WITH_OID[type]));
  const { privateKey, publicKey } = KEYS[type]();
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(host)))));
  const alternatives = sequence(der(0x82, Buffer.from(host)));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    signedWith,
    name,
    sequence(time(Date.now() - 400 * DAY_MS), time(Date.now() + days * DAY_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(oid('551d11'), der(0x04, alternatives)))),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, signedWith, der(0x03, Buffer.from([0]), signature));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`,
  };
}

/** Encodes tag, length and value (DER). */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...derLength(value.length)]), value]);
}

function derLength(length: number): readonly number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts);
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

/** GeneralizedTime: 20261115120000Z. */
const time = (ms: number): Buffer =>
  der(0x18, Buffer.from(`${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`));

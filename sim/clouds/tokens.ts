/** Access tokens that simulated clouds issue and check: JSON web tokens with a signature of this process. */
import { createHmac, randomBytes } from 'node:crypto';
import { isObject, type JsonObject } from '../json.ts';

const KEY = randomBytes(32);

const encoded = (value: JsonObject): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const signature = (text: string): string => createHmac('sha256', KEY).update(text).digest('base64url');

export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

export function issueToken(claims: JsonObject, seconds: number): string {
  const text = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded({ ...claims, exp: nowSeconds() + seconds })}`;
  return `${text}.${signature(text)}`;
}

/** The claims of a token that is genuine and has not ended. */
export function readToken(token: string): JsonObject | undefined {
  const [head = '', claims = '', given = ''] = token.split('.');
  if (signature(`${head}.${claims}`) !== given) return undefined;
  const value = decodePart(claims);
  return value && Number(value.exp) > nowSeconds() ? value : undefined;
}

/** A part of a token of somebody else, whose signature the caller checks. */
export function decodePart(part: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

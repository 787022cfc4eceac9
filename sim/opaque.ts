import { createHash } from 'node:crypto';

// The opaque values a provider hands out and wants back unchanged. They are stable, and each tells
// what it was made for, so that a wrong one can be recognised when `strict` is asked for.

export type CarrierKind = 'thinking' | 'redacted' | 'reasoning' | 'compaction' | 'thought';

export function mint(kind: CarrierKind, subject: string): string {
  return Buffer.from(`sim:${kind}:${digest(subject)}`).toString('base64');
}

export function isOwn(kind: CarrierKind, value: string): boolean {
  return Buffer.from(value, 'base64').toString('latin1').startsWith(`sim:${kind}:`);
}

export function isMintedFor(kind: CarrierKind, value: string, subject: string): boolean {
  return value === mint(kind, subject);
}

function digest(subject: string): string {
  return createHash('sha256').update(subject).digest('hex').slice(0, 48);
}

/** Opaque values, such as signatures, that a provider issues and expects back unchanged. */
import { createHash } from 'node:crypto';

// Values are deterministic and contain what they were issued for, so that `strict` can detect a wrong one.

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

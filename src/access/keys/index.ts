export { type Actor, type AuditAction, type AuditLine, writeAudit } from './audit.ts';
export { FailedAttempts } from './failed-attempts.ts';
export { KeyCache } from './key-cache.ts';
export { openKeyGrant, sealKeyGrant } from './key-grant.ts';
export { checkKeyGroups, checkKeyName, createKey, lockKey, revokeKey } from './key-operations.ts';
export * from './keys.ts';
export * from './secrets.ts';

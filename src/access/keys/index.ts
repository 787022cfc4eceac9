export { createAdminToken, isSameSecret, readAdminToken, rotateAdminToken } from './admin-token.ts';
export { type Actor, type AuditAction, type AuditLine, writeAudit } from './audit.ts';
export { FailedAttempts } from './failed-attempts.ts';
export { KeyCache } from './key-cache.ts';
export { checkKeyGroups, createKey, lockKey, revokeKey } from './key-operations.ts';
export {
  findKeyById,
  findKeyOfUser,
  type Key,
  type KeyInput,
  type KeySecrets,
  keyView,
  markKeyRevoked,
  nameOfKey,
  saveKey,
} from './keys.ts';
export { loadPepper, PEPPER_LOCATION } from './pepper.ts';

export { isSameSecret, makeAdminToken, readAdminToken, rotateAdminToken } from './admin-token.ts';
export { saveAdmin } from './admins.ts';
export { type Actor, type AuditAction, type AuditLine, writeAudit } from './audit.ts';
export { FailedAttempts } from './failed-attempts.ts';
export { KeyDirectory } from './key-cache.ts';
export { hintOf, isTokenForm, newToken } from './key-format.ts';
export { type Key, type KeySecrets, type KeyWish, keyView, revokeKey, saveKey } from './keys.ts';
export { loadPepper, PEPPER_PLACE } from './pepper.ts';

export { isSameSecret, makeAdminToken, readAdminToken, rotateAdminToken } from './admin-token.ts';
export { saveAdmin } from './admins.ts';
export { FailedAttempts } from './attempts.ts';
export { type Actor, type AuditAction, type AuditLine, writeAudit } from './audit.ts';
export { KeyDirectory } from './directory.ts';
export { type Key, type KeySecrets, type KeyWish, keyView, revokeKey, saveKey } from './keys.ts';
export { loadPepper, PEPPER_PLACE } from './pepper.ts';
export { hintOf, isTokenForm, newToken } from './token.ts';

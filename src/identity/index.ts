export { saveAdmin } from './admins.ts';
export { KeyDirectory } from './directory.ts';
export { type Key, type KeySecrets, type KeyWish, revokeKey, saveKey } from './keys.ts';
export { loadPepper, PEPPER_PLACE } from './pepper.ts';
export { hintOf, isTokenForm, newToken } from './token.ts';

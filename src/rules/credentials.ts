/** Credential forms of SDK families that are accepted on some paths only (G 5 r1). */

/**
 * Paths of the generate-content family: its own version, uploads, and models, interactions, caches and files of `/v1`.
 * They accept its forms of the key too.
 */
const GENERATE_PATH = /^\/(?:upload\/v1(?:beta)?\/|v1(?:beta|\/(?:models|interactions|cachedContents|files)(?:\/|$)))/;

export const takesGenerateCredentials = (path: string): boolean => GENERATE_PATH.test(path);

/** Paths that clients of OpenAI and of Anthropic share; those of Anthropic send this header, and read its shapes. */
const SHARED_PATH = /^\/v1\/files(?:\/|$)/;
export const MESSAGES_VERSION_HEADER = 'anthropic-version';

export const isSharedWithMessages = (path: string): boolean => SHARED_PATH.test(path);

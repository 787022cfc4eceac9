/** Credential forms of SDK families that are accepted on some paths only (G 5 r1). */

/**
 * Paths that SDKs of the generate-content family call: those of its own version, and models and interactions under `/v1`. They accept `x-goog-api-key`
 * and the query parameter `key` too.
 */
const GENERATE_PATH = /^\/v1(?:beta|\/(?:models|interactions)(?:\/|$))/;

export const takesGenerateCredentials = (path: string): boolean => GENERATE_PATH.test(path);

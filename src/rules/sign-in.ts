/**
 * Sign-in of people: the cost of password hashes, lifetimes of sessions and links, and limits of attempts, each with
 * its reason.
 */

/**
 * argon2id with the memory and passes that OWASP recommends at least; 50 ms of a core. Stored hashes name their
 * parameters, so a change holds for new ones.
 */
export const PASSWORD_HASH = {
  memoryKib: 19 * 1024,
  passes: 2,
  parallelism: 1,
  saltBytes: 16,
  hashBytes: 32,
} as const;

/** Hashing uses threads that files and DNS need too, and 19 MiB for each hash. */
export const PASSWORD_QUEUE = {
  running: 2,
  /** Further sign-ins get 503. They would wait for more than a second. */
  waiting: 64,
} as const;

/** NIST SP 800-63B: length counts, composition does not. The maximum bounds the work of a hash. */
export const PASSWORD_CHARS = { min: 12, max: 256 } as const;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const SESSION_MS = {
  /** Longer than a working day with breaks, shorter than a night and a morning. */
  idle: 12 * HOUR_MS,
  /** People sign in once a week at least, so that a stolen cookie ends too. */
  total: 7 * DAY_MS,
  /** How exactly the last use is stored. Storing each one would write on every read. */
  touch: MINUTE_MS,
} as const;

export const LINK_MS = {
  first: DAY_MS,
  reset: DAY_MS,
  /** An invitation waits for a weekend or a holiday. */
  invite: 7 * DAY_MS,
} as const;
export type LinkPurpose = keyof typeof LINK_MS;

/**
 * Failed sign-ins within `windowMs`, then 429. A browser that has signed in before counts alone, so that attempts of
 * others do not lock it out.
 */
export const SIGN_IN_FAILURES = { windowMs: 15 * MINUTE_MS, browser: 10, email: 10, address: 30 } as const;

export const BROWSER_MS = 180 * DAY_MS;

/** Time for a sign-in at the OpenID provider. */
export const OIDC_STATE_MS = 10 * MINUTE_MS;

export const PERSON_ROLES = ['operator', 'user'] as const;
export type PersonRole = (typeof PERSON_ROLES)[number];

/** Header of requests by cookie that change something, or that run as an API key. */
export const CSRF_HEADER = 'x-csrf-token';
/** Names the API key that a request by cookie runs as. Without it a cookie counts for nothing on the caller's API. */
export const KEY_HEADER = 'x-dragoman-key';

export const CONSOLE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https:; media-src 'self' blob: https:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;

/**
 * Headers of the API reference. The hashes are of the style elements that its viewer fills by script; its search runs
 * in a worker that the script creates.
 */
export const REFERENCE_HEADERS = {
  ...CONSOLE_HEADERS,
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
} as const;

/** Files of the console in memory. The build has some dozens, and some megabytes. */
export const CONSOLE_FILES = { count: 1_000, bytes: 32 * 2 ** 20 } as const;

/**
 * End of life of an operation: what its row states, and the headers that every response then has (RFC 9745, RFC 8594).
 */

export interface Deprecation {
  /** UTC day from which the operation is deprecated. */
  readonly since: string;
  /** UTC day from which it may be gone; at least `NOTICE_DAYS` later. */
  readonly sunset: string;
  /** What to use instead. */
  readonly instead: string;
}

/** Time that callers have to move, by the policy in docs/versioning.md. */
export const NOTICE_DAYS = 180;

/** The reference says what to use instead. */
const REFERENCE = '</docs>; rel="deprecation"; type="text/html"';

export const deprecationHeaders = ({ since, sunset }: Deprecation): Readonly<Record<string, string>> => ({
  deprecation: `@${Date.parse(since) / 1000}`,
  sunset: new Date(sunset).toUTCString(),
  link: REFERENCE,
});

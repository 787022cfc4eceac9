/**
 * Syntactic check of URLs from clients. Returns the URL as parsed once, which alone
 * is used later. Never resolves a name: the fetcher checks every address.
 */
import ipaddr from 'ipaddr.js';

export interface UrlRejection {
  /** The reason, for the client. */
  readonly message: string;
}

const MAX_BYTES = 2_048;
/** Maximum length of a DNS name; a label has at most 63 characters. */
const MAX_HOST = 253;
/**
 * Includes underscores and hyphens at any position, which real hosts
 * have. The WHATWG parser lets more characters through.
 */
const LABEL = /^[a-z0-9_-]{1,63}$/;
/** All top-level domains are alphabetic, or `xn--` in the form of IDNA. */
const TOP_LEVEL = /^(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$/;
/** The parser drops tabs and line ends, trims spaces and turns backslashes into slashes. Other parsers do not. */
const UNSAFE = /[\p{Cc}\p{Z}\\]/u;
/** Requires exactly two slashes and an authority; the parser would also accept none, one or five slashes. */
const AUTHORITY = /^https?:\/\/([^/?#]+)/i;
/** Names without a public meaning (RFC 2606, 6761, 6762, 8375, 9476 and ICANN's list of name collisions). */
const SPECIAL_USE_NAMES = [
  'alt',
  'corp',
  'example',
  'home',
  'home.arpa',
  'internal',
  'intranet',
  'invalid',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'onion',
  'private',
  'test',
];

const HTTPS = 'The address must start with https://.';

/** Checks `text`. Origins in `allow` may have any scheme, port and host; all other rules apply to them too. */
export function publicUrl(text: string, allow: readonly string[], maxBytes = MAX_BYTES): URL | UrlRejection {
  if (Buffer.byteLength(text) > maxBytes) return reject(`The address must not be longer than ${maxBytes} bytes.`);
  if (UNSAFE.test(text) || !text.isWellFormed())
    return reject('The address must not contain spaces, control characters or backslashes.');
  const authority = AUTHORITY.exec(text)?.[1];
  if (authority === undefined) return reject(HTTPS);
  // Checked on the text, because the parser drops an empty user name and decodes the host.
  if (authority.includes('@')) return reject('The address must not contain a user name or password.');
  if (authority.includes('%')) return reject('The host of the address must not be percent-encoded.');
  const url = URL.parse(text);
  if (!url) return reject('The address is not a valid URL.');
  // Percent-encoding can triple the length.
  if (url.href.length > maxBytes) return reject(`The address must not be longer than ${maxBytes} bytes.`);
  if (allow.includes(url.origin)) return url;
  if (url.protocol !== 'https:') return reject(HTTPS);
  if (url.port !== '') return reject('The address must use port 443.');
  return checkHost(url.hostname) ?? url;
}

/**
 * `host` is normalised by the parser: lower-case ASCII, IDNA dots as
 * `.`, every spelling of an IPv4 address in four decimal parts.
 */
function checkHost(host: string): UrlRejection | undefined {
  if (host.startsWith('[') || ipaddr.IPv4.isIPv4(host))
    return reject('The address must name a host, not an IP address.');
  const labels = host.split('.');
  if (host.length > MAX_HOST || !labels.every((label) => LABEL.test(label)))
    return reject('The host of the address is not a valid name.');
  if (labels.length < 2) return reject('The host of the address must be a full domain name.');
  if (!TOP_LEVEL.test(labels.at(-1) ?? '')) return reject('The host of the address is not a valid name.');
  if (SPECIAL_USE_NAMES.some((name) => host === name || host.endsWith(`.${name}`)))
    return reject('The host of the address is not a public name.');
  return undefined;
}

const reject = (message: string): UrlRejection => ({ message });

/** `encodeURIComponent` leaves five characters that RFC 3986 reserves. */
export const encodeStrictly = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

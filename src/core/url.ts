/**
 * The form of an address that a caller gives: may it be fetched, or handed on, at all? Reads it once with the WHATWG parser;
 * what goes on from here is the parsed URL, never the text, so that no second parser can read it differently.
 * Never resolves a name: whether the host is public at the moment is for the fetcher to find out, at every use.
 */
import ipaddr from 'ipaddr.js';

export interface UrlRejection {
  /** Why not, for the caller. */
  readonly sentence: string;
}

const MAX_BYTES = 2_048;
/** DNS: a name has at most 253 characters, a label at most 63. */
const MAX_HOST = 253;
/** Real hosts have underscores and odd hyphens; everything else that WHATWG lets through is nobody's name. */
const LABEL = /^[a-z0-9_-]{1,63}$/;
/** The parser would drop tabs and line ends, trim spaces and turn backslashes into slashes: others read such text differently. */
const UNSAFE = /[\p{Cc}\p{Z}\\]/u;
/** With exactly two slashes and something after them; the parser would also take none, one or five. */
const AUTHORITY = /^https?:\/\/([^/?#]+)/i;
/** Names that mean something only inside a network, or nothing anywhere (RFC 2606, 6761, 6762, 8375, 9476 and ICANN's collisions). */
const INWARD = [
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

/** `allow` holds origins that pass whatever their scheme, port and host are; the other rules hold for them, too. */
export function publicUrl(text: string, allow: readonly string[]): URL | UrlRejection {
  if (Buffer.byteLength(text) > MAX_BYTES) return no(`The address must not be longer than ${MAX_BYTES} bytes.`);
  if (UNSAFE.test(text) || !text.isWellFormed())
    return no('The address must not contain spaces, control characters or backslashes.');
  const authority = AUTHORITY.exec(text)?.[1];
  if (authority === undefined) return no(HTTPS);
  // An empty user name would vanish in the parser, an encoded host would be decoded.
  if (authority.includes('@')) return no('The address must not contain a user name or password.');
  if (authority.includes('%')) return no('The host of the address must not be percent-encoded.');
  const url = URL.parse(text);
  if (!url) return no('The address is not a valid URL.');
  // Encoding may make it three times as long.
  if (url.href.length > MAX_BYTES) return no(`The address must not be longer than ${MAX_BYTES} bytes.`);
  if (allow.includes(url.origin)) return url;
  if (url.protocol !== 'https:') return no(HTTPS);
  if (url.port !== '') return no('The address must use port 443.');
  return checkHost(url.hostname) ?? url;
}

/** `host` as the parser leaves it: lower case, ASCII, every spelling of an IPv4 address in four decimal parts. */
function checkHost(host: string): UrlRejection | undefined {
  if (host.startsWith('[') || ipaddr.IPv4.isIPv4(host)) return no('The address must name a host, not an IP address.');
  const labels = host.split('.');
  if (host.length > MAX_HOST || !labels.every((label) => LABEL.test(label)))
    return no('The host of the address is not a valid name.');
  if (labels.length < 2) return no('The host of the address must be a full domain name.');
  if (INWARD.some((name) => host === name || host.endsWith(`.${name}`)))
    return no('The host of the address is not a public name.');
  return undefined;
}

const no = (sentence: string): UrlRejection => ({ sentence });

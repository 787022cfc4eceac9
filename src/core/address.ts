/** IP address checks: membership in ranges, and whether an address is public. Compares bytes, never text. */
import ipaddr from 'ipaddr.js';

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Parses an address or a CIDR block ("10.0.0.0/8", "2001:db8::1"); undefined for anything else. */
export function parseRange(text: string): Range | undefined {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.process(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    return undefined;
  }
}

/** A dual-stack socket reports IPv4 clients as ::ffff:a.b.c.d; `process` maps them back to IPv4. */
export function isAddressIn(address: string, ranges: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some((text) => {
    const range = parseRange(text);
    return range !== undefined && range[0].kind() === parsed.kind() && parsed.match(range);
  });
}

const MAPPED = '::ffff:';

/**
 * What one client has: an IPv4 address, or the first 64 bits of an
 * IPv6 address. An invalid text is returned as it is.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  // A server that listens on `::` asks this for every connection, and parsing takes ten times as long.
  const mapped = address.startsWith(MAPPED) ? address.slice(MAPPED.length) : '';
  if (ipaddr.IPv4.isValidFourPartDecimal(mapped)) return mapped;
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return 'parts' in parsed
    ? `${parsed.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')}::/64`
    : parsed.toString();
}

/**
 * The address in an entry of X-Forwarded-For, which some proxies write
 * with a port: `192.0.2.1:80`, `[2001:db8::1]:80`.
 */
export function hopAddress(entry: string): string {
  const hop = entry.trim();
  return /^\[([^\]]*)\](?::\d{1,5})?$/.exec(hop)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(hop)?.[1] ?? hop;
}

/**
 * The only assigned IPv6 unicast space. ipaddr.js also calls
 * unassigned space outside it unicast, `::a.b.c.d` included.
 */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** A public IPv4 address that Azure routes to the host of every virtual machine. */
const AZURE_HOST = '168.63.129.16';

/**
 * True only for plain public unicast: no embedded addresses (mapped,
 * NAT64, 6to4, Teredo), no zone ids. `text` as sockets report it.
 */
export function isPublicAddress(text: string): boolean {
  if (!text.includes(':')) {
    return (
      ipaddr.IPv4.isValidFourPartDecimal(text) && text !== AZURE_HOST && ipaddr.IPv4.parse(text).range() === 'unicast'
    );
  }
  if (text.includes('%') || !ipaddr.IPv6.isValid(text)) return false;
  const address = ipaddr.IPv6.parse(text);
  return address.match(GLOBAL_UNICAST) && address.range() === 'unicast';
}

/** True when both texts name the same address; an IPv4-mapped IPv6 address equals its IPv4 address. */
export const isSameAddress = (one: string, other: string): boolean =>
  ipaddr.isValid(one) &&
  ipaddr.isValid(other) &&
  ipaddr.process(one).toNormalizedString() === ipaddr.process(other).toNormalizedString();

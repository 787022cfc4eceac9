/** Network addresses as bytes, never as text: is this one inside that list, is it on the public internet? */
import ipaddr from 'ipaddr.js';

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** "10.0.0.0/8", "2001:db8::1" -> a range; undefined when it is neither an address nor a CIDR. */
export function parseRange(text: string): Range | undefined {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.process(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    return undefined;
  }
}

/** An IPv4 client on a dual-stack socket shows up as ::ffff:a.b.c.d; `process` undoes that. */
export function isAddressIn(address: string, ranges: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some((text) => {
    const range = parseRange(text);
    return range !== undefined && range[0].kind() === parsed.kind() && parsed.match(range);
  });
}

/** Everything that is handed out to anyone so far; ipaddr.js calls unassigned space outside it, `::a.b.c.d` included, unicast. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** Public in form, but answered by the host of every Azure machine. */
const AZURE_HOST = '168.63.129.16';

/**
 * True only for plain public unicast. No form that carries another address (mapped, NAT64, 6to4, Teredo) passes, whatever it
 * carries, and no zone. `text` is what a resolver or a socket says: four decimal parts or IPv6, nothing shorter.
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

/** The same bytes, however they are written; a mapped IPv4 address counts as that address. */
export const isSameAddress = (one: string, other: string): boolean =>
  ipaddr.isValid(one) &&
  ipaddr.isValid(other) &&
  ipaddr.process(one).toNormalizedString() === ipaddr.process(other).toNormalizedString();

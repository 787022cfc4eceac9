/** URLs of outbound proxies. They may hold a user and a password, so that only `proxyLabel` of them is ever shown. */

const PORTS: Readonly<Record<string, string>> = {
  'http:': '80',
  'https:': '443',
  'socks5:': '1080',
  'socks5h:': '1080',
};

export const PROXY_EXPECTED =
  'a URL of a proxy: http://, https://, socks5:// or socks5h:// with a host, and perhaps user:password@ and a port';

export function isProxyUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url || !Object.hasOwn(PORTS, url.protocol) || url.hostname === '') return false;
  return (url.pathname === '' || url.pathname === '/') && url.search === '' && url.hash === '' && canDecode(url);
}

/**
 * A percent sign that is not an escape would fail with every request. RFC
 * 1929 limits both parts of SOCKS credentials to 255 bytes.
 */
function canDecode({ username, password }: URL): boolean {
  try {
    return [username, password].every((part) => Buffer.byteLength(decodeURIComponent(part)) <= 255);
  } catch {
    return false;
  }
}

export function proxyLabel(text: string): string {
  const { protocol, hostname, port } = new URL(text);
  return `${protocol}//${hostname}:${port || PORTS[protocol]}`;
}

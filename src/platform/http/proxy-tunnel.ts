/** Connections through an outbound proxy: HTTP CONNECT, over TLS or not, and SOCKS5. TLS to the server runs inside, verified as always. */
import { EventEmitter, once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as sendHttp } from 'node:http';
import type { Socket } from 'node:net';
import { ConnectionError } from './client.ts';
import { type OpenSocket, type Target, targetOf } from './open-socket.ts';

export interface TunnelOptions {
  /** URL of the proxy. */
  readonly proxy: string;
  readonly target: Pick<Target, 'host' | 'port'>;
  /** Opens the connection to the proxy. */
  readonly openSocket: OpenSocket;
  /** Gives up. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** A socket on which the server speaks. Rejects with a code that begins with `PROXY_`, because the server itself was not reached. */
export async function openTunnel(options: TunnelOptions): Promise<Socket> {
  const url = new URL(options.proxy);
  try {
    const socket = await (url.protocol.startsWith('socks') ? openBySocks(url, options) : openByConnect(url, options));
    // TLS inside reports errors of its own socket only.
    socket.on('error', () => {});
    if (!options.signal.aborted) return socket;
    socket.destroy();
    throw new ConnectionError('CLOSED', 'the tunnel is not wanted any more');
  } catch (error) {
    throw proxyError(error as NodeJS.ErrnoException);
  }
}

/** Node's HTTP client reads the response of the proxy, with its limit for heads. */
async function openByConnect(url: URL, { target, openSocket, signal }: TunnelOptions): Promise<Socket> {
  const authority = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`;
  const request = sendHttp({
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...credentialsOf(url) },
    createConnection: () => openSocket(targetOf(url)),
  });
  // Errors after the wait below end with the socket.
  request.on('error', () => {});
  request.end();
  // Not the option `signal` of the request, which would close the tunnel at any later time.
  const [response, socket, early] = (await once(request, 'connect', { signal }).catch((error: Error) => {
    request.destroy();
    throw error;
  })) as [IncomingMessage, Socket, Buffer];
  const { statusCode: status = 0 } = response;
  if (status >= 200 && status < 300) {
    if (early.length > 0) socket.unshift(early);
    return socket;
  }
  socket.on('error', () => {}).destroy();
  throw status === 407
    ? new ConnectionError('PROXY_AUTH', 'the proxy rejects the credentials')
    : new ConnectionError('PROXY_REFUSED', `the proxy refuses the connection with status ${status}`);
}

function credentialsOf({ username, password }: URL): { readonly 'proxy-authorization'?: string } {
  if (username === '' && password === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}

/** The caller's time limit ends first. This one only closes a socket that the agent does not hand out. */
const LATER_MS = 1_000;

/** With `socks5` the name is resolved here, with `socks5h` by the proxy. */
async function openBySocks(url: URL, { target: { host, port }, timeoutMs }: TunnelOptions): Promise<Socket> {
  const { SocksProxyAgent } = await import('socks-proxy-agent');
  const agent = new SocksProxyAgent(url, { timeout: timeoutMs + LATER_MS });
  // The agent reports to a request, which only Node's own HTTP client has.
  const request = new EventEmitter() as ClientRequest;
  const socket = await agent.connect(request, { host, port, secureEndpoint: false });
  // The agent leaves its time limit on the socket.
  socket.removeAllListeners('timeout');
  return socket.setTimeout(0);
}

/** The SOCKS client has messages, but no codes. */
const SOCKS_CODES: readonly (readonly [RegExp, 'PROXY_AUTH' | 'PROXY_REFUSED'])[] = [
  [/authentication/i, 'PROXY_AUTH'],
  [/rejected connection/i, 'PROXY_REFUSED'],
];

function proxyError(error: NodeJS.ErrnoException): ConnectionError {
  if (error instanceof ConnectionError) return error;
  const known = SOCKS_CODES.find(([pattern]) => pattern.test(error.message))?.[1];
  const code = error.code ?? /\bE[A-Z]{4,}\b/.exec(error.message)?.[0] ?? 'FAILED';
  return new ConnectionError(known ?? `PROXY_${code}`, 'the proxy could not be used');
}

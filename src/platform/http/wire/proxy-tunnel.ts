/**
 * Connections through an outbound proxy: HTTP CONNECT, over TLS or not, and SOCKS5.
 * TLS to the server runs inside, verified as always.
 */
import { EventEmitter } from 'node:events';
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { ConnectionError } from '../client.ts';
import { HttpParseError, headerLine } from '../headers.ts';
import { type OpenSocket, type Target, targetOf } from '../open-socket.ts';
import { ResponseHeadReader } from './response-head.ts';

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

/**
 * A socket on which the server speaks.
 * Rejects with a code that begins with `PROXY_`, because the server itself was not reached.
 */
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

async function openByConnect(url: URL, { target, openSocket, signal }: TunnelOptions): Promise<Socket> {
  const proxy = targetOf(url);
  const head = connectHead(url, target);
  const socket = openSocket(proxy);
  const response = new ResponseHeadReader();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Not `data`: a socket that nobody reads keeps its bytes.
  const read = (): void => {
    try {
      const bytes: Buffer | null = socket.read();
      const status = bytes && response.read(bytes)?.status;
      if (status) resolve(checkOpened(status, bytes.length - response.end));
    } catch (error) {
      reject(error);
    }
  };
  const giveUp = (): void => void socket.destroy();
  socket.once(proxy.isTls ? 'secureConnect' : 'connect', () => socket.write(head, 'latin1'));
  socket.on('readable', read);
  socket.on('error', reject);
  socket.on('close', () => reject(new ConnectionError('PROXY_CLOSED_EARLY', 'the proxy closed the connection')));
  signal.addEventListener('abort', giveUp);
  try {
    await promise;
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    socket.off('readable', read);
    signal.removeEventListener('abort', giveUp);
  }
}

function connectHead(url: URL, { host, port }: TunnelOptions['target']): string {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return `CONNECT ${authority} HTTP/1.1\r\n${headerLine('host', authority)}${credentialsOf(url)}\r\n`;
}

function credentialsOf({ username, password }: URL): string {
  if (username === '' && password === '') return '';
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return headerLine('proxy-authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
}

/** `surplus` bytes after the head cannot come from the server, which waits for this side to speak. */
function checkOpened(status: number, surplus: number): void {
  if (status === 407) throw new ConnectionError('PROXY_AUTH', 'the proxy rejects the credentials');
  if (status >= 300)
    throw new ConnectionError('PROXY_REFUSED', `the proxy refuses the connection with status ${status}`);
  if (surplus > 0) throw new HttpParseError('bytes after the response of the proxy');
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

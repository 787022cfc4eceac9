/**
 * Small proxies over real sockets: HTTP CONNECT with or without TLS, and SOCKS5. They record what they were asked for.
 */
import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface ProxyOptions {
  /** `user:password` that the proxy demands. */
  readonly credentials?: string;
  /** Refuses every connection. */
  readonly refuses?: boolean;
  readonly tls?: { readonly key: string; readonly cert: string };
}

export interface TestProxy {
  /** Scheme, host and port. */
  readonly url: string;
  /** The same with credentials. */
  readonly urlFor: (credentials: string) => string;
  /** Targets of the connections that it opened, as `host:port`. */
  readonly targets: string[];
  close(): Promise<void>;
}

export async function startConnectProxy({ credentials, refuses, tls }: ProxyOptions = {}): Promise<TestProxy> {
  const targets: string[] = [];
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  const server = tls ? createHttps(tls) : createHttp();
  const sockets = trackSockets(server);
  server.on('connect', (request: IncomingMessage, client: Duplex) => {
    client.on('error', () => {});
    if (expected && request.headers['proxy-authorization'] !== expected)
      return client.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n');
    if (refuses) return client.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
    const target = request.url ?? '';
    targets.push(target);
    joinTo(target, client, () => client.write('HTTP/1.1 200 Connection established\r\n\r\n'));
  });
  return listening(server, tls ? 'https' : 'http', tls ? 'localhost' : '127.0.0.1', targets, sockets);
}

export async function startSocksProxy({ credentials, refuses }: ProxyOptions = {}): Promise<TestProxy> {
  const targets: string[] = [];
  const server = createServer((client) => {
    client.on('error', () => {});
    void serveSocks(client, { credentials, refuses }, targets).catch(() => client.destroy());
  });
  return listening(server, 'socks5h', '127.0.0.1', targets, trackSockets(server));
}

/** RFC 1928, and RFC 1929 for credentials. */
async function serveSocks(
  client: Socket,
  { credentials, refuses }: { credentials: string | undefined; refuses: boolean | undefined },
  targets: string[],
): Promise<void> {
  const [, methodCount = 0] = await read(client, 2);
  const methods = await read(client, methodCount);
  const method = credentials ? 2 : 0;
  if (!methods.includes(method)) return void client.end(Buffer.from([5, 0xff]));
  client.write(Buffer.from([5, method]));
  if (credentials) {
    const [, userLength = 0] = await read(client, 2);
    const user = await read(client, userLength);
    const [passwordLength = 0] = await read(client, 1);
    const isRight = `${user}:${await read(client, passwordLength)}` === credentials;
    client.write(Buffer.from([1, isRight ? 0 : 1]));
    if (!isRight) return void client.end();
  }
  const [, , , type] = await read(client, 4);
  const [length = 0] = type === 3 ? await read(client, 1) : [type === 1 ? 4 : 16];
  const host = type === 3 ? String(await read(client, length)) : [...(await read(client, length))].join('.');
  const target = `${host}:${(await read(client, 2)).readUInt16BE()}`;
  if (refuses) return void client.end(Buffer.from([5, 2, 0, 1, 0, 0, 0, 0, 0, 0]));
  targets.push(target);
  joinTo(target, client, () => client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])));
}

async function read(socket: Socket, size: number): Promise<Buffer> {
  for (;;) {
    const bytes: Buffer | null = size === 0 ? Buffer.alloc(0) : socket.read(size);
    if (bytes) return bytes;
    await once(socket, 'readable');
  }
}

/** Every name leads to this machine, so that tests see who resolves it. */
function joinTo(target: string, client: Duplex, onOpen: () => void): void {
  const upstream = connect({ host: '127.0.0.1', port: Number(target.slice(target.lastIndexOf(':') + 1)) });
  upstream.once('connect', () => {
    onOpen();
    client.pipe(upstream).pipe(client);
  });
  upstream.on('error', () => client.destroy());
  client.on('close', () => upstream.destroy());
  upstream.on('close', () => client.destroy());
}

function trackSockets(server: Server): Set<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

async function listening(
  server: Server,
  scheme: string,
  host: string,
  targets: string[],
  sockets: ReadonlySet<Socket>,
): Promise<TestProxy> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `${scheme}://${host}:${port}`,
    urlFor: (credentials) => `${scheme}://${credentials}@${host}:${port}`,
    targets,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/**
 * WebSocket client for providers: text frames, no compression, limited frame size, no redirects.
 * Never logs, never reads a message.
 */
import { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import { type HttpRequest, openTcpOrTls, openTunnel, targetOf } from '../../platform/http/index.ts';
import { WEBSOCKET } from '../../rules/index.ts';

export type SocketRequest = Pick<HttpRequest, 'origin' | 'path' | 'headers' | 'proxy'>;

/** Exactly one of `onRejected` and `onClosed` comes last. After `close` nothing more is called. */
export interface SocketListener {
  onOpen(): void;
  /** The provider responded to the upgrade with another status than 101. */
  onRejected(status: number): void;
  onText(text: string): void;
  /** `code` is for the log: an error code, or the status code of the close frame. */
  onClosed(code: string): void;
}

export interface UpstreamSocket {
  send(text: string | Buffer): void;
  pause(): void;
  resume(): void;
  close(): void;
}

export function openUpstreamSocket(
  { origin, path, headers, proxy }: SocketRequest,
  listener: SocketListener,
): UpstreamSocket {
  const socket = new WebSocket(origin.replace(/^http/, 'ws') + path, {
    headers: headersOf(headers),
    handshakeTimeout: WEBSOCKET.handshakeMs,
    maxPayload: WEBSOCKET.upstreamBytes,
    maxFragments: WEBSOCKET.fragments,
    perMessageDeflate: false,
    followRedirects: false,
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED can disable the default.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(proxy !== undefined && { agent: new TunnelAgent(new URL(origin), proxy) }),
  });
  let isOver = false;
  let errorCode: string | undefined;
  const finish = (notify: () => void): void => {
    clearInterval(pings);
    if (isOver) return;
    isOver = true;
    notify();
  };
  // Proxies and NAT gateways drop idle connections, and users pause for minutes between two turns.
  const pings = setInterval(() => socket.readyState === WebSocket.OPEN && socket.ping(), WEBSOCKET.pingMs).unref();
  socket.on('open', () => isOver || listener.onOpen());
  socket.on('message', (data, isBinary) => {
    if (!isOver && !isBinary) listener.onText(String(data));
  });
  socket.on('unexpected-response', (request, response) => {
    response.resume();
    request.destroy();
    finish(() => listener.onRejected(response.statusCode ?? 0));
  });
  socket.on('error', (error: Error & { code?: string }) => {
    errorCode = error.code ?? error.name;
  });
  socket.on('close', (code) => finish(() => listener.onClosed(errorCode ?? String(code))));
  return {
    send: (text) => socket.send(text, { binary: false }, () => {}),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close() {
      isOver = true;
      clearInterval(pings);
      // A paused socket would not read the close frame of the provider.
      if (socket.isPaused) socket.resume();
      socket.close(1000);
    },
  };
}

/** Gives the WebSocket a connection through a proxy, with the TLS policy of other requests. */
class TunnelAgent extends Agent {
  readonly #origin: URL;
  readonly #proxy: string;
  readonly defaultPort: number;
  readonly protocol: string;

  constructor(origin: URL, proxy: string) {
    super();
    this.#origin = origin;
    this.#proxy = proxy;
    this.protocol = origin.protocol;
    this.defaultPort = origin.protocol === 'https:' ? 443 : 80;
  }

  override createConnection(_options: unknown, callback?: (error: Error | null, socket: Duplex) => void): undefined {
    const target = targetOf(this.#origin);
    const timeoutMs = WEBSOCKET.handshakeMs;
    const signal = AbortSignal.timeout(timeoutMs);
    openTunnel({ proxy: this.#proxy, target, openSocket: openTcpOrTls, signal, timeoutMs }).then(
      (socket) => callback?.(null, target.isTls ? openTcpOrTls({ ...target, socket }) : socket),
      (error: Error) => callback?.(error, undefined as never),
    );
  }
}

function headersOf(flat: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let n = 0; n < flat.length; n += 2) {
    const name = flat[n] ?? '';
    const value = flat[n + 1] ?? '';
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}

/**
 * A WebSocket to an upstream account: text frames both ways, no compression, bounded frames, no redirects. Events come as
 * callbacks; like `send` over HTTP it never logs and never looks into what it carries.
 */
import { WebSocket } from 'ws';
import { WEBSOCKET } from '../rules/index.ts';

export interface SocketRequest {
  readonly origin: string;
  readonly path: string;
  /** Flat name, value, name, value. */
  readonly headers: readonly string[];
}

/** Either `onRefused`, or `onLost` with or without `onOpen` before it; exactly one of the two comes last, unless we closed it. */
export interface SocketListener {
  onOpen(): void;
  /** The upgrade was answered with something else. */
  onRefused(status: number): void;
  onText(text: string): void;
  /** For the log: an error code or the number of the close frame. */
  onLost(code: string): void;
}

export interface UpstreamSocket {
  send(text: string): void;
  pause(): void;
  resume(): void;
  /** Nothing more is told to the listener. */
  close(): void;
}

export function openUpstreamSocket({ origin, path, headers }: SocketRequest, listener: SocketListener): UpstreamSocket {
  const socket = new WebSocket(origin.replace(/^http/, 'ws') + path, {
    headers: collected(headers),
    handshakeTimeout: WEBSOCKET.handshakeMs,
    maxPayload: WEBSOCKET.upstreamBytes,
    perMessageDeflate: false,
    followRedirects: false,
  });
  let isOver = false;
  let trouble: string | undefined;
  const last = (tell: () => void): void => {
    clearInterval(pings);
    if (isOver) return;
    isOver = true;
    tell();
  };
  // Middle boxes forget a connection on which nothing happens, and people think for minutes between two turns.
  const pings = setInterval(() => socket.readyState === WebSocket.OPEN && socket.ping(), WEBSOCKET.pingMs).unref();
  socket.on('open', () => isOver || listener.onOpen());
  socket.on('message', (data, isBinary) => {
    if (!isOver && !isBinary) listener.onText(String(data));
  });
  socket.on('unexpected-response', (request, response) => {
    response.resume();
    request.destroy();
    last(() => listener.onRefused(response.statusCode ?? 0));
  });
  socket.on('error', (error: Error & { code?: string }) => {
    trouble = error.code ?? error.name;
  });
  socket.on('close', (code) => last(() => listener.onLost(trouble ?? String(code))));
  return {
    send: (text) => socket.send(text, () => {}),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close() {
      isOver = true;
      clearInterval(pings);
      // A paused socket would not read the other side's consent.
      if (socket.isPaused) socket.resume();
      socket.close(1000);
    },
  };
}

function collected(flat: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let n = 0; n < flat.length; n += 2) {
    const name = flat[n] ?? '';
    const value = flat[n + 1] ?? '';
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}

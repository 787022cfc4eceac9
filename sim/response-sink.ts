/** Where a response goes. Types only. */
import type { EventEmitter } from 'node:events';

/** The destination of a response: an HTTP response, or one turn on a WebSocket. */
export type ResponseSink = EventEmitter & {
  readonly headersSent: boolean;
  readonly writableFinished: boolean;
  writeHead(status: number, headers: Record<string, string>): unknown;
  flushHeaders(): void;
  write(chunk: string | Buffer): boolean;
  end(done: () => void): unknown;
};

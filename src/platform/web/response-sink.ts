/**
 * Takes the place of an HTTP response in a call that has none of its own:
 * a turn of a WebSocket, a call that no client waits for.
 */
import { EventEmitter } from 'node:events';
import type { ResponseWriter } from './call.ts';

export abstract class ResponseSink extends EventEmitter implements ResponseWriter {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  destroyed = false;

  writeHead(status: number, _headers: Readonly<Record<string, string | number>>): void {
    this.statusCode = status;
    this.headersSent = true;
  }

  flushHeaders(): void {}

  /** Heartbeats only, where events come by `writeEvent`. */
  write(_chunk: Buffer | string): boolean {
    return true;
  }

  abstract writeEvent(json: string): boolean;

  end(_chunk?: Buffer | string): void {
    if (this.writableEnded || this.destroyed) return;
    this.writableEnded = true;
    this.writableFinished = true;
    this.close();
  }

  destroy(): void {
    if (this.writableEnded || this.destroyed) return;
    this.destroyed = true;
    this.close();
  }

  protected close(): void {
    this.emit('close');
  }
}

/** Takes the place of an HTTP response in a call that no client waits for: its events go to a listener. */
import { EventEmitter } from 'node:events';
import type { ResponseWriter } from '../../platform/web/index.ts';

export class RunSink extends EventEmitter implements ResponseWriter {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  destroyed = false;
  /** Resolves when no event follows. */
  readonly closed: Promise<void>;
  readonly #onEvent: (json: string) => void;

  constructor(onEvent: (json: string) => void) {
    super();
    this.#onEvent = onEvent;
    this.closed = new Promise((resolve) => this.once('close', resolve));
  }

  writeHead(status: number): void {
    this.statusCode = status;
    this.headersSent = true;
  }

  flushHeaders(): void {}

  /** Heartbeats only: events come by `writeEvent`. */
  write(): boolean {
    return true;
  }

  writeEvent(json: string): boolean {
    this.#onEvent(json);
    return true;
  }

  end(): void {
    if (this.writableEnded || this.destroyed) return;
    this.writableEnded = true;
    this.writableFinished = true;
    this.emit('close');
  }

  destroy(): void {
    if (this.writableEnded || this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }
}

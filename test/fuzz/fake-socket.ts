/** A socket in memory. Delivers reads synchronously, keeps nothing of what is written, and calls the callbacks of writes on demand. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

type Callback = () => void;

export class FakeSocket extends EventEmitter {
  readonly remoteAddress = '127.0.0.1';
  readonly writableLength = 0;
  writable = true;
  isDestroyed = false;
  #written: Callback[] = [];

  /** For the code under test, which uses only what this class has. */
  get asSocket(): Socket {
    return this as unknown as Socket;
  }

  /** Delivers the bytes, then what a network would do after them: writes complete, and their callbacks run. */
  receive(text: string): void {
    if (!this.isDestroyed) this.emit('data', Buffer.from(text, 'latin1'));
    this.completeWrites();
  }

  receiveEnd(): void {
    if (!this.isDestroyed) this.emit('end');
    this.completeWrites();
  }

  completeWrites(): void {
    for (let next = this.#written.shift(); next; next = this.#written.shift()) if (!this.isDestroyed) next();
  }

  write(_chunk: unknown, encoding?: unknown, callback?: Callback): boolean {
    const done = typeof encoding === 'function' ? (encoding as Callback) : callback;
    if (done) this.#written.push(done);
    return true;
  }

  end(): void {
    this.writable = false;
  }

  destroySoon(): void {
    this.destroy();
  }

  destroy(): void {
    if (this.isDestroyed) return;
    this.isDestroyed = true;
    this.writable = false;
    this.emit('close');
  }

  setNoDelay(): void {}
  setKeepAlive(): void {}
  cork(): void {}
  uncork(): void {}
  pause(): void {}
  resume(): void {}
}

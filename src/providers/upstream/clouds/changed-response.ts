/** A response that is read whole and changed: errors of clouds, and replies in a form of their own. Other responses pass. */
import type { HttpHeaders, ResponseListener, TransportError } from '../../../platform/http/index.ts';
import type { MadeResponse } from './cloud.ts';

export interface ResponseChange {
  applies(status: number): boolean;
  readonly maxBytes: number;
  change(response: MadeResponse): MadeResponse;
}

export class ChangedResponse implements ResponseListener {
  readonly #listener: ResponseListener;
  readonly #change: ResponseChange;
  #head: { readonly status: number; readonly headers: HttpHeaders } | undefined;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(listener: ResponseListener, change: ResponseChange) {
    this.#listener = listener;
    this.#change = change;
  }

  onHead(status: number, headers: HttpHeaders): void {
    if (this.#change.applies(status)) this.#head = { status, headers };
    else this.#listener.onHead(status, headers);
  }

  /** What exceeds the limit is dropped: the changed response is made of the beginning. */
  onData(chunk: Buffer): boolean {
    if (!this.#head) return this.#listener.onData(chunk);
    if (this.#bytes < this.#change.maxBytes) this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    return true;
  }

  onEnd(): void {
    if (this.#head) {
      const { status, headers, body } = this.#change.change({ ...this.#head, body: Buffer.concat(this.#chunks) });
      this.#listener.onHead(status, { ...headers, 'content-length': String(body.length) });
      this.#listener.onData(body);
    }
    this.#listener.onEnd();
  }

  onError(error: TransportError): void {
    this.#listener.onError(error);
  }
}
